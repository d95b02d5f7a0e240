"""Behaviours that traffic shows, such as a lane change: which ones an episode has, and scenes that have one for sure."""

from .classify import classify
from .registry import PREDICATES

__all__ = ["PREDICATES", "classify"]
