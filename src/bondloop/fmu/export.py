"""Ticks and systems as FMUs: model description, C sources, a binary for this platform, tabulated signals."""

from __future__ import annotations

import contextlib
import math
import os
import platform
import sys
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bondloop.engine.analysis.simulation import starting_states
from bondloop.engine.codegen import Plan, build_program, c_number, c_string, compiler, write_c_sized
from bondloop.engine.data import POSITIVE
from bondloop.engine.ir import (
    Channel,
    Expr,
    Tick,
    Var,
    identifier,
    instantiate,
    substitute,
    tangent,
    variables,
)
from bondloop.errors import CompileError, InputError
from bondloop.fmu.model_description import (
    About,
    Variable,
    build_description,
    legible,
    model_description,
    tick_variables,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.engine import System


VERSIONS = (2, 3)
"""Versions of FMI that are written and read."""

_NAMESPACE = uuid.UUID("6f0b2c0e-3f5d-5b0e-9a53-5d1d8f6d7a11")
_STAMP = (1980, 1, 1, 0, 0, 0)
"""The same test gives the same file, byte for byte."""


def write_tick_fmu(  # noqa: PLR0913 - each is one thing that the file holds
    tick: Tick,
    path: str | os.PathLike[str],
    *,
    version: int = 3,
    name: str = "",
    table: NDArray[np.float64] | None = None,
    seconds: float | str = 10.0,
    tangent: Tick | None = None,
    kind: Literal["CoSimulation", "ModelExchange"] = "CoSimulation",
    starts: Mapping[str, float] | None = None,
    binary: bool = True,
) -> Path:
    """Write a tick as an FMU; return the path.

    Parameters
    ----------
    tick
        The tick. In model exchange its channels are the rates of its states, then the outputs.
    path
        Of the file.
    version
        Of FMI, 2 or 3.
    name
        For people; the tick's own where none is given.
    table
        The tabulated signals, a row a tick: the tick's first inputs.
    seconds
        Length of the experiment, or text, ``"2 min"``.
    tangent
        The tick of directional derivatives, in model exchange.
    kind
        Of the FMU.
    starts
        First values of inputs by name; zero of those left out.
    binary
        Whether the binary for this platform is built; without it, it is for the importer to build the
        sources.
    """
    if version not in VERSIONS:
        raise InputError(f"FMUs are written for FMI 2 or 3; found version {version!r}")
    length = POSITIVE.check(seconds, "seconds", "s")
    path = Path(path)
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder; give the name of a file, such as rig.fmu")
    rows, tables = (0, 0) if table is None else table.shape
    states = len(tick.states) if kind == "ModelExchange" else 0
    variables = tick_variables(tick, tables, states, starts)
    period = 0.0 if kind == "ModelExchange" else tick.period
    files, large = _sources(tick, tangent, version)
    signals = b"" if table is None else table.astype("<f8").tobytes()
    digest = "\0".join([str(version), kind, *files.values(), repr(variables)]).encode() + signals
    token = f"{{{uuid.uuid5(_NAMESPACE, digest.hex())}}}"
    files["definition.c"] = definition_c(tick, variables, token, rows, tables, tangent, period=period)
    about = About(
        name or tick.name, tick.name, token, kind, period, length,
        sorted(f for f in files if f.endswith(".c")), tangent is not None,
    )  # fmt: skip
    contents: dict[str, bytes] = {
        "modelDescription.xml": model_description(about, variables, version).encode()
    }
    contents |= {f"sources/{file}": text.encode() for file, text in sorted(files.items())}
    if version == 3:
        contents["sources/buildDescription.xml"] = build_description(about).encode()
    if signals:
        contents["resources/signals.f64"] = signals
    if binary:
        ending = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
        contents[f"binaries/{binary_folder(version)}/{tick.name}{ending}"] = _built(files, tick.name, large)
    _zip(path, contents)
    return path


def binary_folder(version: int) -> str:
    """Return the folder of an FMU that holds the binary for this platform.

    Parameters
    ----------
    version
        Of FMI.
    """
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(
        platform.machine().lower(), platform.machine().lower()
    )
    system = {"win32": "windows"}.get(sys.platform, sys.platform)
    if version == 2 and machine == "x86_64":
        return {"windows": "win64", "darwin": "darwin64"}.get(system, "linux64")
    return f"{machine}-{system}"


def _sources(tick: Tick, tangent: Tick | None, version: int) -> tuple[dict[str, str], bool]:
    folder = resources.files(__package__) / "c"
    own = ("fmu.h", "fmu.c", f"fmi{version}.c")
    kept = [f for f in folder.iterdir() if f.name in own or f.name.startswith(f"fmi{version}")]
    files = {f.name: f.read_text(encoding="utf-8") for f in sorted(kept, key=lambda f: f.name)}
    large = False
    for t in (tick, tangent):
        if t is not None:
            text, long = write_c_sized(t)
            # Its comments have the names as they are, and half a character cannot be written.
            files[f"tick_{t.name}.c"] = text.encode(errors="backslashreplace").decode()
            large |= long
    return files, large


def _built(files: Mapping[str, str], name: str, large: bool) -> bytes:
    using = compiler()
    if using is None:
        raise CompileError(
            "no C compiler found ($CC, cc, gcc, clang), so there is no binary to put into the FMU; 'pip "
            "install ziglang' brings one, or write the sources alone (binary=False, --sources-only)"
        )
    return build_program(files, name, using, large=large, library=True).read_bytes()


def _zip(path: Path, contents: Mapping[str, bytes]) -> None:
    scratch = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(scratch, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents.items():
                about = zipfile.ZipInfo(name, _STAMP)
                about.compress_type = zipfile.ZIP_DEFLATED
                about.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
                archive.writestr(about, content)
        scratch.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)


def definition_c(
    tick: Tick,
    variables: Sequence[Variable],
    token: str,
    rows: int,
    tables: int,
    tangent: Tick | None = None,
    *,
    period: float,
) -> str:
    """Write ``definition.c``.

    Parameters
    ----------
    tick
        The tick.
    variables
        Its variables.
    token
        Of the FMU.
    rows, tables
        How many ticks and how many inputs are tabulated.
    tangent
        The tick that computes directional derivatives, of model exchange.
    period
        Of a step; 0 in model exchange.
    """
    groups = {g: [v for v in variables if v.group == g] for g in ("input", "output", "parameter", "state")}
    numbers = {
        "initial": Plan(tick).initial().tolist(),
        "input_values": [v.start or 0.0 for v in groups["input"]],
        "parameter_values": [v.start or 0.0 for v in groups["parameter"]],
        "least": [v.least for v in groups["parameter"]],
        "most": [v.most for v in groups["parameter"]],
        "bound": [tick.bounds.get(c.name, math.inf) for c in tick.channels],
        "tangent_initial": [] if tangent is None else Plan(tangent).initial().tolist(),
    }
    names = {
        "input_names": groups["input"],
        "channel_names": groups["output"],
        "parameter_names": groups["parameter"],
    }
    signature = "(double *, const double *, const double *, double, double, double *)"
    ticks = [tick, *([] if tangent is None else [tangent])]
    lines = ["/* Written by bondloop; changes here are lost. */", "#include <math.h>", '#include "fmu.h"', ""]
    lines += [f"extern int {t.name}_tick_once{signature};" for t in ticks]
    for word, values in numbers.items():
        lines.append(f"static const double {word}[] = {{{', '.join(map(c_number, values)) or '0.0'}}};")
    for word, found in names.items():
        quoted = ", ".join(c_string(legible(v.name)) for v in found) or '""'
        lines.append(f"static const char *const {word}[] = {{{quoted}}};")
    fields = {
        "name": c_string(legible(tick.name)),
        "token": c_string(legible(token)),
        "period": c_number(period),
        "tick_once": f"{tick.name}_tick_once",
        "size": len(numbers["initial"]),
        "states": len(groups["state"]),
        "tables": tables,
        "rows": rows,
        "inputs": len(groups["input"]),
        "parameters": len(groups["parameter"]),
        "channels": len(groups["output"]),
        "tangent_once": "NULL" if tangent is None else f"{tangent.name}_tick_once",
        "tangent_size": len(numbers["tangent_initial"]),
        **{word: word for word in (*numbers, *names)},
    }
    rest = "".join(f"    .{word} = {value},\n" for word, value in fields.items())
    return "\n".join([*lines, "", f"const bl_fmu bl_definition = {{\n{rest}}};", ""])


def write_system_fmu(
    system: System, path: str | os.PathLike[str], *, version: int = 3, binary: bool = True
) -> Path:
    """Write a system as an FMU for model exchange; return the path.

    Parameters
    ----------
    system
        The system; it must not switch or remember, and need no rates of its inputs.
    path
        Of the file.
    version
        Of FMI, 2 or 3.
    binary
        Whether the binary for this platform is built.
    """
    _refuse(system)
    name = identifier(system.name, "system_")
    return write_tick_fmu(
        _rates_tick(system, name),
        path,
        version=version,
        name=system.name,
        tangent=_slopes_tick(system, f"{name}_slopes"),
        kind="ModelExchange",
        starts=system.input_defaults,
        binary=binary,
    )


def _refuse(system: System) -> None:
    remedy = "export it in steps, bl.Simulation({...}, rate=...).write_fmu(...)"
    if system.switching:
        raise InputError(
            f"{system.name} switches, and its events are not written for model exchange; {remedy}"
        )
    if system.memories:
        raise InputError(
            f"{system.name} remembers its displacements from step to step, and model exchange knows rates "
            f"only; {remedy}"
        )
    if system.input_rates:
        names = ", ".join(u.name for u in system.input_rates)
        raise InputError(
            f"{system.name} needs the rates of its inputs ({names}), which model exchange does not give; "
            f"{remedy}"
        )


def _rates_tick(system: System, name: str) -> Tick:
    goals = [*system.rate_exprs, *system.output_exprs.values()]
    channels = [
        Channel.of(f"der({x.name})", rate, x.quantity and x.quantity.rate)
        for x, rate in zip(system.state_vars, system.rate_exprs, strict=True)
    ]
    channels += [Channel.of(n, e, system.quantity(n)) for n, e in system.output_exprs.items()]
    return _tick(system, name, system.input_vars, goals, channels)


def _slopes_tick(system: System, name: str) -> Tick:
    """Return the tick of one direction: each assignment with its tangent, as in `sensitivity_system`."""
    seeds: dict[Var, Expr] = {v: Var(f"seed({v.name})") for v in (*system.input_vars, *system.state_vars)}
    given = tuple(s for s in seeds.values() if isinstance(s, Var))
    users: dict[Var, list[Var]] = {}
    for target, expr in system.definitions.items():
        for v in variables(expr):
            users.setdefault(v, []).append(target)
    work = list(seeds)
    while work:
        for target in users.get(work.pop(), ()):
            if target not in seeds:
                seeds[target] = Var(f"slope({target.name})")
                work.append(target)
    definitions = dict(system.definitions)
    tears = list(system.tears)
    for v, expr in system.definitions.items():
        slope = seeds.get(v)
        if isinstance(slope, Var):
            definitions[slope] = tangent(expr, seeds)
            tears += [slope] if v in system.tears else []
    goals = [tangent(e, seeds) for e in (*system.rate_exprs, *system.output_exprs.values())]
    names = [*(f"der({x.name})" for x in system.state_vars), *system.output_exprs]
    channels = [Channel(f"slope({n})", e) for n, e in zip(names, goals, strict=True)]
    wider = system.replaced(definitions=definitions, tears=tears)
    return _tick(wider, name, (*system.input_vars, *given), goals, channels)


def _tick(
    system: System, name: str, inputs: tuple[Var, ...], goals: list[Expr], channels: list[Channel]
) -> Tick:
    steps, table = instantiate(system.schedule(goals), {}, "")
    shown = tuple(replace(c, value=substitute(c.value, table)) for c in channels)
    return Tick(
        name, 1.0, Var("t"), Var("k"), inputs, starting_states(system), system.values(), tuple(steps), shown
    )
