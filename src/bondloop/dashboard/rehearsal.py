"""A rehearsal that the page starts: `bondloop realtime` with an emulated rig, in a process of its own.

It outlives this server, as a test that was started in a terminal does: it beats the loop's heart itself, and
a server that comes back finds its loop again.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bondloop.dashboard.settings import Subject

__all__ = ["Rehearsal"]


class Rehearsal:
    """A rehearsal in a process of its own.

    Parameters
    ----------
    subject
        What is rehearsed.
    seconds
        How long; None: as the test says, 0: until it is stopped.
    record
        Run file to write.
    """

    def __init__(self, subject: Subject, seconds: float | None, record: Path) -> None:
        self.record = record
        record.parent.mkdir(parents=True, exist_ok=True)
        self._said = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - read while the process lives
        words = [sys.executable, "-m", "bondloop", "realtime", subject.source, *subject.words]
        words += [*subject.rehearsal, "--arm", "--no-figures", "--out", str(record)]
        if seconds is not None:
            words += ["--seconds", repr(seconds)] if seconds else ["--forever"]
        self.process = subprocess.Popen(  # noqa: S603 - our own program
            words,
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a server that is killed takes no test with it
        )

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.process.poll() is None

    def last_words(self) -> str:
        """Return what it said last, for people."""
        self._said.seek(0)
        lines = [x.strip() for x in self._said.read().decode(errors="replace").splitlines() if x.strip()]
        return lines[-1] if lines else ""

    def describe(self) -> dict[str, bool | int | str]:
        """Return it as it goes to the browser."""
        return {"running": self.running, "record": self.record.name, "pid": self.process.pid}
