"""What is looked at before a test: the check's verdict and figure, the channels sheet.

The check computes for seconds or minutes, so it runs in a process of its own: commands are heard meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from bondloop.errors import InputError

if TYPE_CHECKING:
    from starlette.requests import Request

    from bondloop.dashboard.server import PagePolicy, Settings, Subject

CHECK_NICE = 10
"""By how much the loop goes first."""


class CheckService:
    """Serves the check of the test that the server was started for.

    Parameters
    ----------
    settings
        Of the server.
    """

    def __init__(self, settings: Settings) -> None:
        self._subject, self._policy = settings.subject, settings.policy
        self._task: asyncio.Task[dict[str, object]] | None = None
        self._figure = b""

    def routes(self) -> list[BaseRoute]:
        """Return what it serves."""
        return [
            Route("/api/check", self._check, methods=["POST"]),
            Route("/api/check.svg", self._picture),
            Route("/api/channels", self._channels),
        ]

    async def _channels(self, _: Request) -> Response:
        subject = self._subject
        return JSONResponse({"channels": [] if subject is None else [dict(c) for c in subject.channels]})

    async def _check(self, _: Request) -> Response:
        if self._subject is None:
            raise InputError("no test was given to check: `bondloop dashboard TEST`")
        if self._task is None or self._task.done():  # one at a time; anew each time, for the file may change
            self._task = asyncio.create_task(self._checked())
        return JSONResponse(await asyncio.shield(self._task))

    async def _picture(self, _: Request) -> Response:
        if not self._figure:
            raise InputError("the check has drawn no figure yet")
        return Response(self._figure, media_type="image/svg+xml")

    async def _checked(self) -> dict[str, object]:
        subject = self._subject
        assert subject is not None
        with tempfile.TemporaryDirectory() as folder:
            figure = Path(folder) / "check.svg"
            words = [
                "-m",
                "bondloop",
                "check",
                subject.source,
                *subject.words,
                "--json",
                "--figure",
                str(figure),
            ]
            child = await asyncio.create_subprocess_exec(
                sys.executable, *words, stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            _limit(child.pid, self._policy)
            try:
                said, complained = await child.communicate()
            except asyncio.CancelledError:
                child.kill()
                raise
            try:
                answer = json.loads(said)
            except ValueError:
                lines = complained.decode(errors="replace").strip().splitlines()
                if child.returncode == -signal.SIGXCPU:
                    most = self._policy.check_processor
                    lines = [f"the check was ended after {most} s of the processor; run `bondloop check`"]
                raise InputError(lines[-1] if lines else "the check ended without an answer") from None
            self._figure = figure.read_bytes() if figure.is_file() else b""
        answer.pop("figure", None)
        return {**answer, "has_figure": bool(self._figure), "at": time.time()}


def _limit(pid: int, policy: PagePolicy) -> None:
    """Let a child take no more than a test in the laboratory can spare, where the system can see to that."""
    with contextlib.suppress(ImportError, AttributeError, OSError):  # of another system, or it has ended
        import resource

        os.setpriority(os.PRIO_PROCESS, pid, CHECK_NICE)
        resource.prlimit(pid, resource.RLIMIT_CPU, (policy.check_processor, policy.check_processor + 5))
        resource.prlimit(pid, resource.RLIMIT_AS, (policy.check_memory, policy.check_memory))


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
