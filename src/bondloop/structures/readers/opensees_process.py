"""A model of OpenSees is run, and its matrices are written: a script for a Python that has OpenSeesPy.

Run as ``python opensees_process.py MODEL FOLDER``. It needs OpenSeesPy and the standard library alone, as
that Python may have nothing else. A model in Tcl is run by the Tcl of the standard library, whose OpenSees
commands are handed to OpenSeesPy; a model in Python is run as it stands. Into the folder go ``M``, ``C`` and
``K``, row after row as float64, and ``model.json`` with the nodes.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import runpy
import sys
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

IGNORED = ("wipe", "recorder", "database", "record")
"""Commands that would take the model away at the end of a script, or write files."""
IN_BRACES = ("pattern", "section")
"""Commands whose last word may be a script."""
SERIES_OPTIONS = ("-accel", "-vel", "-disp")
"""Options of a pattern that a time series follows."""


def main(model: Path, folder: Path) -> None:
    """Run a model, and write its matrices into a folder."""
    ops = importlib.import_module("openseespy.opensees")

    for name in IGNORED:
        setattr(ops, name, lambda *_: None)
    os.chdir(model.parent)
    try:
        if model.suffix == ".py":
            runpy.run_path(str(model), run_name="__main__")
        else:
            run_tcl(ops, model)
    except SystemExit:
        pass  # a script that ends itself
    if not ops.getNodeTags():
        raise RuntimeError("it defines no node; is it an OpenSees model?")
    if all(len(ops.getFixedDOFs(tag)) == _whole(ops.getNDF(tag)) for tag in ops.getNodeTags()):
        raise RuntimeError("its supports hold every degree of freedom")
    write_matrices(ops, folder)


# ------------------------------------------------------------ Tcl


def run_tcl(ops: Any, model: Path) -> None:
    """Run a model in Tcl, its OpenSees commands by OpenSeesPy."""
    import tkinter as tk

    tcl = tk.Tcl()
    ended = False

    def end(*_: str) -> None:
        nonlocal ended
        ended = True
        raise SystemExit

    for name in dir(ops):
        if not name.startswith("_") and callable(getattr(ops, name)):
            tcl.createcommand(name, _handed_over(tcl, ops, name))
    for name in ("exit", "quit"):
        tcl.createcommand(name, end)
    try:
        tcl.call("source", "-encoding", "utf-8", str(model))
    except tk.TclError as error:
        if not ended:
            where = str(tcl.eval("set errorInfo")).strip().split("\n    invoked from within")[0]
            raise RuntimeError(
                where if str(error) else f"OpenSees refuses the command\n    {where}"
            ) from None


def _handed_over(tcl: Any, ops: Any, name: str) -> Callable[..., str]:
    """Return a command of Tcl that calls the function of the same name of OpenSeesPy."""

    def command(*given: str) -> str:
        words, script = list(given), ""
        if name in IN_BRACES and _is_script(words):
            script = words.pop()
        if name == "pattern":
            words = [
                _numbered(tcl, ops, word) if _is_series(words, i) else word for i, word in enumerate(words)
            ]
        answer = getattr(ops, name)(*_values(tcl, words))
        if script:
            tcl.eval(script)
        return _text(answer)

    return command


def _is_script(words: list[str]) -> bool:
    """Whether the last word of a command is a script: several words or none, after no option."""
    if len(words) < 3 or words[-2] in SERIES_OPTIONS or (words[0] == "Plain" and len(words) == 3):
        return False
    return not words[-1].strip() or re.search(r"\s", words[-1].strip()) is not None


def _is_series(words: list[str], i: int) -> bool:
    """Whether a word of a pattern describes a time series in place of its number."""
    place = i == 2 if words[0] == "Plain" else i > 0 and words[i - 1] in SERIES_OPTIONS
    return place and not words[i].strip().isdigit()


def _numbered(tcl: Any, ops: Any, series: str, first: int = 10**8) -> str:
    """Make the time series that a pattern of Tcl describes in place, and return its number."""
    kind, *options = tcl.splitlist(series)
    count = getattr(ops, "_series_in_place", 0) + 1
    ops._series_in_place = count
    ops.timeSeries("Path" if kind == "Series" else kind, first + count, *_values(tcl, options))
    return str(first + count)


def _values(tcl: Any, words: Sequence[str]) -> list[float | str]:
    """Return words of Tcl as OpenSeesPy takes them; a list in one word is taken one by one."""
    flat = [
        str(part) for word in words for part in (tcl.splitlist(word) if re.search(r"\s", word) else [word])
    ]
    return [_number(word, int, float) for word in flat]


def _number(word: str, *kinds: Callable[[str], float]) -> float | str:
    for kind in kinds if "_" not in word else ():
        try:
            return kind(word)
        except ValueError:
            pass
    return word


def _text(answer: object) -> str:
    """Return what a function answers, as Tcl has it."""
    if answer is None:
        return ""
    return " ".join(map(str, answer)) if isinstance(answer, (list, tuple)) else str(answer)


# ------------------------------------------------------------ matrices


def write_matrices(ops: Any, folder: Path) -> None:
    """Write M, C and K of the state in which the script leaves the model, and what its nodes are."""
    nodes = []
    constrained = set(ops.getConstrainedNodes())
    ops.wipeAnalysis()
    ops.constraints("Transformation")
    ops.numberer("Plain")
    ops.system("FullGeneral")
    ops.algorithm("Linear")
    for name, weights in (("K", (0.0, 0.0, 1.0)), ("C", (0.0, 1.0, 0.0)), ("M", (1.0, 0.0, 0.0))):
        ops.integrator("GimmeMCK", *weights)
        ops.analysis("Transient")
        ops.initialize()  # numbers the equations; a step of analysis would move the model
        with (folder / name).open("wb") as file:
            array("d", ops.printA("-ret")).tofile(file)
    for tag in ops.getNodeTags():
        led = set(ops.getConstrainedDOFs(tag)) if tag in constrained else set()
        equations = list(ops.nodeDOFs(tag))
        dimensions, count = (_whole(f(tag)) for f in (ops.getNDM, ops.getNDF))
        # Of a node that follows another, its own come first, then those of the node that leads.
        own = [dof for dof in range(1, count + 1) if dof not in led]
        places = dict(zip(own, equations, strict=False))
        nodes.append({"tag": tag, "dimensions": dimensions, "count": count, "equations": places})
    (folder / "model.json").write_text(json.dumps({"size": ops.systemSize(), "nodes": nodes}))


def _whole(answer: Any) -> int:
    return int(answer[0] if isinstance(answer, (list, tuple)) else answer)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
    except RuntimeError as fault:
        sys.exit(str(fault).strip())
