"""How does a run react to Ctrl-C and SIGTERM? It finishes the update and saves; a second signal ends it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """A signal ended the run; the message says what was saved."""

    def __init__(self, message: str, number: int):
        super().__init__(message)
        self.exit_code = 128 + number
        """The exit code that shells use for this signal."""


class Interrupts:
    """Handles SIGINT and SIGTERM during a run. A signal raises `Interrupted` at once, or, after `defer`, sets `signal`;
    a second one always raises.

    Only default handlers are replaced: those of the caller, and an ignored SIGINT, stay, as all do in a thread.
    """

    def __init__(self):
        self.signal = 0
        """The number of the first signal; 0: none yet."""
        self._deferred = False

    def __enter__(self) -> Interrupts:
        default = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
        main = threading.current_thread() is threading.main_thread()
        self._replaced = {number: handler for number, handler in default.items()
                          if main and signal.getsignal(number) == handler}
        for number in self._replaced:
            signal.signal(number, self._handle)
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._replaced.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again, self.signal = self.signal, self.signal or number
        if again or not self._deferred:
            raise Interrupted("interrupted at once; what was saved before is unchanged", number)

    def defer(self) -> None:
        """From now on a first signal only sets `signal`."""
        self._deferred = True

    def run_interruptible(self, call: Callable[[], None]) -> None:
        """After `defer`: calls a function that a signal aborts; skips the call if there was a signal before."""
        try:
            self._deferred = False
            if not self.signal:
                call()
        except Interrupted:
            pass
        finally:
            self._deferred = True
