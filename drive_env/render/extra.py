"""Which packages do drawing and driving by hand need? Those of two extras, imported on first use."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ..errors import MissingExtraError

PACKAGES = {"cv2": "opencv-python-headless", "PIL": "pillow", "av": "av", "matplotlib": "matplotlib",
            "pygame": "pygame"}
"""The package that provides each module."""


def need(module: str) -> ModuleType:
    """Imports a module, or a submodule by its dotted name.

    Raises:
        MissingExtraError: it cannot be imported; the error names the package to install.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = PACKAGES[module.partition(".")[0]]
        needed_for, extra = ("driving by hand", "drive") if package == "pygame" else ("drawing", "render")
        raise MissingExtraError(
            f"{needed_for} needs {package}, which cannot be imported ({error}); "
            f'pip install "drive-env[{extra}]"') from error
