"""The symbolic reading of a program, its readable equations, and notes on its causality.

Jacobians are accumulated assignment by assignment as sparse rows; large expressions are not formed and then
differentiated, and nothing is simplified unless asked for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bondloop.display import notebook, preformatted
from bondloop.engine.analysis.linearisation import zero_dynamics
from bondloop.engine.ir import Assign, Const, MatrixRow, Op, SolvedMatrix, Var, gathered, loops, named_index
from bondloop.engine.passes import (
    Descriptor,
    Expansion,
    Symbols,
    cancelled,
    exact,
    folded,
    has_rates,
    moves,
    plain_name,
    readable,
    shown,
    solve_fraction,
    to_sympy,
)
from bondloop.errors import BondloopError, InputError, SolveError

if TYPE_CHECKING:
    from bondloop.engine.ir import Expr, Loop, SystemData


class Symbolic:
    """SymPy expressions of a system's rates and outputs, and their Jacobians."""

    def __init__(self, system: SystemData) -> None:
        self.system = system
        self.symbol = Symbols()
        self._jacobians: dict[tuple[str, str], Any] = {}

    @cached_property
    def expansion(self) -> Expansion:
        """The program written out; rates whose matrix E moves with the states stay as unknowns."""
        system = self.system
        return Expansion(
            system.statements, self.symbol, keeps=lambda loop: has_rates(system, loop) and moves(system, loop)
        )

    @cached_property
    def descriptor(self) -> Descriptor:
        """The form E(x) dx/dt = f(x, u), in which rates are not solved for."""
        return Descriptor(self.system, self.symbol)

    @property
    def rates(self) -> list[Any]:
        """Rates of the states."""
        return [self.expansion.expand(e) for e in self.system.rate_exprs]

    @property
    def outputs(self) -> list[Any]:
        """Outputs."""
        return [self.expansion.expand(e) for e in self.system.output_exprs.values()]

    def jacobian(self, of: str, wrt: str) -> Any:
        """Jacobian matrix as SymPy.

        Parameters
        ----------
        of
            ``"rates"`` or ``"outputs"``.
        wrt
            ``"states"``, ``"inputs"`` or ``"parameters"``.
        """
        import sympy as sp

        self.system.refuse_switching("a matrix in letters")
        key = (of, wrt)
        if key not in self._jacobians:
            groups: dict[str, Sequence[Var]] = {
                "states": self.system.state_vars,
                "inputs": self.system.input_vars,
                "parameters": tuple(self.system.parameters_by_var),
            }
            goals: dict[str, Sequence[Expr]] = {
                "rates": self.system.rate_exprs,
                "outputs": tuple(self.system.output_exprs.values()),
            }
            if of not in goals or wrt not in groups:
                raise InputError(
                    f"jacobian of {of!r} with respect to {wrt!r}: expected one of {list(goals)} "
                    f"and {list(groups)}"
                )
            columns = groups[wrt]
            rows = self.expansion.rows(goals[of], columns)
            entries = {
                (i, j): row[v] for i, row in enumerate(rows) for j, v in enumerate(columns) if v in row
            }
            if loops(self.system.statements):
                entries = {place: cancelled(value) for place, value in entries.items()}
            self._jacobians[key] = sp.Matrix(sp.SparseMatrix(len(rows), len(columns), entries))
        return self._jacobians[key].copy()

    def transfer_function(self, output: str, input: str) -> Any:  # noqa: A002
        """One channel, cancelled; where it is improper, its polynomial part plus the strictly proper rest."""
        import sympy as sp

        self.system.refuse_switching("a transfer function")
        if not self.system.is_linear:
            raise SolveError(
                "a transfer function needs a linear system; use linearise(...).transfer_function(...)"
            )
        i = named_index("output", output, self.system.outputs)
        j = named_index("input", input, self.system.inputs)
        s = sp.Symbol("s")
        # One linear system for states and unknowns of loops together: solved in turn, loops would be divided
        # by their determinants, and the states by expressions of these.
        form = Descriptor(self.system, self.symbol, open_loops=True)
        pencil, right, weights, through = form.pencil(s, i, j)
        value = sp.sympify(through)
        if right:
            x, denominator = solve_fraction(pencil, right, form.unknowns)
            value += sp.Add(*(c * v for c, v in zip(weights, x, strict=True))) / denominator
        given, value = value, sp.cancel(exact(value))
        top, bottom = sp.fraction(sp.together(value))
        if sp.degree(top, s) <= sp.degree(bottom, s):
            return shown(value, like=given)
        quotient, rest = sp.div(top, bottom, s)
        whole = sp.collect(shown(sp.cancel(quotient), like=given), s)
        return whole + shown(sp.cancel(rest / bottom), like=given)


