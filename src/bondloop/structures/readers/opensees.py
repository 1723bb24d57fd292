"""Models of OpenSees: OpenSeesPy runs them in a process of its own, and gives their matrices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bondloop.engine.data import number
from bondloop.errors import InputError
from bondloop.structures.elements.base import DOFS, Number
from bondloop.structures.matrices import Matrices
from bondloop.units import quantity

DIRECTIONS = {
    (1, 1): ("ux",),
    (2, 2): ("ux", "uy"),
    (2, 3): ("ux", "uy", "rz"),
    (3, 3): ("ux", "uy", "uz"),
    (3, 6): DOFS,
}
"""Degrees of freedom by the dimensions of the model and the number of those of a node."""


def read_opensees(
    path: str | os.PathLike[str],
    *,
    length: str = "m",
    force: str = "N",
    python: str | os.PathLike[str] | None = None,
    timeout: Number = "60 s",
) -> Matrices:
    """Return M, C and K of an OpenSees model in Tcl or Python, which is run.

    OpenSeesPy runs the whole script in a process of its own, in the folder of the script; ``recorder`` and
    ``wipe`` do nothing. The stiffness is the tangent where the script ends: after its gravity load, K holds
    P-Δ of geometric transformations that have it. A script can do anything on this computer; run only those
    that you trust.

    Parameters
    ----------
    path
        Of the model: Python if its name ends in ``.py``, Tcl otherwise.
    length, force
        The units of the model, which OpenSees does not know; time is in s, and masses follow. Another unit
        as text: ``force="4.4482216 kN"`` for kips.
    python
        A Python that has OpenSeesPy; the one that runs bondloop by default, with
        ``pip install 'bondloop[opensees]'``.
    timeout
        How long the script may take.

    Returns
    -------
    Matrices
        Degrees of freedom are called ``n12.ux`` by the tag of their node. Those that a constraint lets follow
        others are eliminated.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {file}")
    scales = _unit(length, "m"), _unit(force, "N")
    with tempfile.TemporaryDirectory() as folder:
        seconds = number(timeout, "read_opensees(timeout)", "s")
        _run(file, Path(folder), Path(python or sys.executable), seconds)
        model = json.loads((Path(folder) / "model.json").read_text())
        size = model["size"]
        parts = [np.fromfile(Path(folder) / name).reshape(size, size) for name in ("M", "C", "K")]
    return _in_si(file, parts, _names(file, model, size), *scales)


def _run(file: Path, folder: Path, python: Path, seconds: float) -> None:
    """Run a model by OpenSeesPy; what it finds goes into a folder."""
    script = Path(__file__).with_name("opensees_process.py")
    try:
        ended = subprocess.run(  # noqa: S603 - the script is ours
            [python.absolute(), script, file.absolute(), folder],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
            timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise InputError(
            f"{file}: OpenSees has not ended after {seconds:g} s; let the script end before its earthquake, "
            "or give read_opensees(..., timeout=...) more"
        ) from None
    except OSError as error:
        raise InputError(f"read_opensees(python): cannot run {python}: {error.strerror}") from None
    if not ended.returncode and (folder / "model.json").exists():
        return
    said = ended.stderr.replace("Process 0 Terminating", "").strip()
    if "No module named 'openseespy'" in said or "ImportError" in said or "import _tkinter" in said:
        raise InputError(
            f"{python} cannot run OpenSees models: {said.splitlines()[-1]}; install OpenSeesPy there, pip "
            "install 'bondloop[opensees]' (models in Tcl need Python's tkinter too), or name a Python that "
            "has it, read_opensees(..., python=...)"
        )
    raise InputError(f"{file}: OpenSees cannot run it:\n{said[-1500:]}")


def _names(file: Path, model: dict[str, Any], size: int) -> list[str]:
    """Return the name of the degree of freedom of each equation."""
    names = [""] * size
    for node in model["nodes"]:
        words = DIRECTIONS.get((node["dimensions"], node["count"]))
        if words is None:
            raise InputError(
                f"{file}: node {node['tag']} has {node['count']} degrees of freedom in {node['dimensions']} "
                f"dimensions; known are {', '.join(f'{n} in {d}' for d, n in DIRECTIONS)}"
            )
        for dof, equation in node["equations"].items():
            if equation >= 0:
                names[equation] = f"n{node['tag']}.{words[int(dof) - 1]}"
    return names


def _in_si(file: Path, parts: list[Any], names: list[str], length: float, force: float) -> Matrices:
    """Return matrices in N and m: displacements are scaled by the length, moments by force times length."""
    scale = np.array([length if name[-2] == "r" else 1.0 for name in names])
    M, C, K = (force / length * scale[:, None] * part * scale for part in parts)
    try:
        return Matrices(M, C, K, tuple(names))
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def _unit(text: str, kind: str) -> float:
    value = quantity(text if text[:1].isdigit() or text[:1] == "." else f"1 {text}", kind)
    if not value > 0:
        raise InputError(f"expected a unit in {kind}; found {text!r}")
    return value
