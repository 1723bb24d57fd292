"""Models of OpenSees: a subset of its Tcl commands, read and never run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from bondloop.errors import FaultsError, InputError
from bondloop.structures.constraints import RigidFloor, checked_constraint
from bondloop.structures.elements.base import DOFS
from bondloop.structures.foreign.opensees_arguments import (
    ArgumentFaultError,
    Arguments,
    UnknownOptionError,
)
from bondloop.structures.foreign.opensees_elements import ElementReader
from bondloop.structures.foreign.opensees_masses import nodal_masses
from bondloop.structures.foreign.opensees_model import ForeignModel, LeftOut, Pattern
from bondloop.structures.foreign.opensees_series import SeriesReader
from bondloop.structures.foreign.tcl import Command, Script, TclFaultError, Word
from bondloop.structures.foreign.text_file import read_source
from bondloop.structures.structure import Structure
from bondloop.units import quantity

__all__ = ["read_opensees"]

ASIDE = frozenset(
    {
        "recorder", "constraints", "numberer", "system", "test", "algorithm", "integrator", "analysis",
        "analyze", "eigen", "loadConst", "wipe", "wipeAnalysis", "puts", "file", "close", "record", "reset",
        "print", "printA", "printB", "setTime", "logFile", "modalProperties", "getTime", "exit",
        "quit", "flush", "database", "save",
    }
)  # fmt: skip
"""Commands that analyse or print: without them the structure is the same."""
COURSES = {
    "timeSeries": "the course of a load in time is not read; a record comes in by read_ground_motion",
}
"""Commands that say how loads change in time: but for a factor, patterns are the same without them."""
PLACES = {
    (1, 1): ("ux",),
    (2, 2): ("ux", "uy"),
    (2, 3): ("ux", "uy", "rz"),
    (3, 3): ("ux", "uy", "uz"),
    (3, 6): DOFS,
}
"""Degrees of freedom by the dimensions of the model and those of a node."""


def read_opensees(
    path: str | os.PathLike[str], *, length: str = "m", force: str = "N", name: str | None = None
) -> ForeignModel:
    """Read the structure and the loads of an OpenSees model written in Tcl.

    Understood are ``model``, ``node``, ``mass``, ``fix``, ``fixX`` to ``fixZ``, ``equalDOF``,
    ``rigidDiaphragm``, ``uniaxialMaterial Elastic`` and ``Viscous``, ``section Elastic``, ``geomTransf``,
    ``element elasticBeamColumn``, ``truss`` and ``zeroLength``, ``rayleigh``, ``pattern Plain`` with ``load``
    and ``eleLoad -beamUniform``; and of Tcl ``set``, ``incr``, ``[expr ...]``, ``for``, ``foreach`` and
    ``if``. Nothing is run. What is not understood is left out, and told line by line; what is wrong is
    refused, all at once.

    Parameters
    ----------
    path
        Of the file.
    length, force
        The units of the model, which OpenSees does not know; time is in s, and masses follow. Another unit
        as text: ``force="4.4482216 kN"`` for kips.
    name
        Of the structure; that of the file unless given.
    """
    file = Path(path)
    text = read_source(file, "OpenSees model")
    reader = _Reader(Structure(name or file.stem or "model"), _unit(length, "m"), _unit(force, "N"))
    try:
        reader.script.run(text)
    except TclFaultError as error:
        reader.faults.append(str(error))
    reader.finish()
    if len(reader.faults) == 1:
        raise InputError(f"{file}: {reader.faults[0]}")
    if reader.faults:
        raise FaultsError(str(file), [*reader.faults[:50], *(["..."] if len(reader.faults) > 50 else [])])
    if not reader.lines:
        raise InputError(f"{file}: it has no line 'node TAG X ...'; is it an OpenSees model in Tcl?")
    return ForeignModel(
        reader.structure,
        reader.patterns,
        tuple(sorted(dict.fromkeys(reader.left_out), key=lambda part: part.line)),
    )


def _unit(text: str, kind: str) -> float:
    value = quantity(text if text[:1].isdigit() or text[:1] == "." else f"1 {text}", kind)
    if not value > 0:
        raise InputError(f"expected a unit in {kind}; found {text!r}")
    return value


class _Reader:
    """One model as it is read."""

    def __init__(self, structure: Structure, length: float, force: float) -> None:
        self.structure, self.length, self.force = structure, length, force
        self.patterns: dict[str, Pattern] = {}
        self.pattern: Pattern | None = None
        self.faults: list[str] = []
        self.left_out: list[LeftOut] = []
        self.dimensions, self.dofs = 0, 0
        self.lines: dict[str, int] = {}
        self.equal: list[tuple[str, str, str]] = []
        self.masses: dict[str, list[str]] = {}
        self.series = SeriesReader()
        self.elements = ElementReader(self)
        self.script = Script(self.command, self.refused)
        self.known: dict[str, Callable[[Arguments], None]] = {
            "model": self.model, "node": self.node, "mass": self.mass, "fix": self.fix,
            "equalDOF": self.equal_dof, "rigidDiaphragm": self.diaphragm, "pattern": self.loads,
            "load": self.load, **self.elements.known,
        }  # fmt: skip

    # ------------------------------------------------------------ lines

    def command(self, command: Command) -> None:
        name = command.name
        if name in self.known:
            return self.known[name](Arguments(command))
        if name in ("fixX", "fixY", "fixZ"):
            return self.fix_plane(Arguments(command), "XYZ".index(name[-1]))
        matters = name not in ASIDE and (name not in COURSES or not self.series.read(command))
        why = "this command is not understood" if matters else COURSES.get(name, "it analyses or prints")
        self.left_out.append(LeftOut(command.line, command.text, why, matters))
        return None

    def refused(self, words: Sequence[Word], error: TclFaultError) -> None:
        if isinstance(error, ArgumentFaultError):
            self.faults.append(str(error))
            return
        text = " ".join(f"{{{w.text}}}" if w.braced else w.text for w in words)
        matters = words[0].text not in (*ASIDE, *COURSES, "set", "incr")
        said = error.said if isinstance(error, UnknownOptionError) else f"column {error.column}: {error.said}"
        self.left_out.append(LeftOut(words[0].line, text, said, matters))

    # ------------------------------------------------------------ nodes

    def place(self, tag: int, a: Arguments) -> str:
        """Return the name of a node that must exist."""
        name = f"n{tag}"
        if name not in self.structure.nodes:
            raise a.fault(f"node {tag} is not defined above")
        return name

    @property
    def names(self) -> tuple[str, ...]:
        """Degrees of freedom of a node."""
        return PLACES[self.dimensions, self.dofs]

    def need_model(self, a: Arguments) -> None:
        if not self.dimensions:
            raise a.fault("'model basic -ndm N -ndf N' must stand above it")

    def model(self, a: Arguments) -> None:
        a.take("the builder")
        sizes = {"-ndm": 0, "-ndf": 0}
        while a:
            option = a.option(tuple(sizes))
            sizes[option] = a.tag("dimensions")
        m = sizes["-ndm"]
        f = sizes["-ndf"] or {1: 1, 2: 3, 3: 6}.get(m, 0)
        if (m, f) not in PLACES:
            raise a.fault(f"-ndm {m} -ndf {f}; known: " + ", ".join(f"-ndm {i} -ndf {j}" for i, j in PLACES))
        self.dimensions, self.dofs = m, f

    def node(self, a: Arguments) -> None:
        self.need_model(a)
        tag = a.tag("a node")
        at = [self.length * x for x in a.numbers(self.dimensions, "a coordinate")]
        if f"n{tag}" in self.structure.nodes:
            raise a.fault(f"node {tag} exists already")
        masses = None
        while a:
            a.option(("-mass",))
            masses = a.numbers(self.dofs, "a mass")
        self.structure.node(f"n{tag}", *at)
        self.lines[f"n{tag}"] = a.command.line
        if masses:
            self.set_masses(f"n{tag}", masses, a)

    def mass(self, a: Arguments) -> None:
        self.need_model(a)
        node = self.place(a.tag("a node"), a)
        self.set_masses(node, a.numbers(self.dofs, "a mass"), a)

    def set_masses(self, node: str, masses: Sequence[float], a: Arguments) -> None:
        """Give a node its masses, instead of those that it has."""
        if min(masses) < 0:
            raise a.fault(f"a mass of {min(masses):g}; expected none below 0")
        for name in self.masses.pop(node, []):
            del self.structure.elements[name]
        parts = nodal_masses(node, dict(zip(self.names, masses, strict=True)), self.length, self.force)
        self.masses[node] = [self.structure.add(part) for part in parts]

    def fix(self, a: Arguments) -> None:
        self.need_model(a)
        node = self.place(a.tag("a node"), a)
        self.hold(node, a)

    def hold(self, node: str, a: Arguments) -> None:
        flags = [a.tag("0 or 1") for _ in range(self.dofs)]
        if not set(flags) <= {0, 1}:
            raise a.fault(f"expected {self.dofs} times 0 or 1; found {flags}")
        held = [d for d, on in zip(self.names, flags, strict=True) if on]
        if held:
            self.structure.support(node, *held)

    def fix_plane(self, a: Arguments, axis: int) -> None:
        self.need_model(a)
        at, words = self.length * a.number("a coordinate"), list(a.words)
        near = 1e-10 * self.length
        if len(words) > self.dofs + 1 and words[self.dofs].text == "-tol":
            near = self.length * a.as_number(words[self.dofs + 1], "the tolerance")
        for node, xyz in self.structure.nodes.items():
            if abs(xyz[axis] - at) <= near:
                a.words = list(words)
                self.hold(node, a)

    # ------------------------------------------------------------ constraints

    def equal_dof(self, a: Arguments) -> None:
        self.need_model(a)
        leads, follows = (self.place(a.tag("a node"), a) for _ in range(2))
        for number in a.tags("a degree of freedom"):
            if not 1 <= number <= self.dofs:
                raise a.fault(f"degree of freedom {number}; a node has 1 to {self.dofs}")
            self.equal.append((leads, follows, self.names[number - 1]))

    def diaphragm(self, a: Arguments) -> None:
        self.need_model(a)
        normal = a.tag("the normal direction")
        if self.dofs != 6 or normal not in (1, 2, 3):
            raise a.fault(f"direction {normal} of -ndf {self.dofs}; expected 1, 2 or 3 of a model in space")
        master, *nodes = (self.place(tag, a) for tag in a.tags("a node") or [0])
        if not nodes:
            raise a.fault("expected a node that leads and at least one that follows")
        self.structure.rigid_floor(master=master, nodes=nodes, plane={1: "yz", 2: "xz", 3: "xy"}[normal])

    def finish(self) -> None:
        """Apply what needs the whole model."""
        for leads, follows, dof in self.equal:
            one, other = f"{follows}.{dof}", f"{leads}.{dof}"
            # What leads may be held without any element of its own: then what follows is held.
            for node, twin in ((leads, follows), (follows, leads)):
                if dof in self.structure.supports.get(node, ()):
                    self.structure.support(twin, dof)
            self.structure.constraints.append(checked_constraint({one: 1.0, other: -1.0}, lenient=True))
        self.elements.finish()
        joined = {node for element in self.structure.elements.values() for node in element.nodes}
        for constraint in self.structure.constraints:
            if isinstance(constraint, RigidFloor):
                joined |= {constraint.master, *constraint.nodes}
        joined |= {node for leads, follows, _ in self.equal for node in (leads, follows)}
        for name in [node for node in self.structure.nodes if node not in joined]:
            why = "no element that was read uses it"
            self.left_out.append(LeftOut(self.lines[name], f"node {name[1:]}", why, matters=False))
            del self.structure.nodes[name]
            self.structure.supports.pop(name, None)

    # ------------------------------------------------------------ loads

    def loads(self, a: Arguments) -> None:
        self.need_model(a)
        kind = a.take("the kind of pattern")
        if kind.text != "Plain":
            raise UnknownOptionError(
                kind.line,
                kind.column,
                f"pattern {kind.text[:40]} is no load on nodes; give the test its ground motion",
            )
        tag = a.tag("a pattern")
        body = a.words[-1] if a.words and a.words[-1].braced else None
        if body is None:
            raise a.fault("expected its loads in braces")
        if len(a.words) > 2:
            raise UnknownOptionError(kind.line, kind.column, "a pattern with options is not understood")
        if str(tag) in self.patterns:
            raise a.fault(f"pattern {tag} exists already")
        self.pattern = self.patterns[str(tag)] = Pattern()
        self.script.run(body.text, body.line, body.column + 1, 1)
        if len(a.words) > 1:
            self.pattern.scale(self.series.of(a.words[0].text))
        self.pattern = None

    def load(self, a: Arguments) -> None:
        if self.pattern is None:
            raise a.fault("it stands in no pattern")
        node = self.place(a.tag("a node"), a)
        for d, value in zip(self.names, a.numbers(self.dofs, "a force"), strict=True):
            if value:
                f = value * self.force * (self.length if d[0] == "r" else 1.0)
                self.pattern.nodal[f"{node}.{d}"] = self.pattern.nodal.get(f"{node}.{d}", 0.0) + f
