"""Something that accompanies a running loop in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bondloop.realtime.process import LoopProcess


class Beside(threading.Thread):
    """Calls a function with the name of a loop's telemetry; when it returns or fails, the loop is stopped.

    Parameters
    ----------
    function
        What is called. It has to return by itself when the loop has ended.
    loop
        The loop.
    """

    def __init__(self, function: Callable[[str], None], loop: LoopProcess) -> None:
        super().__init__(name="bondloop-beside", daemon=True)
        self._function, self._loop = function, loop
        self._error: BaseException | None = None

    def run(self) -> None:
        """Call the function, then stop the loop."""
        try:
            self._function(self._loop.name)
        except BaseException as error:  # noqa: BLE001 - raised again where the loop is waited for
            self._error = error
        finally:
            if self._loop.running:
                self._loop.stop()

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, and raise what it has failed with."""
        if self.ident is None:  # the loop ended before it was started
            return
        super().join(timeout)
        if self._error is not None:
            error, self._error = self._error, None
            raise error
