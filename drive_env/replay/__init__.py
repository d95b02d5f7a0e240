"""How is an episode replayed? A `Recorder` records a world while it is stepped and saves it as one HTML page."""

from .record_policy import record, write_replay
from .recorder import Recorder
from .recording import Recording
from .trials import Trial

__all__ = ["Recorder", "Recording", "Trial", "record", "write_replay"]
