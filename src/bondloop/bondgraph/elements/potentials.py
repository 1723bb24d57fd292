"""Fields from a potential: an energy, a coenergy or a dissipation function, differentiated symbolically.

All efforts and flows are derivatives of one function, so they are reciprocal by construction: second
derivatives commute (Maxwell), and what a storage field takes it can give back.
"""

from __future__ import annotations

import inspect
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph.elements.laws import formula_of
from bondloop.bondgraph.elements.multiport import Multiport
from bondloop.bondgraph.elements.relations import PortSymbols, Relations
from bondloop.errors import InputError, ModelError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
