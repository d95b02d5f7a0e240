"""The version of the installed package."""

from __future__ import annotations


def package_version() -> str:
    """The version, read from the metadata of the installation."""
    from importlib.metadata import version  # lazy: this import takes longer than the rest of the package

    return version("drive-env")
