"""What can go wrong, as one family: every error is a sentence with the value found and the range allowed."""


class DriveError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigError(DriveError, ValueError):
    """A configuration value is out of its range, or names a choice this version does not offer."""


class SceneError(DriveError, ValueError):
    """A scene or scene file is damaged, hostile, or cannot be played as asked."""


class ActionError(DriveError, ValueError):
    """An action is out of range, not finite, or of the wrong shape or type. Nothing has moved."""


class CallError(DriveError, RuntimeError):
    """A call came out of order, such as `step` before `reset` or after `close`."""


def shown(value) -> str:
    """A value as a sentence may hold it: its repr, cut where it is long; its type where it has none."""
    try:
        text = repr(value)
    except Exception:  # a whole number of thousands of digits, or an object that cannot say what it is
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= 100 else f"{text[:97]}..."
