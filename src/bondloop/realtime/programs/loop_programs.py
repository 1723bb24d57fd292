"""The programs of a test's loop and rig, the driver of an FMU as the rig, and tabulated signals."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

from bondloop.engine.codegen import cache_folder, private
from bondloop.errors import InputError, unknown_name
from bondloop.fmu import ForeignVariable, read_fmu
from bondloop.realtime.machine_limits import (
    safe_position,
    start_rate,
    start_within,
    switch_facts,
    trip_limits,
)
from bondloop.realtime.programs.build import C_FOLDER, build_loop, build_rig
from bondloop.realtime.programs.interface import command_names, computer_ends, measured_names
from bondloop.signals import now_and_next

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    return now_and_next([tables[n.removesuffix(".now")] for n in inputs[::2]], steps, computer.period)


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
