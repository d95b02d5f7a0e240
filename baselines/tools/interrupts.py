"""How does a run react to Ctrl-C and SIGTERM? It finishes the update and saves; a second signal ends it at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """A signal ended the run; the message states what was saved."""

    def __init__(self, message: str, number: int):
        super().__init__(message)
        self.exit_code = 128 + number
        """The exit code that shells use for this signal."""


class ExitOnInterrupt:
    """The handler of Ctrl-C of a command outside of a run, such as during its imports: one line and exit code 130.

    It exits without raising, since an import within a C extension would replace the exception by another one.
    """

    def __init__(self, command: str):
        self._command = command

    def install(self) -> None:
        """Replaces Python's own handler; another one, or an ignored SIGINT, stays."""
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        os.write(2, f"{self._command}: interrupted\n".encode())  # `print` is not reentrant
        os._exit(128 + number)


class Interrupts:
    """Handles SIGINT and SIGTERM during a run. A signal raises `Interrupted` at once, or, after `defer`, sets `signal`;
    a second one always raises.

    Only default handlers and those of commands are replaced: those of other callers, and an ignored SIGINT, stay. No
    handler is replaced outside of the main thread.
    """

    def __init__(self):
        self.signal = 0
        """The number of the first signal; 0: none yet."""
        self._deferred = False

    def __enter__(self) -> Interrupts:
        default = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
        main = threading.current_thread() is threading.main_thread()
        found = {number: signal.getsignal(number) for number in default}
        self._replaced = {number: handler for number, handler in found.items()
                          if main and (handler == default[number] or isinstance(handler, ExitOnInterrupt))}
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
