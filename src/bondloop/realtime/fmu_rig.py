"""An FMU as the rig of a loop: ``fmu://rig.fmu``."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

from bondloop.compile.kept import private
from bondloop.compile.toolchain import cache_folder
from bondloop.errors import InputError, unknown_name
from bondloop.fmu import ForeignVariable, read_fmu
from bondloop.realtime.interface import command_names, measured_names

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest

__all__ = ["fmu_driver"]


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
    glue = (resources.files("bondloop.realtime") / "c" / "fmu_link.c").read_text(encoding="utf-8")
    text = f"{host}\n{glue}"
    folder = private(cache_folder()) / "fmu" / f"link-{hashlib.sha256(text.encode()).hexdigest()[:32]}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "link_fmu.c"
    scratch = path.with_suffix(".part")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)
    return path
