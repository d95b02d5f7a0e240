"""How does one see what a policy did? A world is recorded while it plays and saved as one page."""

from .playing import record, write_replay
from .recorder import Recorder
from .recording import Recording, Trial

__all__ = ["Recorder", "Recording", "Trial", "record", "write_replay"]