# Readable equations, as text and LaTeX.


_LETTERS = {
    "momentum": "p", "displacement": "q", "effort": "e", "flow": "f", "mass": "m", "inertia": "J",
    "inductance": "L", "inertance": "I", "stiffness": "k", "compliance": "C", "capacitance": "C",
    "damping": "c", "resistance": "R", "conductance": "G", "modulus": "n", "ratio": "r",
}  # fmt: skip
"""Letters that stand for the last word of a path."""

_SPECIAL = {
    "\\": r"\backslash ", "{": r"\{", "}": r"\}", "_": r"\_", "%": r"\%", "#": r"\#", "&": r"\&",
    "$": r"\$", "~": r"\sim ", "^": r"\wedge ", " ": r"\ ", ".": ",",
}  # fmt: skip
"""What stands for a character in upright text: a dot would end a sentence, so the parts of a path are
separated by commas, as indices are."""


def latex_name(path: str, spelt: bool = False) -> str:
    r"""LaTeX of a path name.

    Parameters
    ----------
    path
        The name.
    spelt
        Whether the quantity is spelt instead of shortened to a letter.

    >>> print(latex_name("m1.I.mass"), latex_name("m1.I.mass", spelt=True))
    m_{\mathrm{m1,I}} \mathrm{mass}_{\mathrm{m1,I}}
    >>> print(latex_name("d/dt m1.I.momentum"), latex_name("field.mass[0,1]"))
    \dot{p}_{\mathrm{m1,I}} m_{\mathrm{field},0,1}
    """
    if path.startswith("d/dt "):
        head, brace, rest = latex_name(path[5:], spelt).partition("_{")
        return f"\\dot{{{head}}}{brace}{rest}"
    match = re.fullmatch(r"d\((.+)\)/d\((.+)\)", path)
    if match:
        top, bottom = (latex_name(p, spelt) for p in match.groups())
        return f"\\frac{{\\partial {top}}}{{\\partial {bottom}}}"
    if not spelt:  # of a signal the value, of a field's flow the state: the thing itself
        path = path.removesuffix(".value").removesuffix(".state")
    owner, _, last = path.rpartition(".")
    word, bracket, index = last.partition("[")
    subscripts = [f"\\mathrm{{{_upright(owner)}}}"] if owner else []
    subscripts += [index.rstrip("]")] if bracket else []
    if word in _LETTERS and owner and not spelt:
        head = _LETTERS[word]
    elif re.fullmatch(r"[A-Za-z]", word) and not (spelt and owner):
        head = word
    elif re.fullmatch(r"[A-Za-z]\d+", path):
        head, subscripts = word[0], [word[1:]]
    elif not owner:  # a name without an owner is all there is
        return _plain(path)
    else:
        head = f"\\mathrm{{{_upright(word)}}}"
    return f"{head}_{{{','.join(subscripts)}}}" if subscripts else head


def latex_names(paths: Iterable[str]) -> dict[str, str]:
    r"""LaTeX of several path names, all different: where two would look alike, both are spelt.

    >>> latex_names(["spring.stiffness", "spring.k", "F"])["spring.stiffness"]
    '\\mathrm{stiffness}_{\\mathrm{spring}}'
    """
    names = {path: latex_name(path) for path in paths}
    for spell in (_spelt, _plain):
        often = Counter(names.values())
        names = {path: spell(path) if often[name] > 1 else name for path, name in names.items()}
    # What still looks alike differs only in characters that are written alike: primes tell them apart.
    seen: Counter[str] = Counter()
    for path, name in names.items():
        names[path] = name + "'" * seen[name]
        seen[name] += 1
    return names


def _spelt(path: str) -> str:
    return latex_name(path, spelt=True)


def _plain(path: str) -> str:
    return f"\\mathrm{{{_upright(path)}}}"


def _upright(text: str) -> str:
    """Return text as it stands within upright letters."""
    return r"\to ".join("".join(_SPECIAL.get(c, c) for c in part) for part in text.split(">>"))


Left = str | tuple[tuple[Any, str], ...]
"""The left side of an equation: a name, or coefficients with the names that they multiply."""


