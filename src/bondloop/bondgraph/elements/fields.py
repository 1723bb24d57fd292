"""Fields: storages and resistors of N ports with a matrix, or from a potential.

All efforts and flows of a field from a potential (an energy, a coenergy or a dissipation function) are
derivatives of one function. So they are reciprocal by construction: second derivatives commute (Maxwell), and
what a storage field takes it can give back.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bondloop.bondgraph.domain import units_of
from bondloop.bondgraph.elements.laws import check_number, formula_of
from bondloop.bondgraph.elements.multiport import Multiport, PortSymbols, Relations
from bondloop.bondgraph.parts import Reading, reading
from bondloop.engine.data import POSITIVE, Range
from bondloop.errors import InputError, ModelError, unknown_name
from bondloop.units import dimension

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bondloop.engine.data import Range


def gradient(formula: Any, symbols: Sequence[Any]) -> list[Any]:
    """Return derivatives of a formula; where it has a corner, those of the smooth pieces on either side.

    One that jumps is refused: the effort would be an impulse, and what is left without it conserves nothing.

    >>> import sympy as sp
    >>> x = sp.Symbol("x", real=True)
    >>> gradient(x**2 * sp.sign(x) / 2, [x])
    [x*sign(x)]
    >>> gradient(x**2 / 2 + 3 * sp.Heaviside(x - 1), [x])
    Traceback (most recent call last):
    ...
    bondloop.errors.ModelError: x**2/2 + 3*Heaviside(x - 1) jumps by 3 at x = 1, ...
    """
    import sympy as sp

    _check_jumps(formula, symbols)
    slopes = [sp.diff(formula, s).replace(sp.DiracDelta, lambda *_: sp.Integer(0)) for s in symbols]
    return [sp.factor_terms(slope) for slope in slopes]


def _check_jumps(formula: Any, symbols: Sequence[Any]) -> None:
    """Refuse a formula that jumps where one of its steps or pieces begins."""
    import sympy as sp

    for edge, below, above in _pieces(formula):
        for s in symbols:
            if s not in edge.free_symbols:
                continue
            try:
                places = sp.solve(edge, s)
            except NotImplementedError:
                continue  # where that is cannot be told
            for place in places:
                jump = sp.simplify((above - below).subs(s, place))
                if place.is_real is not False and jump != 0 and _is_at(jump, formula, s, place):
                    plain = {d: sp.Symbol(d.name) for d in formula.free_symbols}
                    shown = [e.subs(plain) for e in (formula, jump, s, place)]
                    raise ModelError(
                        "{} jumps by {} at {} = {}, and its derivative is an impulse there; give one that is "
                        "continuous: a step times what is zero where the step is, say".format(*shown)
                    )


def _is_at(jump: Any, formula: Any, s: Any, place: Any) -> bool:
    """Whether a formula jumps at a place, by numbers: what its pieces say may be hidden by other pieces."""
    others = sorted((formula.free_symbols | place.free_symbols) - {s}, key=str)
    values = {symbol: 1.1 + 0.37 * i for i, symbol in enumerate(others)}
    size, at = jump.subs(values), place.subs(values)
    if not (size.is_number and size.is_finite and at.is_number and at.is_real):
        return False
    near = 1e-7 * (1 + abs(at))
    below, above = (formula.subs(values).subs(s, x).evalf() for x in (at - near, at + near))
    return bool((above - below).is_finite and abs(above - below) > 0.5 * abs(size.evalf()))


def _pieces(formula: Any) -> list[tuple[Any, Any, Any]]:
    """Return for every step in a formula what is zero there, and the formula on either side."""
    import sympy as sp

    pieces = [(a.args[0], formula.subs(a, 0), formula.subs(a, 1)) for a in formula.atoms(sp.Heaviside)]
    pieces += [(a.args[0], formula.subs(a, -1), formula.subs(a, 1)) for a in formula.atoms(sp.sign)]
    for choice in formula.atoms(sp.Piecewise):
        for (one, condition), (other, _) in pairwise(choice.args):
            pieces += [
                (relation.lhs - relation.rhs, formula.subs(choice, one), formula.subs(choice, other))
                for relation in condition.atoms(sp.core.relational.Relational)
                if not isinstance(relation, sp.Eq | sp.Ne)
            ]
    return pieces


def describe(
    part: Multiport,
    function: Callable[..., Any],
    roles: Callable[[str], tuple[str, str, int]],
    *,
    word: str,
    size: int | None,
    initial: Mapping[str, Any] | Sequence[Any] | None,
    ranges: Mapping[str, Range] | None,
    given: Mapping[str, Any],
) -> None:
    """Make an element that follows from a potential.

    Parameters
    ----------
    part
        The element.
    function
        The potential: of one variable of each port, then of parameters.
    roles
        For a port by name: the variable that the potential takes, the one that is its derivative, the sign.
    word
        What the potential is called.
    size
        Number of ports of a function that takes any number, ``lambda *q: ...``.
    initial, ranges, given
        Initial values, ranges of the parameters, values of the parameters.
    """
    kind = type(part).__name__
    if not callable(function):
        raise InputError(f"{kind}({word}): expected a function of SymPy expressions; found {function!r}")
    signature = list(inspect.signature(function).parameters.values())
    plain = [p for p in signature if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if any(p.kind == p.VAR_POSITIONAL for p in signature):
        names = _numbered(kind, word, size)
        wanted = {p.name: p.default for p in plain}
    else:
        if size is not None:
            raise InputError(f"{kind}(size): the arguments of its {word} are its ports; leave the size out")
        names = [p.name for p in plain if p.default is p.empty and p.name not in given]
        wanted = {p.name: p.default for p in plain if p.name not in names}
        part.name_ports(names)
    if not names:
        raise InputError(
            f"{kind}({word}): expected a function of at least one variable, such as lambda q: ..."
        )
    part.keep_parameters(kind, wanted, given, ranges)
    part.size = len(names)
    ports = [PortSymbols.named(name) for name in names]
    described = [roles(name) for name in names]
    taken = [getattr(p, argument) for p, (argument, _, _) in zip(ports, described, strict=True)]
    potential = formula_of(function, taken, part.parameter_symbols, kind)
    equations: dict[Any, Any] = {}
    for port, (_, result, sign), slope in zip(ports, described, gradient(potential, taken), strict=True):
        equations[getattr(port, result)] = sign * slope
    part.relations = Relations(
        ports, (), {**equations, **_energy(ports, described, potential, word)}, (), kind
    )
    part.take_initial(initial)


def _numbered(kind: str, word: str, size: int | None) -> list[str]:
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise InputError(
            f"{kind}(size): its {word} takes any number of arguments, so give the number of ports, "
            f"at least 1; found {size!r}"
        )
    return [str(i) for i in range(size)]


def _energy(
    ports: Sequence[PortSymbols], described: Sequence[tuple[str, str, int]], potential: Any, word: str
) -> dict[Any, Any]:
    """Return what a storage field holds, under the name ``energy``: a coenergy turned round (Legendre)."""
    if word == "energy":
        return {"energy": potential}
    if word != "coenergy":
        return {}
    turned = [
        (p, argument, result)
        for p, (argument, result, sign) in zip(ports, described, strict=True)
        if sign > 0
    ]
    return {"energy": sum(getattr(p, a) * getattr(p, r) for p, a, r in turned) - potential}


class ICField(Multiport):
    """Storage field with ports of both kinds, such as a coil whose inductance depends on a gap.

    From its energy: flow = d(energy)/d(momentum), effort = d(energy)/d(displacement). From its coenergy:
    momentum = d(coenergy)/d(flow), effort = -d(coenergy)/d(displacement). The coenergy is that of the
    inertias less the energy that depends on displacements alone: Lagrange's function of the field. States are
    momenta and displacements either way.

    Parameters
    ----------
    energy, coenergy
        One of them, as a function of SymPy expressions. Its arguments that are no parameters are the ports,
        and name them: each is the momentum (in a coenergy the flow) or the displacement of its port.
    momentum
        Name or names of the ports that hold momentum; the others hold displacement.
    initial
        Initial momenta and displacements, by the names of the ports or in their order.
    ranges
        Which numbers the parameters may be; any finite one where none is given.
    **parameters
        Named parameters of the function, with values.

    Examples
    --------
    >>> coil = ICField(
    ...     coenergy=lambda coil, gap, a, b: a * coil**2 / (2 * (b + gap)), momentum="coil", a=2e-5, b=1e-3
    ... )
    >>> coil.port_names
    ('coil', 'gap')
    """

    def __init__(
        self,
        energy: Callable[..., Any] | None = None,
        *,
        momentum: str | Sequence[str] | None = None,
        coenergy: Callable[..., Any] | None = None,
        initial: Mapping[str, float | str] | Sequence[float | str] | None = None,
        ranges: Mapping[str, Range] | None = None,
        **parameters: Any,
    ) -> None:
        super(Multiport, self).__init__()
        if (energy is None) == (coenergy is None):
            raise InputError("ICField takes either an energy or a coenergy")
        word = "energy" if coenergy is None else "coenergy"
        if momentum is None:
            raise InputError(
                "ICField needs the names of the ports that hold momentum, such as momentum='coil', among the "
                f"arguments of its {word}; where none does it is a CField, where all do an IField"
            )
        inertias = [momentum] if isinstance(momentum, str) else list(momentum)
        inertia = ("momentum", "flow", 1) if coenergy is None else ("flow", "momentum", 1)
        compliance = ("displacement", "effort", 1 if coenergy is None else -1)
        function: Any = energy if coenergy is None else coenergy
        describe(
            self,
            function,
            lambda name: inertia if name in inertias else compliance,
            word=word,
            size=None,
            initial=initial,
            ranges=ranges,
            given=parameters,
        )
        for name in inertias:
            if name not in self.port_names:
                raise InputError(unknown_name("port", name, self.port_names, where="ICField(momentum)"))


class Field(Multiport):
    """An N-port element with a matrix, or from a potential; its ports are ``field[0]``, ``field[1]``, ..."""

    mass_is = "none"
    word: ClassVar[str] = ""
    symmetric: ClassVar[bool] = True
    state_word: ClassVar[str] = ""
    diagonal: ClassVar[Range | None] = None
    """Which numbers the entries on the diagonal may be."""
    entry_units: ClassVar[tuple[str, ...]] = ()
    """What the entries on the diagonal may measure, one unit for each domain."""
    potentials: ClassVar[Mapping[str, tuple[str, str, int]]] = {}
    """Potentials from which it may follow: the variable each takes, what its derivative is, the sign."""

    def __init__(
        self, matrix: Any = None, *, initial: Sequence[Any] | Mapping[str, Any] | None = None, **given: Any
    ) -> None:
        super(Multiport, self).__init__()
        kind = type(self).__name__
        potentials = [word for word in self.potentials if word in given]
        if potentials:
            if len(potentials) > 1 or matrix is not None or self.word in given:
                raise InputError(
                    f"{kind} takes one of {self.word}, {', '.join(self.potentials)}; found several"
                )
            (word,) = potentials
            function, size, ranges = given.pop(word), given.pop("size", None), given.pop("ranges", None)
            describe(
                self,
                function,
                lambda _: self.potentials[word],
                word=word,
                size=size,
                initial=initial,
                ranges=ranges,
                given=given,
            )
            return
        for key in given:
            if key != self.word:
                raise InputError(unknown_name("parameter", key, [self.word], where=kind))
        matrix = given.get(self.word, matrix)
        if matrix is None:
            raise InputError(f"{kind} needs its {self.word} matrix, or {' or '.join(self.potentials)}=...")
        self.matrix = matrix if hasattr(matrix, "tocsr") else self._rows(matrix, f"{kind}({self.word})")
        n, m = self.matrix.shape
        if n != m or n < 1:
            raise InputError(f"{kind}({self.word}): expected a square matrix; found shape {(n, m)}")
        self.size = int(n)
        self._check(kind)
        if isinstance(initial, Mapping):
            raise InputError(f"{kind}(initial): expected {self.size} values, in the order of the ports")
        self.start = (
            [0.0] * self.size
            if initial is None
            else [check_number(v, f"{kind}(initial)", units=units_of(self.state_word)) for v in initial]
        )
        if len(self.start) != self.size:
            raise InputError(f"{kind}(initial): expected {self.size} values; found {len(self.start)}")

    def entries(self) -> list[list[tuple[int, Any]]]:
        """Non-zero entries by row: (column, value)."""
        if hasattr(self.matrix, "tocsr"):
            m = self.matrix.tocsr()
            return [
                [(int(j), float(v)) for j, v in zip(m.indices[a:b], m.data[a:b], strict=True) if v]
                for a, b in zip(m.indptr[:-1], m.indptr[1:], strict=True)
            ]
        return [
            [(j, self.matrix[i, j]) for j in range(self.size or 0) if self.matrix[i, j] != 0]
            for i in range(self.size or 0)
        ]

    def _rows(self, given: Any, where: str) -> Any:
        """Return a matrix, given in any way but sparse, as an array or a SymPy matrix."""
        if hasattr(given, "free_symbols"):
            if given.free_symbols:
                return given
            given = given.tolist()
        try:
            rows = [list(r) for r in given]
        except TypeError:
            rows = []
        if not rows or isinstance(given, str) or any(isinstance(r, str) for r in given):
            raise InputError(f"{where}: expected a square matrix, as rows of numbers; found {given!r}")
        if any(isinstance(v, str) for row in rows for v in row):
            rows = entries_in_si(rows, where, self.entry_units)
        if any(getattr(v, "free_symbols", None) for row in rows for v in row):
            import sympy as sp

            return sp.Matrix(rows)
        try:
            return np.atleast_2d(np.asarray(rows, dtype=float))
        except (TypeError, ValueError):
            raise InputError(
                f"{where}: expected a square matrix of numbers, texts with a unit or SymPy expressions"
            ) from None

    def _check(self, kind: str) -> None:
        if self.symmetric and hasattr(self.matrix, "free_symbols") and self.matrix != self.matrix.T:
            raise InputError(
                f"{kind}({self.word}): the matrix is not symmetric; "
                "a storage field that conserves energy needs a symmetric matrix"
            )
        numeric = not hasattr(self.matrix, "free_symbols")
        if numeric and not np.all(
            np.isfinite(self.matrix.data if hasattr(self.matrix, "tocsr") else self.matrix)
        ):
            raise InputError(f"{kind}({self.word}): the matrix has entries that are not finite")
        if numeric and self.symmetric:
            difference = abs(self.matrix - self.matrix.T)
            largest = difference.max()
            if largest > 1e-9 * abs(self.matrix).max():
                raise InputError(
                    f"{kind}({self.word}): the matrix is not symmetric (entries differ by {largest:.3g}); "
                    "a storage field that conserves energy needs a symmetric matrix"
                )


class IField(Field):
    """Inertia field: momentum = mass @ flow, with a symmetric mass matrix, or from an energy.

    With a matrix its states are the flows, because then mass @ d(flow)/dt = effort holds as it stands: the
    mass matrix goes into E and is never inverted, so that a sparse one stays sparse. From an energy of the
    momenta (flow = its derivative) or a coenergy of the flows (momentum = its derivative) they are momenta.

    Parameters
    ----------
    matrix, mass
        The mass matrix, as rows, an array, a sparse array or a SymPy matrix; entries of rows may be texts
        with a unit.
    energy, coenergy
        Instead of a matrix: a function of SymPy expressions, as for `CField`.
    initial
        Initial flows (with a matrix), initial momenta (from an energy or coenergy).
    size, ranges, **parameters
        As for `CField`.
    """

    word: ClassVar[str] = "mass"
    state_word: ClassVar[str] = "flow"
    diagonal: ClassVar[Range | None] = POSITIVE
    entry_units: ClassVar[tuple[str, ...]] = sum(
        (units_of(word) for word in ("mass", "inertia", "inductance", "inertance")), ()
    )
    potentials: ClassVar[Mapping[str, tuple[str, str, int]]] = {
        "energy": ("momentum", "flow", 1),
        "coenergy": ("flow", "momentum", 1),
    }

    @property
    def momentum(self) -> Reading:
        """Momentum of a field of one port, as a signal; ``field[i].momentum`` of several."""
        return reading(self, "momentum")

    def _check(self, kind: str) -> None:
        super()._check(kind)
        if hasattr(self.matrix, "tocsr"):
            diagonal = self.matrix.diagonal()
            if diagonal.min() <= 0:  # all that can be said at little cost; a singular one shows when solved
                raise InputError(
                    f"{kind}(mass): the matrix is not positive definite (diagonal entry "
                    f"{int(diagonal.argmin())} is {diagonal.min():.3g}); every degree of freedom needs a mass"
                )
        elif not hasattr(self.matrix, "free_symbols"):
            smallest = float(np.linalg.eigvalsh(self.matrix).min())
            if smallest <= 0:
                raise InputError(
                    f"{kind}(mass): the matrix is not positive definite (smallest eigenvalue "
                    f"{smallest:.3g}); check for a degree of freedom without mass"
                )


class CField(Field):
    """Compliance field: effort = stiffness @ displacement, or effort = d(energy)/d(displacement).

    Parameters
    ----------
    matrix, stiffness
        The stiffness matrix, symmetric: as rows, an array, a sparse array or a SymPy matrix. Entries of rows
        may be texts with a unit, ``[["2 kN/m", "-1 kN/m"], ["-1 kN/m", "1 kN/m"]]``.
    energy, coenergy
        Instead of a matrix: a function of SymPy expressions. Its arguments that are no parameters are the
        ports, and name them: in an energy each is the displacement of its port, in a coenergy its effort.
    initial
        Initial displacements, in the order of the ports; of named ones by name too. Where a port is in
        derivative causality and its displacement is found by iteration, the search starts there.
    size
        Number of ports of a function that takes any number of arguments, ``lambda *q: ...``.
    ranges
        Which numbers the parameters of the function may be; any finite one where none is given.
    **parameters
        Named parameters of the function, with values.

    Examples
    --------
    A condenser microphone, a capacitor with one plate on a spring: ports ``plates`` and ``membrane``.

    >>> mic = CField(
    ...     energy=lambda plates, membrane, eA, d, k: (
    ...         plates**2 * (d + membrane) / (2 * eA) + k * membrane**2 / 2
    ...     ),
    ...     eA=1e-15,
    ...     d=2e-5,
    ...     k=500,
    ...     initial={"plates": 1e-9},
    ... )
    >>> mic.port_names
    ('plates', 'membrane')
    """

    word: ClassVar[str] = "stiffness"
    state_word: ClassVar[str] = "displacement"
    entry_units: ClassVar[tuple[str, ...]] = (*units_of("stiffness"), "V/C", "A/V/s", "K/J")
    potentials: ClassVar[Mapping[str, tuple[str, str, int]]] = {
        "energy": ("displacement", "effort", 1),
        "coenergy": ("effort", "displacement", 1),
    }

    @property
    def displacement(self) -> Reading:
        """Displacement of a field of one port, as a signal; ``field[i].displacement`` of several."""
        return reading(self, "displacement")


class RField(Field):
    """Resistor field: effort = resistance @ flow, or effort = d(dissipation)/d(flow).

    Parameters
    ----------
    matrix, resistance
        The matrix; it need not be symmetric.
    dissipation, codissipation
        Instead of a matrix: Rayleigh's function of the flows, or one of the efforts whose derivatives are the
        flows. Arguments, ports and parameters as for `CField`.
    size, ranges, **parameters
        As for `CField`.

    Examples
    --------
    >>> from bondloop.bondgraph import I, Model, One, RField
    >>> m = Model("coupled dampers")
    >>> m.a, m.b, m.film = One(), One(), RField([[2.0, -1.0], [-1.0, 2.0]])
    >>> _ = m.a >> [I(mass=1.0, initial=1.0), m.film[0]]
    >>> _ = m.b >> [I(mass=1.0), m.film[1]]
    >>> sorted(m.compile().poles().real.round(9).tolist())
    [-3.0, -1.0]
    """

    word: ClassVar[str] = "resistance"
    entry_units: ClassVar[tuple[str, ...]] = units_of("resistance")
    symmetric: ClassVar[bool] = False
    potentials: ClassVar[Mapping[str, tuple[str, str, int]]] = {
        "dissipation": ("flow", "effort", 1),
        "codissipation": ("effort", "flow", 1),
    }

    def __init__(self, matrix: Any = None, **given: Any) -> None:
        if "initial" in given:
            raise InputError("RField stores nothing, so it has no initial value")
        super().__init__(matrix, **given)


def entries_in_si(rows: Sequence[Sequence[Any]], where: str, units: Sequence[str]) -> list[list[Any]]:
    """Return the rows of a matrix with texts turned into numbers in SI units.

    Efforts times flows are powers at every port, so the units of a matrix are not free: an entry measures the
    geometric mean of the two on the diagonal that share its row and its column. A beam's stiffness has N/m
    and N m on the diagonal, and N beside them. What the diagonal may measure is given.

    >>> entries_in_si([["12 kN/m", "6 kN"], ["6 kN", "4 kN m"]], "CField(stiffness)", ["N/m", "N m"])
    [[12000.0, 6000.0], [6000.0, 4000.0]]
    """
    sizes = [[dimension(v) if isinstance(v, str) else None for v in row] for row in rows]
    whole = len(rows)
    for i, row in enumerate(sizes):
        for j, size in enumerate(row[:whole]):
            first, second = (sizes[k][k] if k < len(sizes[k]) else None for k in (i, j))
            if size is None or first is None or second is None:
                continue
            if any(2 * a != b + c for a, b, c in zip(size, first, second, strict=True)):
                raise InputError(
                    f"{where}: the entry [{i}, {j}], {rows[i][j]!r}, does not fit those on the diagonal, "
                    f"{rows[i][i]!r} and {rows[j][j]!r}: its unit squared must be the product of theirs"
                )
    return [
        [
            check_number(v, f"{where}, entry [{i}, {j}]", units=units if i == j else ())
            if isinstance(v, str)
            else v
            for j, v in enumerate(row)
        ]
        for i, row in enumerate(rows)
    ]
