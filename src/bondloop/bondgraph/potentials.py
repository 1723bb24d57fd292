"""Fields from a potential: an energy, a coenergy or a dissipation function, differentiated symbolically.

All efforts and flows are derivatives of one function, so they are reciprocal by construction: second
derivatives commute (Maxwell), and what a storage field takes it can give back.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph.multiport import Multiport, formula_of
from bondloop.bondgraph.relations import PortSymbols, Relations
from bondloop.errors import InputError, unknown_name

if TYPE_CHECKING:
    from bondloop.program.ranges import Range

__all__ = ["ICField", "describe", "gradient"]


def gradient(formula: Any, symbols: Sequence[Any]) -> list[Any]:
    """Return derivatives of a formula; where it jumps, those of the smooth pieces on either side.

    >>> import sympy as sp
    >>> x = sp.Symbol("x", real=True)
    >>> gradient(x**2 * sp.sign(x) / 2, [x])
    [x*sign(x)]
    """
    import sympy as sp

    slopes = [sp.diff(formula, s).replace(sp.DiracDelta, lambda *_: sp.Integer(0)) for s in symbols]
    return [sp.factor_terms(slope) for slope in slopes]


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
