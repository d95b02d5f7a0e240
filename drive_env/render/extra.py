"""What must be installed to draw? The packages of the extra `render`, asked for when first needed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ..errors import MissingExtraError

PACKAGES = {"cv2": "opencv-python-headless", "PIL": "pillow", "av": "av", "matplotlib": "matplotlib"}
"""The package that brings each module."""


def need(module: str) -> ModuleType:
    """The module, or its submodule by a dotted name.

    Raises:
        MissingExtraError: it cannot be imported; the sentence says what to install.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = PACKAGES[module.partition(".")[0]]
        raise MissingExtraError(
            f"drawing needs {package}, which cannot be imported ({error}); "
            'pip install "drive-env[render]"') from error
