"""Building the loop and the rig: the generic C of this package and a generated tick, as one executable each.

What was built is kept by content, as the rehearsal's libraries are; with the same compiler and the same
options, so that the tick on the clock gives the same numbers to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bondloop.engine.codegen import build_program, compiler, write_c_sized
from bondloop.errors import CompileError, InputError
from bondloop.realtime.channels.wiring import channels_c, wire
from bondloop.realtime.programs.interface import Ends, computer_ends, interface_c, links_c, rig_ends
from bondloop.realtime.telemetry.segment import need_linux

if TYPE_CHECKING:
    from bondloop.engine.ir import Tick
    from bondloop.realtime.channels.channel import Channels
    from bondloop.safety import Interlock


C_FOLDER = Path(__file__).parents[1] / "c"
"""The C that is the same in every program."""

LINKS = ("udp", "shm", "loopback", "none")
"""Drivers that every loop has."""

_SHARED = ("platform", "number_options", "shelter", "siphash", "packet", "model", "link_udp", "link_shm")
_LOOP = (
    *_SHARED,
    "links",
    "field",
    "channels",
    "link_loopback",
    "link_none",
    "segment",
    "guard",
    "commands",
    "executive",
    "selftest",
    "bench",
    "loop_main",
)
_RIG = (*_SHARED, "ports", "rig", "rig_main")


@dataclass(frozen=True)
class Programs:
    """The executables of a test.

    Attributes
    ----------
    loop, rig
        Paths; the loop also has the rig built in, for ``loopback://``.
    """

    loop: Path
    rig: Path


def build_loop(  # noqa: PLR0913 - each says one thing of the loop
    tick: Tick,
    *,
    rig: Tick | None = None,
    safe: Mapping[str, float] | None = None,
    within: float = math.inf,
    rate: float = math.inf,
    drivers: Sequence[Path] = (),
    libraries: Sequence[str] = (),
    about: Mapping[str, object] | None = None,
    channels: Channels | None = None,
    includes: Sequence[Path] = (),
    interlock: Interlock | None = None,
) -> Path:
    """Build the loop, or take it from the cache; return the executable.

    Parameters
    ----------
    tick
        The computer's tick: its inputs are tabulated signals and then what the sensors read (``measured``);
        the channels with the role of a command go to the rig.
    rig
        The rig's tick, to link in for ``loopback://``.
    safe
        Commands of the safe state by name; 0 for those not named.
    within
        How far from where the test begins the rig may stand at the start, in m.
    rate
        Largest change of a command a second, on the way to the first one.
    drivers
        C files of further links; ``link_x.c`` defines ``bl_link_x`` for URLs ``x://...``. Headers beside them
        are found; those of a library, where they are installed.
    libraries
        Libraries that the drivers need, by name: ``"comedi"`` for ``-lcomedi``; or the path of a file.
    about
        Kept in the telemetry's metadata.
    channels
        The laboratory's channels, for drivers that read them.
    includes
        Folders of headers that the drivers need and the compiler does not know.
    interlock
        What the test states of its interlock: the program tests its tick by it at each start.
    """
    sources, large = _loop_files(
        tick, rig, drivers, channels, safe=safe, about=about, within=within, rate=rate, interlock=interlock
    )
    return _built(sources, f"{tick.name}-loop", large, libraries, includes)


def build_rig(
    tick: Tick, *, commands: Sequence[str] | None = None, measured: Sequence[str] | None = None
) -> Path:
    """Build a rig's program, or take it from the cache; return the executable.

    Parameters
    ----------
    tick
        The rig's tick: inputs are the commands; the channels with the role of measured values go to the loop.
    commands, measured
        Names in the order of the link, as the computer's tick has them; all of the rig's own if not given.
    """
    sources, large = _rig_files(rig_ends(tick, commands, measured))
    return _built(sources, f"{tick.name}-rig", large)


def build_pair(
    computer: Tick,
    rig: Tick,
    *,
    safe: Mapping[str, float] | None = None,
    drivers: Sequence[Path] = (),
    about: Mapping[str, object] | None = None,
) -> Programs:
    """Build a loop and its rig; arguments as in `build_loop`.

    Parameters
    ----------
    computer, rig
        The ticks of both.
    safe, drivers, about
        As for `build_loop`.
    """
    ends = computer_ends(computer)
    return Programs(
        build_loop(computer, rig=rig, safe=safe, drivers=drivers, about=about),
        build_rig(rig, commands=ends.commands, measured=ends.measured),
    )


def loop_sources(  # noqa: PLR0913 - as build_loop
    tick: Tick,
    *,
    rig: Tick | None = None,
    safe: Mapping[str, float] | None = None,
    within: float = math.inf,
    rate: float = math.inf,
    drivers: Sequence[Path] = (),
    about: Mapping[str, object] | None = None,
    channels: Channels | None = None,
    interlock: Interlock | None = None,
) -> dict[str, str]:
    """Return all files of a loop's program by name: every ``.c`` among them belongs to the one executable.

    Parameters
    ----------
    tick, rig, safe, within, rate, drivers, about, channels, interlock
        As for `build_loop`.
    """
    return _loop_files(
        tick, rig, drivers, channels, safe=safe, about=about, within=within, rate=rate, interlock=interlock
    )[0]


def rig_sources(
    tick: Tick, *, commands: Sequence[str] | None = None, measured: Sequence[str] | None = None
) -> dict[str, str]:
    """Return all files of a rig's program by name: every ``.c`` among them belongs to the one executable.

    Parameters
    ----------
    tick, commands, measured
        As for `build_rig`.
    """
    return _rig_files(rig_ends(tick, commands, measured))[0]


def _loop_files(
    tick: Tick, rig: Tick | None, drivers: Sequence[Path], channels: Channels | None, **stated: Any
) -> tuple[dict[str, str], bool]:
    wiring = None
    if channels is not None:
        tick, wiring = wire(channels, tick)
    recorded = 0 if wiring is None else wiring.recorded
    ends = computer_ends(tick, recorded=recorded, **stated)
    files = _hand_written(_LOOP) | {"channels_table.c": channels_c(wiring)}
    schemes = list(LINKS)
    for path in drivers:
        scheme = path.stem.removeprefix("link_")
        if path.suffix != ".c" or not path.stem.startswith("link_") or scheme in schemes:
            raise InputError(f"a driver is a file link_NAME.c with a new name; found {path.name}")
        if not path.is_file():
            raise InputError(f"there is no driver {path}")
        files |= {h.name: h.read_text(encoding="utf-8") for h in sorted(path.parent.glob("*.h"))}
        files[path.name] = path.read_text(encoding="utf-8")
        schemes.append(scheme)
    rig_end: Ends | None = None
    if rig is not None:
        other = replace(rig, name=f"{rig.name}_rig") if rig.name == tick.name else rig
        rig_end = rig_ends(other, ends.commands, ends.measured)
    files["interface.c"] = interface_c(ends, rig_end)
    files["drivers.c"] = links_c(schemes)
    large = _add_tick(files, tick)
    if rig_end is not None:
        large |= _add_tick(files, rig_end.tick)
    return files, large


def _rig_files(ends: Ends) -> tuple[dict[str, str], bool]:
    files = _hand_written(_RIG)
    files["interface.c"] = interface_c(None, ends)
    files["drivers.c"] = links_c(())
    return files, _add_tick(files, ends.tick)


def _add_tick(files: dict[str, str], tick: Tick) -> bool:
    files[f"tick_{tick.name}.c"], large = write_c_sized(tick)
    return large


def _hand_written(names: Sequence[str]) -> dict[str, str]:
    files = {
        f.name: f.read_text(encoding="utf-8") for f in C_FOLDER.glob("*.h")
    }  # few and small: all of them, whether or not the program needs them
    return files | {f"{n}.c": (C_FOLDER / f"{n}.c").read_text(encoding="utf-8") for n in names}


def _built(
    sources: dict[str, str],
    name: str,
    large: bool,
    libraries: Sequence[str] = (),
    includes: Sequence[Path] = (),
) -> Path:
    need_linux()
    using = compiler()
    if using is None:
        raise CompileError("no C compiler found ($CC, cc, gcc, clang); 'pip install ziglang' brings one")
    folders = [f"-I{folder}" for folder in (*includes, *_header_folders(libraries))]
    # A library is named before the objects that need it.
    named = [library if "/" in library else f"-l{library}" for library in libraries]
    extra = (*folders, "-Wl,--no-as-needed", *named) if libraries or folders else ()
    return build_program(sources, name, using, large=large, extra=extra)


def _header_folders(libraries: Sequence[str]) -> list[Path]:
    """Return folders of libraries' headers, beside those that a compiler looks in by itself."""
    roots = (Path("/usr/include"), Path("/usr/local/include"), Path("/opt/include"))
    names = [library for library in libraries if "/" not in library]
    return [root / name for name in names for root in roots if (root / name).is_dir()]


LIBRARIES: dict[str, tuple[str, ...]] = {
    "comedi": ("comedi",),
    "ethercat": ("soem",),
    "nidaqmx": ("nidaqmx",),
    "packet": (),
}
"""Libraries that each driver needs."""


def driver_file(scheme: str) -> Path:
    """Return the C file of a driver.

    >>> driver_file("packet").name
    'link_packet.c'
    """
    return C_FOLDER.parent / "drivers" / f"link_{scheme}.c"


def drivers_for(
    scheme: str, drivers: Sequence[Path], libraries: Sequence[str]
) -> tuple[list[Path], list[str]]:
    """Return drivers and libraries with those of a scheme, unless there is a driver of one's own for it.

    Parameters
    ----------
    scheme
        Of the link.
    drivers, libraries
        Those that were given.

    Examples
    --------
    >>> drivers_for("comedi", [], [])[1], drivers_for("udp", [], [])
    (['comedi'], ([], []))
    """
    own = driver_file(scheme)
    if scheme not in LIBRARIES or any(path.name == own.name for path in drivers):
        return list(drivers), list(libraries)
    named = [name for name in LIBRARIES[scheme] if name not in libraries] if not libraries else []
    return [*drivers, own], [*libraries, *named]
