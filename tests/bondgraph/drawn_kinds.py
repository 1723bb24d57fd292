"""Kinds of parts that drawn graphs are made of: each as a part of bondloop, and as equations of a tableau.

The two are written apart: nothing here reads what bondloop makes of a part. A new kind is a class with

``ports``, ``contents``
    how many bonds it takes, and what bondloop calls each quantity it stores (``".momentum"``);
``part()``, ``terminal(part, port)``, ``address(port)``
    the part as bondloop has it, what a bond is drawn to, and how a port's variables are named: ``".in"``;
``equations(at)``
    as many equations as ports and contents together, each an expression that is zero.

``at`` holds efforts ``e`` and flows ``f`` into the part, one for every port, contents ``z`` and their rates
``dz``, signals ``s``, the input ``u`` of a source, and ``sign``: 1 where the bond points to the part or -1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

from bondloop.bondgraph import (
    GY,
    MC,
    MGY,
    MR,
    MTF,
    TF,
    C,
    CField,
    I,
    IField,
    MSe,
    MSf,
    One,
    R,
    RField,
    Se,
    Sf,
    Zero,
)

Formula = Callable[..., Any]
"""A formula of some numbers and, last, the module that has its functions: ``lambda x, m: m.tanh(x)``."""


class Place:
    """The variables of one part."""

    def __init__(self, **variables: Any) -> None:
        self.__dict__.update(variables)


class Kind:
    """A kind of part; see above."""

    ports = 1
    contents: tuple[str, ...] = ()
    is_input = False
    signals = 0
    storage = False
    conserves = False

    def part(self) -> Any:
        raise NotImplementedError

    def terminal(self, part: Any, port: int) -> Any:
        """Return what a bond is drawn to."""
        return part if self.ports == 1 or self.conserves else part[port]

    def address(self, port: int) -> str:
        """Return how bondloop names the variables of a port, after the part."""
        return "" if self.ports == 1 else f"[{port}]"

    def way(self, port: int) -> int:
        """Return 1 where a bond must point to the part, -1 from it, 0 either way."""
        return 0 * port

    def equations(self, at: Any) -> list[Any]:
        raise NotImplementedError

    def energy(self, z: Any) -> float:  # noqa: ARG002 - what stores nothing needs no contents
        """Return the energy that is stored with these contents."""
        return 0.0


def symbolic(formula: Formula, count: int = 1) -> Callable[..., Any]:
    """Return a formula as a function of SymPy expressions, with as many arguments as bondloop looks for."""
    if count == 1:
        return lambda x: formula(x, sp)
    if count == 2:
        return lambda x, y: formula(x, y, sp)
    return lambda x, y, z: formula(x, y, z, sp)


class Functions:
    """The functions of formulas for NumPy, of complex numbers near the real line too."""

    sin, cos, exp, sqrt, tanh, sinh, asinh = np.sin, np.cos, np.exp, np.sqrt, np.tanh, np.sinh, np.arcsinh

    @staticmethod
    def Abs(x: Any) -> Any:
        return np.where(np.real(x) < 0, -x, x)


# ---------------------------------------------------------------------------------------- junctions


@dataclass
class Junction(Kind):
    zero: bool
    ports: int = 0
    conserves = True

    def part(self) -> Any:
        return Zero() if self.zero else One()

    def equations(self, at: Any) -> list[Any]:
        total = sum(at.f) if self.zero else sum(s * e for s, e in zip(at.sign, at.e, strict=True))
        shared = at.e if self.zero else [s * f for s, f in zip(at.sign, at.f, strict=True)]
        return [total, *(v - shared[0] for v in shared[1:])]


# ---------------------------------------------------------------------------------------- one-ports


@dataclass
class Source(Kind):
    effort: bool
    name: str
    is_input = True

    def part(self) -> Any:
        return Se(self.name) if self.effort else Sf(self.name)

    def equations(self, at: Any) -> list[Any]:
        # A source of flow gives the flow of its bond, whichever way it points.
        return [(at.e[0] if self.effort else at.sign[0] * at.f[0]) - at.u]


@dataclass
class Inertia(Kind):
    mass: float
    contents = (".momentum",)
    storage = True

    def part(self) -> Any:
        return I(mass=self.mass)

    def equations(self, at: Any) -> list[Any]:
        return [at.dz[0] - at.e[0], self.mass * at.f[0] - at.z[0]]

    def energy(self, z: Any) -> float:
        return z[0] ** 2 / (2 * self.mass)


@dataclass
class Compliance(Kind):
    stiffness: float
    word: str = "stiffness"
    contents = (".displacement",)
    storage = True

    def part(self) -> Any:
        return C(**{self.word: self.stiffness if self.word == "stiffness" else 1 / self.stiffness})

    def equations(self, at: Any) -> list[Any]:
        return [at.dz[0] - at.f[0], at.e[0] - self.stiffness * at.z[0]]

    def energy(self, z: Any) -> float:
        return self.stiffness * z[0] ** 2 / 2


@dataclass
class Resistor(Kind):
    resistance: float
    word: str = "resistance"

    def part(self) -> Any:
        return R(**{self.word: self.resistance if self.word != "conductance" else 1 / self.resistance})

    def equations(self, at: Any) -> list[Any]:
        return [at.e[0] - self.resistance * at.f[0]]


# ---------------------------------------------------------------------------------------- laws


@dataclass
class BentInertia(Kind):
    """Flow of momentum, with its energy."""

    law: Formula
    stored: Formula
    contents = (".momentum",)
    storage = True

    def part(self) -> Any:
        return I(law=symbolic(self.law))

    def equations(self, at: Any) -> list[Any]:
        return [at.dz[0] - at.e[0], at.f[0] - self.law(at.z[0], Functions)]

    def energy(self, z: Any) -> float:
        return self.stored(z[0], Functions)


@dataclass
class BentCompliance(Kind):
    """Effort of displacement, with its energy."""

    law: Formula
    stored: Formula
    contents = (".displacement",)
    storage = True

    def part(self) -> Any:
        return C(law=symbolic(self.law))

    def equations(self, at: Any) -> list[Any]:
        return [at.dz[0] - at.f[0], at.e[0] - self.law(at.z[0], Functions)]

    def energy(self, z: Any) -> float:
        return self.stored(z[0], Functions)


@dataclass
class BentResistor(Kind):
    """Effort of flow, or flow of effort."""

    law: Formula
    of_flow: bool = True

    def part(self) -> Any:
        return R(law=symbolic(self.law)) if self.of_flow else R(inverse=symbolic(self.law))

    def equations(self, at: Any) -> list[Any]:
        cause, effect = (at.f[0], at.e[0]) if self.of_flow else (at.e[0], at.f[0])
        return [effect - self.law(cause, Functions)]


# ---------------------------------------------------------------------------------------- two-ports


class TwoPort(Kind):
    conserves = True

    def address(self, port: int) -> str:
        return (".in", ".out")[port]


@dataclass
class Transformer(TwoPort):
    """The bond that points to it is its first port; the flow of the second goes out of it."""

    modulus: float
    ports: int = 2

    def part(self) -> Any:
        return TF(modulus=self.modulus)

    def equations(self, at: Any) -> list[Any]:
        return [at.e[0] - self.modulus * at.e[1], at.f[1] + self.modulus * at.f[0]]


@dataclass
class Gyrator(TwoPort):
    ratio: float
    ports: int = 2

    def part(self) -> Any:
        return GY(ratio=self.ratio)

    def equations(self, at: Any) -> list[Any]:
        return [at.e[0] + self.ratio * at.f[1], at.e[1] - self.ratio * at.f[0]]


@dataclass
class Modulated(TwoPort):
    """A transformer or gyrator whose coefficient is a formula of a signal."""

    law: Formula
    gyrates: bool
    ports: int = 2
    signals = 1

    def part(self) -> Any:
        return (MGY if self.gyrates else MTF)(symbolic(self.law))

    def equations(self, at: Any) -> list[Any]:
        two_port = (Gyrator if self.gyrates else Transformer)(self.law(at.s[0], Functions))
        return two_port.equations(at)


# ---------------------------------------------------------------------------------------- modulated one-ports


@dataclass
class ModulatedResistor(Kind):
    law: Formula
    signals = 1

    def part(self) -> Any:
        return MR(symbolic(self.law))

    def equations(self, at: Any) -> list[Any]:
        return [at.e[0] - self.law(at.s[0], Functions) * at.f[0]]


@dataclass
class ModulatedCompliance(Kind):
    """Effort of displacement and a signal."""

    law: Formula
    contents = (".displacement",)
    signals = 1

    def part(self) -> Any:
        return MC(symbolic(self.law, 2))

    def equations(self, at: Any) -> list[Any]:
        return [at.dz[0] - at.f[0], at.e[0] - self.law(at.z[0], at.s[0], Functions)]


@dataclass
class ModulatedSource(Kind):
    law: Formula
    effort: bool
    signals = 1

    def part(self) -> Any:
        return (MSe if self.effort else MSf)(symbolic(self.law))

    def equations(self, at: Any) -> list[Any]:
        return [(at.e[0] if self.effort else at.sign[0] * at.f[0]) - self.law(at.s[0], Functions)]


# ---------------------------------------------------------------------------------------- fields


def _product(matrix: Any, vector: Any) -> list[Any]:
    return [sum(m * v for m, v in zip(row, vector, strict=True)) for row in matrix]


@dataclass
class StorageField(Kind):
    """Mass matrix (its states are the flows) or stiffness matrix."""

    matrix: Any
    inertial: bool
    ports: int = field(init=False)
    storage = True

    def __post_init__(self) -> None:
        self.ports = len(self.matrix)
        word = "flow.state" if self.inertial else "displacement"
        self.contents = tuple(f"[{i}].{word}" for i in range(self.ports))

    def part(self) -> Any:
        return (IField if self.inertial else CField)(self.matrix)

    def equations(self, at: Any) -> list[Any]:
        if self.inertial:
            efforts = _product(self.matrix, at.dz)
            return [
                *(e - t for e, t in zip(at.e, efforts, strict=True)),
                *(f - z for f, z in zip(at.f, at.z, strict=True)),
            ]
        efforts = _product(self.matrix, at.z)
        return [
            *(e - t for e, t in zip(at.e, efforts, strict=True)),
            *(f - r for f, r in zip(at.f, at.dz, strict=True)),
        ]

    def energy(self, z: Any) -> float:
        return float(np.asarray(z) @ np.asarray(self.matrix) @ np.asarray(z)) / 2


@dataclass
class ResistorField(Kind):
    matrix: Any
    ports: int = field(init=False)

    def __post_init__(self) -> None:
        self.ports = len(self.matrix)

    def part(self) -> Any:
        return RField(self.matrix)

    def equations(self, at: Any) -> list[Any]:
        return [e - t for e, t in zip(at.e, _product(self.matrix, at.f), strict=True)]


@dataclass
class Potential(Kind):
    """A nonlinear two-port of storage or loss: a cause^2/2 + b cause^2/2 + c (difference)^4/4."""

    numbers: tuple[float, float, float]
    stored: bool
    ports: int = 2

    def __post_init__(self) -> None:
        self.storage = self.stored
        self.contents = (".x.displacement", ".y.displacement") if self.stored else ()

    def formula(self, x: Any, y: Any) -> Any:
        a, b, c = self.numbers
        return a * x**2 / 2 + b * y**2 / 2 + c * (x - y) ** 4 / 4

    def part(self) -> Any:
        return CField(energy=self.formula) if self.stored else RField(dissipation=self.formula)

    def address(self, port: int) -> str:
        return (".x", ".y")[port]

    def equations(self, at: Any) -> list[Any]:
        a, b, c = self.numbers
        x, y = at.z if self.stored else at.f
        both = c * (x - y) ** 3
        laws = [at.e[0] - a * x - both, at.e[1] - b * y + both]
        return [*laws, at.dz[0] - at.f[0], at.dz[1] - at.f[1]] if self.stored else laws

    def energy(self, z: Any) -> float:
        return self.formula(*z)


@dataclass
class MatrixTransformer(Kind):
    """Flows out are the matrix times flows in; the first ports are those that bonds point to.

    By an ``effort_ratio``, efforts out are the matrix times efforts in.
    """

    matrix: Any
    effort_ratio: bool = False
    ports: int = field(init=False)
    conserves = True

    def __post_init__(self) -> None:
        self.rows, self.columns = np.shape(self.matrix)
        self.ports = self.rows + self.columns

    def part(self) -> Any:
        return TF(effort_ratio=self.matrix) if self.effort_ratio else TF(self.matrix)

    def terminal(self, part: Any, port: int) -> Any:
        return part[port if port < self.columns else port - self.columns]

    def address(self, port: int) -> str:
        return f".in[{port}]" if port < self.columns else f".out[{port - self.columns}]"

    def way(self, port: int) -> int:
        return 1 if port < self.columns else -1

    def equations(self, at: Any) -> list[Any]:
        n = self.columns
        if self.effort_ratio:
            efforts, flows = _product(self.matrix, at.e[:n]), _product(np.transpose(self.matrix), at.f[n:])
            return [
                *(e - t for e, t in zip(at.e[n:], efforts, strict=True)),
                *(f + t for f, t in zip(at.f[:n], flows, strict=True)),
            ]
        flows, efforts = _product(self.matrix, at.f[:n]), _product(np.transpose(self.matrix), at.e[n:])
        return [
            *(f + t for f, t in zip(at.f[n:], flows, strict=True)),
            *(e - t for e, t in zip(at.e[:n], efforts, strict=True)),
        ]
