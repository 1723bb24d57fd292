"""Readable equations, as text and LaTeX."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bondloop.errors import InputError
from bondloop.program.descriptor import has_rates
from bondloop.program.schedule import Loop
from bondloop.program.sympy_bridge import Symbols, to_sympy

if TYPE_CHECKING:
    from bondloop.program.expansion import Expansion
    from bondloop.program.expr import Expr
    from bondloop.program.system import System

__all__ = ["Equations", "equations", "latex_name"]

_LETTERS = {
    "momentum": "p", "displacement": "q", "effort": "e", "flow": "f", "mass": "m", "inertia": "J",
    "inductance": "L", "inertance": "I", "stiffness": "k", "compliance": "C", "capacitance": "C",
    "damping": "c", "resistance": "R", "conductance": "G", "modulus": "n", "ratio": "r",
}  # fmt: skip
"""Letters that stand for the last word of a path in LaTeX."""

SHORT = 4
"""Most operations in an entry of E that is written where it stands."""


@dataclass(frozen=True)
class Equations:
    """Equations in order; ``str()`` gives text, :meth:`latex` a LaTeX ``align`` environment.

    Attributes
    ----------
    rows : tuple of (str, str)
        Left and right side of each equation, as text.
    sides : tuple of (str, sympy.Expr)
        The same with the right sides as SymPy expressions.
    notes : tuple of str
        Remarks on causality.
    """

    rows: tuple[tuple[str, str], ...]
    sides: tuple[tuple[str, Any], ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        width = max((len(left) for left, _ in self.rows), default=0)
        lines = [f"{left:<{width}} = {right}" for left, right in self.rows]
        return "\n".join([*lines, *(f"# {note}" for note in self.notes)])

    def latex(self) -> str:
        """Return a LaTeX ``align*`` environment."""
        lines = []
        for left, right in self.sides:
            names = {s: latex_name(s.name) for s in getattr(right, "free_symbols", ())}
            lines.append(f"  {latex_name(left)} &= {_latex(right, names)}")
        body = " \\\\\n".join(lines)
        return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"


def latex_name(path: str) -> str:
    r"""LaTeX of a path name: a letter for the quantity, the rest as subscript.

    >>> latex_name("m1.I.mass")
    'm_{\\mathrm{m1.I}}'
    >>> latex_name("d/dt m1.I.momentum")
    '\\dot{p}_{\\mathrm{m1.I}}'
    """
    if path.startswith("d/dt "):
        inner = latex_name(path[5:])
        head, brace, rest = inner.partition("_{")
        return f"\\dot{{{head}}}{brace}{rest}"
    match = re.fullmatch(r"d\((.+)\)/d\((.+)\)", path)
    if match:
        return f"\\frac{{\\partial {latex_name(match[1])}}}{{\\partial {latex_name(match[2])}}}"
    owner, _, last = path.rpartition(".")
    if last in _LETTERS and owner:
        return f"{_LETTERS[last]}_{{\\mathrm{{{_escape(owner)}}}}}"
    if len(last) == 1 and owner:
        return f"{last}_{{\\mathrm{{{_escape(owner)}}}}}"
    if re.fullmatch(r"[A-Za-z]\d*", path):
        return path if len(path) == 1 else f"{path[0]}_{{{path[1:]}}}"
    return f"\\mathrm{{{_escape(path)}}}"


def _escape(text: str) -> str:
    return text.replace("_", "\\_")


def equations(system: System, form: str) -> Equations:
    """Return a system's equations in state, descriptor or causal form."""
    if form == "causal":
        return _causal(system)
    if form == "state":
        return _state(system)
    if form == "descriptor":
        return _descriptor(system)
    raise InputError(f"unknown form {form!r} of equations; expected 'state', 'descriptor' or 'causal'")


def _latex(expression: Any, names: dict[Any, str]) -> str:
    import sympy as sp

    return str(sp.latex(expression, symbol_names=names))


def _state(system: System) -> Equations:
    expansion = system.symbolic.expansion
    if any(has_rates(system, loop) for loop in expansion.kept):
        return _descriptor(system)
    rights = _expanded(system, expansion, [*system.rate_exprs, *system.output_exprs.values()])
    return _table(system, [*(f"d/dt {name}" for name in system.states), *system.outputs], rights, expansion)


def _descriptor(system: System) -> Equations:
    """E(x) dx/dt = f(x, u): the rates are not solved for; long entries of E get a line of their own."""
    import sympy as sp

    form = system.symbolic.descriptor
    rates = [sp.Symbol(f"d/dt {name}") for name in system.states]
    lefts: list[Any] = []
    entries: dict[Any, Any] = {}
    E = form.E
    for i, rate in enumerate(rates):
        row = {j: sp.factor_terms(E[i, j]) for j in range(E.shape[1]) if E[i, j] != 0}
        for j, entry in row.items():
            if sp.count_ops(entry) > SHORT:
                row[j] = sp.Symbol(f"E[{i},{j}]")
                entries[row[j]] = entry
        lefts.append(rate.name if row == {i: 1} else sp.Add(*(e * rates[j] for j, e in row.items())))
    outputs = _expanded(system, form.expansion, list(system.output_exprs.values()))
    lefts += [*system.outputs, *(symbol.name for symbol in entries)]
    rights = [*(sp.factor_terms(e) for e in form.f), *outputs, *entries.values()]
    return _table(system, lefts, rights, form.expansion)


def _expanded(system: System, expansion: Expansion, goals: list[Expr]) -> list[Any]:
    """Right sides; of a linear system as sums of coefficients times states, inputs and unknowns."""
    import sympy as sp

    if not system.is_linear:
        return [expansion.expand(e) for e in goals]
    columns = [*system.state_vars, *system.input_vars, *system.input_rates.values(), *system.dots.values()]
    columns += [t for t in expansion.unknowns if t not in columns]
    return [
        sp.Add(*(
            (sp.cancel(slope) if expansion.solved else slope) * expansion.symbol(v)
            for v, slope in row.items()
        ))
        for row in expansion.rows(goals, columns)
    ]


def _table(system: System, lefts: list[Any], rights: list[Any], expansion: Expansion) -> Equations:
    """Put the equations of the unknowns that stay below the others."""
    tears = {t for loop in expansion.kept for t in loop.tears}
    unknowns = expansion.unknowns
    for v, right in zip(unknowns, _expanded(system, expansion, list(unknowns.values())), strict=True):
        lefts.append("0" if v in tears else v.name)
        rights.append(right - expansion.symbol(v) if v in tears else right)
    return Equations(
        tuple((str(a), str(b)) for a, b in zip(lefts, rights, strict=True)),
        tuple(zip(lefts, rights, strict=True)),
        tuple(system.notes),
    )


def _causal(system: System) -> Equations:
    symbol = Symbols()
    rows: list[tuple[str, Any]] = []
    for statement in system.statements:
        if isinstance(statement, Loop):
            rows += [(a.target.name, a.expr) for a in statement.body]
            rows += [(t.name, d) for t, d in zip(statement.tears, statement.definitions, strict=True)]
        else:
            rows.append((statement.target.name, statement.expr))
    rows += [(f"d/dt {n}", e) for n, e in zip(system.states, system.rate_exprs, strict=True)]
    rows += [(n, e) for n, e in system.output_exprs.items() if str(e) != n]
    return Equations(
        tuple((left, str(expr)) for left, expr in rows),
        tuple((left, to_sympy(expr, symbol)) for left, expr in rows),
        tuple(system.notes),
    )
