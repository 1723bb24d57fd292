"""Building the loop and the rig: the generic C of this package and a generated tick, as one executable each.

What was built is kept by content, as the rehearsal's libraries are; with the same compiler and the same
options, so that the tick on the clock gives the same numbers to the last bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from bondloop.engine.codegen import build_program, cache_folder, compiler, private, write_c_sized
from bondloop.errors import CompileError, InputError, unknown_name
from bondloop.fmu import ForeignVariable, read_fmu
from bondloop.realtime.channels.wiring import channels_c, wire
from bondloop.realtime.machine_limits import (
    safe_position,
    start_rate,
    start_within,
    switch_facts,
    trip_limits,
)
from bondloop.realtime.programs.interface import (
    Ends,
    command_names,
    computer_ends,
    interface_c,
    links_c,
    measured_names,
    rig_ends,
)
from bondloop.realtime.segment import need_linux
from bondloop.signals import tabulated_inputs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.engine.ir import Tick
    from bondloop.hybrid import HybridTest
    from bondloop.realtime.channels.channel import Channels


def loop_program(
    test: HybridTest,
    *,
    loopback: bool,
    drivers: Sequence[Path] = (),
    libraries: Sequence[str] = (),
    channels: Channels | None = None,
    includes: Sequence[Path] = (),
) -> Path:
    """Build the program of a test's loop.

    Parameters
    ----------
    test
        The test.
    loopback
        With its emulated rig inside. That takes the rehearsal's steps, so that the numbers are the same.
    drivers, libraries
        C files of further links, and the libraries that they need.
    channels
        The laboratory's channels, for drivers that read them.
    includes
        Folders of headers that the drivers need.
    """
    computer = test.computer_tick
    safe = dict.fromkeys(command_names(computer), safe_position(test))
    rig = test.rig_tick() if loopback else None
    return build_loop(
        computer,
        rig=rig,
        safe=safe,
        within=start_within(test),
        rate=start_rate(test),
        drivers=drivers,
        libraries=libraries,
        channels=channels,
        includes=includes,
        interlock=test.interlock,
        about={"name": test.name, "limits": trip_limits(test), "switches": switch_facts(test)},
    )


def rig_program(test: HybridTest, *, lock_step: bool = False, rate: float | None = None) -> Path:
    """Build the program of a test's emulated rig.

    Parameters
    ----------
    test
        The test.
    lock_step
        Step as the rehearsal does: once in a sample, with its sub-steps inside.
    rate
        The rig's own steps a second; a whole multiple of the test's. Its sub-steps make it if not given.
    """
    ends = computer_ends(test.computer_tick)
    if rate is not None:
        ratio = rate / test.rate
        if abs(ratio - round(ratio)) > 1e-6 * ratio or round(ratio) < 1:
            raise InputError(
                f"the rig's rate must be a whole multiple of the test's {test.rate:g} Hz; found {rate:g} Hz"
            )
    own = test.period / test.rig.substeps if rate is None else 1.0 / rate
    return build_rig(
        test.rig_tick() if lock_step else test.rig_tick(own), commands=ends.commands, measured=ends.measured
    )


def signal_table(test: HybridTest, steps: int) -> NDArray[np.float64] | None:
    """Return the tabulated signals, now and next of each, as the rehearsal has them; None if there are none.

    Parameters
    ----------
    test
        The test.
    steps
        Ticks, a row each.
    """
    computer = test.computer_tick
    inputs = [v.name for v in computer.inputs][: len(computer.inputs) - len(measured_names(computer))]
    if not inputs:
        return None
    tables = test.tables
    return tabulated_inputs([tables[n.removesuffix(".now")] for n in inputs[::2]], steps, computer.period)


def fmu_driver(test: HybridTest, link: str) -> Path:
    """Write the driver that plays an FMU as the rig of a test; return the C file.

    Parameters
    ----------
    test
        The test.
    link
        ``fmu://PATH``. Commands are inputs of the FMU, and what is measured are its outputs, under the same
        names, or under those that follow a question mark: ``fmu://rig.fmu?command=u&measured.force=F``.
    """
    place, _, query = link.partition("://")[2].partition("?")
    fmu = read_fmu(unquote(place))
    tick = test.computer_tick
    commands, measured = command_names(tick), measured_names(tick)
    names = dict(parse_qsl(query, keep_blank_values=True))
    for name in names:
        if name not in (*commands, *measured):
            raise InputError(unknown_name("signal", name, [*commands, *measured], link))
    units = {c.name: c.unit for c in tick.channels}
    units |= {v.name: v.quantity.unit for v in tick.measured if v.quantity is not None}

    def bound(name: str, causality: str) -> ForeignVariable:
        return fmu.find(names.get(name, name), causality, units.get(name, ""))  # type: ignore[arg-type]

    inputs = [bound(name, "input") for name in commands]
    outputs = [bound(name, "output") for name in measured]
    host = fmu.host_c(inputs, outputs, test.period)
    glue = (C_FOLDER / "fmu_link.c").read_text(encoding="utf-8")
    text = f"{host}\n{glue}"
    folder = private(cache_folder()) / "fmu" / f"link-{hashlib.sha256(text.encode()).hexdigest()[:32]}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "link_fmu.c"
    scratch = path.with_suffix(".part")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)
    return path


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


def build_loop(
    tick: Tick,
    *,
    rig: Tick | None = None,
    drivers: Sequence[Path] = (),
    libraries: Sequence[str] = (),
    channels: Channels | None = None,
    includes: Sequence[Path] = (),
    **stated: Any,
) -> Path:
    """Build the loop, or take it from the cache; return the executable.

    Parameters
    ----------
    tick
        The computer's tick: its inputs are tabulated signals and then what the sensors read (``measured``);
        the channels with the role of a command go to the rig.
    rig
        The rig's tick, to link in for ``loopback://``.
    drivers
        C files of further links; ``link_x.c`` defines ``bl_link_x`` for URLs ``x://...``. Headers beside them
        are found; those of a library, where they are installed.
    libraries
        Libraries that the drivers need, by name: ``"comedi"`` for ``-lcomedi``; or the path of a file.
    channels
        The laboratory's channels, for drivers that read them.
    includes
        Folders of headers that the drivers need and the compiler does not know.
    **stated
        What the loop must know of the test, as `computer_ends` takes it: ``safe``, ``within``, ``rate``,
        ``about``, ``interlock``.
    """
    sources, large = _loop_files(tick, rig, drivers, channels, **stated)
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


def loop_sources(
    tick: Tick,
    *,
    rig: Tick | None = None,
    drivers: Sequence[Path] = (),
    channels: Channels | None = None,
    **stated: Any,
) -> dict[str, str]:
    """Return all files of a loop's program by name: every ``.c`` among them belongs to the one executable.

    Parameters
    ----------
    tick, rig, drivers, channels, **stated
        As for `build_loop`.
    """
    return _loop_files(tick, rig, drivers, channels, **stated)[0]


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
