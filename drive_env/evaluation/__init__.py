"""How well does a policy drive? Figures with intervals, from episodes that are each played once."""

from .figures import Figure

__all__ = ["Figure"]
