"""What the server is told when it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bondloop.engine.data import number
from bondloop.errors import InputError


@dataclass(frozen=True)
class Absence:
    """What happens when no operator is there while the loop moves the rig.

    Parameters
    ----------
    seconds
        After which it happens.
    then
        ``"retreat"`` or ``"nothing"``.

    Examples
    --------
    >>> Absence.parsed("30,retreat") == Absence.parsed("0.5 min,retreat")
    True
    >>> Absence.parsed("soon")
    Traceback (most recent call last):
    bondloop.errors.InputError: --no-operator: expected SECONDS,retreat or SECONDS,nothing; found 'soon'
    """

    seconds: float = 0.0
    then: str = "nothing"

    @classmethod
    def parsed(cls, text: str) -> Absence:
        """Return what a ``text`` of the form ``SECONDS,retreat`` or ``SECONDS,nothing`` stands for."""
        length, _, then = text.partition(",")
        try:
            seconds = number(length.strip(), "--no-operator", "s")
        except InputError:
            seconds = -1.0
        if not 0 < seconds < 86400 or then.strip() not in ("retreat", "nothing"):
            raise InputError(
                f"--no-operator: expected SECONDS,retreat or SECONDS,nothing; found {text!r:.40}"
            )
        return cls(seconds, then.strip())


@dataclass(frozen=True)
class Subject:
    """The test that the page prepares and rehearses.

    Parameters
    ----------
    source
        As the command line names it.
    words
        Its settings, as further words of a command line: ``--set``, ``rig.latency=2 ms``.
    name
        In short.
    loop
        The name that its loops give themselves; the server attaches to no others.
    seconds
        Its own length.
    channels
        Its channels sheet: a dictionary for each.
    rehearsal
        Further words of `bondloop realtime` for rehearsals.

    Examples
    --------
    >>> Subject("mytest.py", ("--set", "rig.latency=2 ms"), "mytest").words
    ('--set', 'rig.latency=2 ms')
    """

    source: str
    words: tuple[str, ...] = ()
    name: str = ""
    loop: str = ""
    seconds: float | None = None
    channels: Sequence[Mapping[str, object]] = ()
    rehearsal: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settings:
    """Where the server listens, whom it lets in, and what it shows.

    Parameters
    ----------
    host, port
        Where it listens; port 0: any that is free.
    stop_port
        Where its stop listens, a process of its own; the next port unless given, another where that is taken.
    token
        Demanded from everybody, where it is not empty.
    certificate, key
        Files for TLS.
    segment
        The loop to attach to; empty: whichever is there.
    subject
        The test that is prepared here; None where there is none.
    runs
        Folder whose run files can be replayed, and into which rehearsals are recorded.
    run
        A run file to show at once.
    absence
        What happens when no operator is there.

    Examples
    --------
    >>> Settings(port=0).host
    '127.0.0.1'
    """

    host: str = "127.0.0.1"
    port: int = 8750
    stop_port: int | None = None
    token: str = field(default="", repr=False)
    certificate: Path | None = None
    key: Path | None = None
    segment: str = ""
    subject: Subject | None = None
    runs: Path = Path("out")
    run: Path | None = None
    absence: Absence = Absence()

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise InputError("--tls-cert and --tls-key belong together; give both or none")