@dataclass(frozen=True)
class Equations:
    """Equations in order; ``str()`` gives text, :meth:`latex` a LaTeX ``align`` environment.

    Attributes
    ----------
    rows : tuple of (str, str)
        Left and right side of each equation, as text.
    sides : tuple of (str or tuple, sympy.Expr)
        The same with the right sides as SymPy expressions; a left side is a name, or a sum of SymPy
        coefficients times names.
    notes : tuple of str
        Remarks on causality.
    """

    rows: tuple[tuple[str, str], ...]
    sides: tuple[tuple[Left, Any], ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        width = max((len(left) for left, _ in self.rows), default=0)
        lines = [f"{left:<{width}} = {right}" for left, right in self.rows]
        return "\n".join([*lines, *(f"# {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return f"<Equations: {len(self.rows)} rows>"

    @property
    def _is_short(self) -> bool:
        """Whether a notebook typesets them; longer ones stay text."""
        return len(str(self)) <= 8_000

    def _repr_latex_(self) -> str | None:
        return self.latex() if self._is_short else None

    def _repr_html_(self) -> str | None:
        return None if self._is_short else notebook("Equations", [preformatted(str(self))])

    def latex(self) -> str:
        """Return a LaTeX ``align*`` environment."""
        import sympy as sp

        terms = [term for left, _ in self.sides if not isinstance(left, str) for term in left]
        symbols = {
            s
            for e in (*(right for _, right in self.sides), *(factor for factor, _ in terms))
            for s in getattr(e, "free_symbols", ())
        }
        paths = {s.name for s in symbols} | {name for _, name in terms}
        paths |= {left for left, _ in self.sides if isinstance(left, str)}
        names = latex_names(sorted(paths - {"0"})) | {"0": "0"}
        by_symbol = {s: names[s.name] for s in symbols}

        def text(side: Any) -> str:
            return str(sp.latex(side, symbol_names=by_symbol))

        def left_text(left: Left) -> str:
            return _sum(left, text, " ", (r"\left(", r"\right)"), names.__getitem__)

        lines = [f"  {left_text(left)} &= {text(right)}" for left, right in self.sides]
        body = " \\\\\n".join(lines)
        return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"


def _sum(
    left: Left,
    text: Callable[[Any], str],
    times: str = "*",
    brackets: tuple[str, str] = ("(", ")"),
    name: Callable[[str], str] = str,
) -> str:
    """Write a left side: coefficients before the names that they multiply."""
    if isinstance(left, str):
        return name(left)
    total = ""
    for factor, variable in left:
        minus = bool(factor.could_extract_minus_sign() and not factor.is_Add)
        size = -factor if minus else factor
        shown = f"{brackets[0]}{text(size)}{brackets[1]}" if size.is_Add else text(size)
        term = name(variable) if size == 1 else f"{shown}{times}{name(variable)}"
        total += (" - " if minus else " + ") + term
    return total.removeprefix(" + ") if total.startswith(" + ") else "-" + total.removeprefix(" - ")


def equations(system: SystemData, form: str = "state", symbolic: Symbolic | None = None) -> Equations:
    """Return a system's equations.

    Parameters
    ----------
    system
        The system.
    form
        ``"state"``, ``"descriptor"`` or ``"causal"``; see `System.equations`.
    symbolic
        Its symbolic reading, where there is one already.
    """
    if form == "causal" or (form == "state" and _endless(system)):
        return _causal(system)
    if form == "state":
        return _state(symbolic or Symbolic(system))
    if form == "descriptor":
        return _descriptor(symbolic or Symbolic(system))
    raise InputError(f"unknown form {form!r} of equations; expected 'state', 'descriptor' or 'causal'")


def _endless(system: SystemData, longest: int = 50_000) -> bool:
    """Whether an equation that is not linear would have too many operations: laws use parts many times."""
    if system.is_linear:
        return False
    lengths: dict[Var, float] = {}

    def length(e: Expr) -> float:
        if isinstance(e, Op):
            return 1.0 + sum(map(length, e.args))
        return lengths.get(e, 0.0) if isinstance(e, Var) else 0.0

    for statement in system.statements:
        if isinstance(statement, Assign):
            lengths[statement.target] = length(statement.expr)
    return max(map(length, [*system.rate_exprs, *system.output_exprs.values()]), default=0.0) > longest


def _state(symbolic: Symbolic) -> Equations:
    system, expansion = symbolic.system, symbolic.expansion
    if any(has_rates(system, loop) for loop in expansion.unsolved_loops):
        return _descriptor(symbolic)
    lefts: list[Left] = [*(f"d/dt {name}" for name in system.states), *system.outputs]
    rights = _expanded(system, expansion, [*system.rate_exprs, *system.output_exprs.values()])
    # A rate that a product of matrices gives has its line there.
    given = {f"d/dt {name}" for name in system.states}
    lines = [(a, b) for a, b in zip(lefts, rights, strict=True) if a not in given or a != str(b)]
    return _table(system, [a for a, _ in lines], [b for _, b in lines], expansion)


def _descriptor(symbolic: Symbolic, short: int = 8) -> Equations:
    """E(x) dx/dt = f(x, u): the rates are not solved for.

    An entry of E of more than ``short`` operations gets a line of its own.
    """
    import sympy as sp

    system, form = symbolic.system, symbolic.descriptor
    rates = [f"d/dt {name}" for name in system.states]
    lefts: list[Left] = []
    entries: dict[str, Any] = {}
    E = form.E
    for i, rate in enumerate(rates):
        row = {j: sp.factor_terms(E[i, j]) for j in range(E.shape[1]) if E[i, j] != 0}
        for j, entry in row.items():
            if sp.count_ops(entry) > short:
                entries[f"E[{i},{j}]"] = entry
                row[j] = sp.Symbol(f"E[{i},{j}]")
        lefts.append(rate if row == {i: 1} else tuple((e, rates[j]) for j, e in row.items()))
    outputs = _expanded(system, form.expansion, list(system.output_exprs.values()))
    lefts += [*system.outputs, *entries]
    rights = [*(sp.factor_terms(e) for e in form.f), *outputs, *entries.values()]
    return _table(system, lefts, rights, form.expansion)


def _expanded(system: SystemData, expansion: Expansion, goals: list[Expr]) -> list[Any]:
    """Right sides; of a linear system as sums of coefficients times states, inputs and unknowns."""
    import sympy as sp

    if not system.is_linear:
        return [readable(expansion.expand(e)) for e in goals]
    columns = [*system.state_vars, *system.input_vars, *system.input_rates.values()]
    # A rate that has a statement of its own, as that of a field's port has, is written out.
    own = {v for statement in expansion.statements for v in statement.writes}
    columns += [rate for rate in system.dots.values() if rate not in own]
    columns += [t for t in expansion.unknowns if t not in columns]
    return [
        sp.Add(
            *(
                (cancelled(slope) if expansion.solved else slope) * expansion.symbol(v)
                for v, slope in row.items()
            )
        )
        for row in expansion.rows(goals, columns)
    ]


def _table(system: SystemData, lefts: list[Left], rights: list[Any], expansion: Expansion) -> Equations:
    """Put the equations of the unknowns that stay below the others."""
    tears = {t for loop in expansion.unsolved_loops for t in loop.tears}
    for left, right in _matrix_lines(expansion.unknowns):
        lefts.append(left)
        rights.append(right)
    unknowns = {v: e for v, e in expansion.unknowns.items() if not isinstance(e, MatrixRow)}
    for v, right in zip(unknowns, _expanded(system, expansion, list(unknowns.values())), strict=True):
        lefts.append("0" if v in tears else v.name)
        rights.append(right - expansion.symbol(v) if v in tears else right)
    return Equations(
        tuple((_sum(a, str), str(b)) for a, b in zip(lefts, rights, strict=True)),
        tuple(zip(lefts, rights, strict=True)),
        tuple(notes(system)),
    )


def _matrix_lines(unknowns: Mapping[Var, Expr]) -> list[tuple[Left, Any]]:
    """One line for each product of a matrix; what was solved for stands before it, with the matrix."""
    import sympy as sp

    def symbol(name: str) -> Any:
        return sp.Symbol(name, commutative=False)

    lines: list[tuple[Left, Any]] = []
    for step in gathered(Assign(v, e) for v, e in unknowns.items()):
        if isinstance(step, tuple):
            rows, product = step
            target = vector_name([r.target.name for r in rows])
            args = [str(a) for a in product.args]
            matrix = product.matrix
            if isinstance(matrix, SolvedMatrix):
                n = matrix.left.shape[0]
                rest = symbol(matrix.name) * symbol(vector_name(args[n:])) if args[n:] else 0
                lines.append((((symbol(matrix.name), target),), symbol(vector_name(args[:n])) - rest))
            else:
                lines.append((target, symbol(matrix.name) * symbol(vector_name(args))))
    return lines


def vector_name(names: Sequence[str]) -> str:
    """Return one name for several that differ in a number only, else the first and the last of them.

    >>> vector_name(["beam[0].flow", "beam[1].flow"]), vector_name(["a", "b", "c"])
    ('beam[:].flow', '(a ... c)')
    """
    plain = {re.sub(r"\[\d+\]", "[:]", name) for name in names}
    return plain.pop() if len(plain) == 1 else f"({names[0]} ... {names[-1]})"


def _causal(system: SystemData) -> Equations:
    symbol = Symbols()
    rows: list[tuple[str, Any]] = []
    lines: dict[int, tuple[Left, Any]] = {}
    for statement in gathered(system.statements):
        if isinstance(statement, tuple):
            (lines[len(rows)],) = _matrix_lines({a.target: a.expr for a in statement[0]})
            rows.append(("", statement[1]))
        else:
            rows += [(v.name, e) for v, e in statement.defines]
    rates = zip(system.states, system.rate_exprs, strict=True)
    rows += [(f"d/dt {n}", e) for n, e in rates if str(e) != f"d/dt {n}"]
    rows += [(n, e) for n, e in system.output_exprs.items() if str(e) != n]
    return Equations(
        tuple(
            (_sum(lines[i][0], str), str(lines[i][1])) if i in lines else (left, str(expr))
            for i, (left, expr) in enumerate(rows)
        ),
        tuple(
            lines[i] if i in lines else (left, to_sympy(expr, symbol)) for i, (left, expr) in enumerate(rows)
        ),
        tuple(notes(system)),
    )


# Notes of a system: what its causality implies, and its algebraic loops.


def notes(system: SystemData) -> list[str]:
    """Return what the causality implies: dependent storages, algebraic loops, input rates; each by name.

    Parameters
    ----------
    system
        The system; of an inverse the zero dynamics are judged where the model starts.
    """
    result = [*system.remarks, *_dependence(system)]
    result += [loop_note(system, loop) for loop in loops(system.statements)]
    result += [
        f"the rate of input {u.name} is needed: a source drives a storage in derivative causality"
        for u in system.input_rates
    ]
    if system.memories:
        names = ", ".join(v.name for v in system.memories)
        result.append(f"remembered within a step, and renewed at the beginning of each: {names}")
    if system.inversion is not None:
        try:
            result.append(str(zero_dynamics(system)))
        except BondloopError as error:
            result.append(f"zero dynamics of {', '.join(system.states)}: not judged ({error})")
    return result


def _dependence(system: SystemData) -> list[str]:
    """Return the note of derivative causality, where there is any."""
    if not system.dependent:
        return []
    storages = ", ".join(system.dependent)
    if system.inversion is not None:
        return [f"derivative causality: {storages} follow the imposed motions"]
    on = ", ".join(v.name for v in system.dots) or "inputs only"
    return [f"derivative causality: {storages} follow the other storages (their rates enter through {on})"]


def loop_note(system: SystemData, loop: Loop, most: int = 6) -> str:
    """Return what is to know of a loop: what it solves for and how, and in which modes there is one."""
    kind = "linear, solved directly"
    if not loop.linear:
        kind = f"nonlinear, at most {loop.iterations} Newton steps"
    around = ", ".join(plain_name(a.target) for a in loop.body[:most])
    around += ", ..." if len(loop.body) > most else ""
    through = f"; through {around}" if around else ""
    names = ", ".join(map(plain_name, loop.tears))
    return f"algebraic loop{_modes(system, loop)}: {names} ({kind}{through})"


def _modes(system: SystemData, loop: Loop, most: int = 2) -> str:
    """Return in words the modes in which a loop exists; nothing where it does in all."""
    choice = system.definitions.get(loop.tears[0])
    if not (isinstance(choice, Op) and choice.name == "select"):
        return ""
    for part in system.switching:
        active = []
        for bits in part.modes:
            modes = {rule.mode: Const(float(bit)) for rule, bit in zip(part.rules, bits, strict=True)}
            holds = folded(choice.args[0], modes)
            if not isinstance(holds, Const):
                break  # of other elements
            if holds.value:
                active.append(part.in_words(bits))
        else:
            if len(active) == len(part.modes):
                return ""
            more = f", and in {len(active) - most} more modes" if len(active) > most else ""
            return f" with {'; or '.join(active[:most])}{more}"
    return ""
