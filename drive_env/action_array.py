"""Conversion of actions in any array type to the dtype and shape that the core reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import ActionError, a_type, value_text


def action_array(given: Any, bound: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The given actions in the dtype of the bound array.

    Args:
        given: anything that numpy converts to an array of the same shape as `bound`.
        bound: the array of actions that the core reads, int64 or float32.

    Raises:
        ActionError: they are ragged, masked, of another shape, or of a dtype whose cast would change their meaning.
    """
    try:
        actions = np.asarray(given)
    except ValueError:
        raise ActionError(f"actions are ragged; they must form an array of shape {bound.shape}") from None
    except Exception as error:
        raise ActionError(f"actions are {a_type(type(given))}, which numpy cannot read: {error}") from error
    if actions is not given and np.ma.is_masked(given):
        raise ActionError(f"actions are a masked array with {np.ma.count_masked(given)} masked entries; it must have "
                          "none (the actions of agents that wait are not read)")
    if actions.shape != bound.shape:
        what = f"actions are {value_text(given)}" if actions.dtype == object else f"actions have shape {actions.shape}"
        raise ActionError(f"{what}; they must be an array of shape {bound.shape}")
    if actions.dtype != bound.dtype:
        if not can_cast(actions.dtype, bound.dtype):
            kind = "an integer type" if bound.dtype == np.int64 else "a floating-point or integer type"
            raise ActionError(f"actions have dtype {actions.dtype}; it must be {kind}")
        if actions.dtype == np.uint64:  # a value beyond int64 is out of every range and must not wrap into one
            actions = np.minimum(actions, np.uint64(np.iinfo(np.int64).max))
        with np.errstate(over="ignore"):  # a value beyond float32 becomes infinite, which the core rejects
            actions = actions.astype(bound.dtype)
    return actions


def can_cast(given: np.dtype[Any], bound: np.dtype[Any]) -> bool:
    """Whether a cast from one dtype to the other keeps the meaning: bools are not numbers, floats are not indices."""
    return given != np.bool_ and np.can_cast(given, bound, "same_kind")
