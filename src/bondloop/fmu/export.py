"""A tick as an FMU: model description, C sources, a binary for this platform and tabulated signals."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
import uuid
import zipfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bondloop.engine.codegen import build_program, compiler, write_c_sized
from bondloop.engine.data import POSITIVE
from bondloop.errors import CompileError, InputError
from bondloop.fmu.definition import definition_c
from bondloop.fmu.model_description import About, build_description, model_description
from bondloop.fmu.variables import tick_variables

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.engine.ir import Tick


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
