"""Equations of elements whose ports are described by relations: solved for what the causality asks for.

Which equations of an element have to be solved together, and for what each of them is named.

A causality asks for one unknown of each port. Some of them follow one after another: each by one equation,
so there is nothing to choose, and where that equation does not say what its unknown is, nothing does. Others
stand in each other's equations. Solved one after another these would be divided by single slopes, and a slope
may be zero (two coils that do not couple, a pendulum that hangs straight) though all of them together leave
no doubt. So they are solved together, with the whole matrix of slopes and the pivots of the moment.

Whether equations that have to be turned round say what their unknowns are: no jumps, no turning back.

A law such as effort = flow**2 has two flows for one effort. Newton's method would find one of them, nobody
knows which. What a port stores is another matter: it has a start and changes continuously, so of several
branches it is on the one where it starts. Slopes are looked at where the element may be; a law counts as
turning back only if it does so whatever the variables that are not sought are, so nothing is refused for
values that never occur.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.bondgraph.elements.laws import inverse_of
from bondloop.bondgraph.elements.multiport import BENT, EXPLICIT, LINEAR, Relations, Solution
from bondloop.bondgraph.passes.equations import Draft, Equations, Variables
from bondloop.bondgraph.passes.measures import expect_unit_of_domain, of_parameter
from bondloop.bondgraph.passes.signals import source_value
from bondloop.bondgraph.tolerances import FOLD_POINTS, FOLD_SIDE, NO_SLOPE_COST, OTHER_SIGNALS, RANK_TRIALS
from bondloop.engine.ir import (
    Const,
    Expr,
    Op,
    Quantity,
    SingularError,
    Var,
    evaluate,
    evaluator,
    solve_small,
    substitute,
    variables,
)
from bondloop.engine.laws import named_parts
from bondloop.engine.passes import from_sympy
from bondloop.errors import CausalityError, ModelError, SolveError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bondloop.bondgraph.elements.multiport import Multiport, Relations, Solution


def relation_ports(v: Variables, part: Multiport) -> Equations:
    """Return the equations of all ports of one element."""
    ports = Ports(v, part)
    ports.write()
    return ports.draft.equations()


class Ports:
    """One element in one causality."""

    def __init__(self, v: Variables, part: Multiport) -> None:
        assert part.relations is not None
        self.draft, self.v, self.part, self.path = Draft(v), v, part, v.flat.paths[part]
        self.relations: Relations = part.relations
        first = v.flat.first[part]
        self.nodes = [first + i for i in range(len(self.relations.ports))]
        self.bonds = [v.flat.incident[node][0] for node in self.nodes]
        gives = [v.gives_effort(bond, node) for bond, node in zip(self.bonds, self.nodes, strict=True)]
        self.solution = self._solution(gives)
        self.table = self._variables()
        self._expressions: dict[Any, Expr] | None = None

    def _solution(self, gives: list[bool]) -> Solution:
        solution = self.relations.solution(gives)
        if solution is None:
            wanted = ", ".join(u.name for u in self.relations.unknowns(gives))
            raise CausalityError(
                f"the equations of {self.path} ({self.part.symbol}) cannot be solved for {wanted}, which it "
                "has to give here; change what it is bonded to, or write equations that hold these variables"
            )
        return solution

    def _variables(self) -> dict[Any, Expr]:
        """Return what stands for each symbol of the relations."""
        v, draft, part, relations = self.v, self.draft, self.part, self.relations
        table: dict[Any, Expr] = {}
        for port, stored, node, bond in zip(
            relations.ports, relations.stored, self.nodes, self.bonds, strict=True
        ):
            table[port.effort], table[port.flow] = v.effort[bond], v.sided(bond, node)
            for symbol in stored:
                word = "displacement" if symbol == port.displacement else "momentum"
                table[symbol] = v.content(f"{v.flat.path[node]}.{word}")
        for state in relations.states:
            unit = part.units.get(state.name)
            quantity = None if unit is None else Quantity(state.name, unit)
            table[state.value] = Var(f"{self.path}.{state.name}", quantity=quantity)
        moved = {v.flat.domain[bond] for bond in self.bonds}
        domain = moved.pop() if len(moved) == 1 else None
        said = all(v.flat.is_domain_known[bond] for bond in self.bonds)
        for name, symbol in part.parameter_symbols.items():
            within = part.ranges.get(name)
            if said:
                expect_unit_of_domain(part, name, within, domain, self.path)
            quantity = of_parameter(name, None, within, moved=domain)
            table[symbol] = draft.parameter(f"{self.path}.{name}", part.parameters[name], within, quantity)
        sources = v.flat.signals.get(part, [])
        if len(sources) != len(part.input_symbols):
            raise ModelError(
                f"{self.path} ({part.symbol}) takes {len(part.input_symbols)} signals "
                f"({', '.join(type(part).inputs)}); found {len(sources)}"
            )
        for symbol, signal in zip(part.input_symbols, sources, strict=True):
            table[symbol] = source_value(draft, *signal)
        return table

    def name(self, symbol: Any) -> str:
        """Return the path of a port's variable."""
        node = next(n for p, n in zip(self.relations.ports, self.nodes, strict=True) if symbol in tuple(p))
        return f"{self.v.flat.path[node]}.{symbol.name.rpartition('.')[2]}"

    def read(self, formula: Any) -> Expr:
        """Return a formula of the relations as an expression of the program."""

        def variable(symbol: Any) -> Expr:
            known = self.table.get(symbol)
            return self.draft.symbol(symbol) if known is None else known

        if formula in self.part.written:
            return self._written()[formula]
        return from_sympy(formula, variable, self.path)

    def _written(self) -> dict[Any, Expr]:
        """Return the formulas that the element wrote as expressions; what they share is computed once."""
        if self._expressions is None:
            part = self.part
            symbols = part.written_symbols.items()  # a displacement that no formula reads is not kept
            table = {v: self.table[symbol] for v, symbol in symbols if symbol in self.table}
            shared, values = named_parts(list(part.written.values()), f"{self.path}.part")
            for step in shared:
                self.draft.define(step.target, substitute(step.expr, table))
            self._expressions = dict(zip(part.written, (substitute(v, table) for v in values), strict=True))
        return self._expressions

    # ---------------------------------------------------------------- assignments

    def write(self) -> None:
        """Write the assignments of the element's unknowns, block by block."""
        draft, relations = self.draft, self.relations
        for block in blocks(relations, self.solution):
            if len(block) == 1:
                self._give(block[0], self.solution.equations[block[0]])
            else:
                self._give_together(block)
        for i, (port, stored) in enumerate(zip(relations.ports, relations.stored, strict=True)):
            for symbol in stored:
                var = self.table[symbol]
                assert isinstance(var, Var)
                rate = port.flow if symbol == port.displacement else port.effort
                if self.solution.dependent.get(i) == symbol:
                    change = Var(f"d/dt {var.name}")
                    draft.rate_goals.append((var, change))
                    self._define(rate, change)
                else:
                    self._state(symbol, self.table[rate])
        for state in relations.states:
            if state.name in relations.memories:
                self._state(state.value, Const(0.0))
                memory = self.table[state.value]
                assert isinstance(memory, Var)
                draft.memories.append((memory, self.read(relations.memories[state.name])))
            else:
                self._state(state.value, self.read(relations.rates[state.name]))
        for name, formula in relations.quantities.items():
            draft.quantities.append((f"{self.path}.{name}", self.read(formula)))

    def _state(self, symbol: Any, rate: Expr) -> None:
        var = self.table[symbol]
        assert isinstance(var, Var)
        self.draft.states.append((var, rate))
        start = self.part.starts.get(symbol, 0.0)
        if start:
            self.draft.initial.append((var, start))

    def _define(self, symbol: Any, value: Expr) -> None:
        """Let a variable be an expression; the flow of an arrow drawn out of the element changes sign."""
        target = self.table[symbol]
        if isinstance(target, Op):
            assert target.name == "neg"
            target, value = target.args[0], -value
        self.draft.define(target, value)

    def _give(self, unknown: Any, equation: int) -> None:
        relations = self.relations
        way = relations.way(equation, unknown)
        left, right = relations.left[equation], relations.right[equation]
        self._mark_bent(left - right)
        start = self.part.starts.get(unknown, 0.0)
        formula = None
        if way == EXPLICIT:
            formula = right
        elif way == LINEAR:
            formula = relations.divided(equation, unknown)
        elif way == BENT:
            formula = self._inverse(left, right, unknown)
        if formula is None:
            check_single(self, [unknown], [equation])
            slope = self._number(relations.slope(equation, unknown))
            self._iterate(unknown, self.read(left) - self.read(right), slope, start)
            return
        self._refuse_start(unknown)
        self._define(unknown, self.read(formula))

    def _refuse_start(self, unknown: Any) -> None:
        if self.part.starts.get(unknown, 0.0):
            raise ModelError(
                f"{self.path}: {unknown.name} is in derivative causality: it follows from other storages, so "
                "it has no initial value of its own; set theirs instead"
            )

    def _inverse(self, left: Any, right: Any, unknown: Any) -> Any:
        """Return the closed inverse of an equation in which the unknown stands with parameters only."""
        without, with_it = (left - right).as_independent(unknown, as_Add=True)
        if (with_it.free_symbols - {unknown}) - set(self.part.parameter_symbols.values()):
            return None
        import sympy as sp

        values = {s: self.part.parameters[name] for name, s in self.part.parameter_symbols.items()}
        effect = sp.Dummy("y", real=True)
        formula = inverse_of(with_it, unknown, effect, values)
        return None if formula is None else formula.subs(effect, -without)

    def _give_together(self, unknowns: list[Any]) -> None:
        """Let several equations say together what several unknowns are.

        What an equation gives as it stands is left so: one is a pivot that cannot vanish. The others are
        unknowns of a loop, whose matrix holds every slope; which equation is named for which of them makes
        no difference to it, only to the sizes of what is added.
        """
        relations = self.relations
        rows = sorted(self.solution.equations[u] for u in unknowns)
        explicit = {}
        for equation in rows:
            self._mark_bent(relations.left[equation] - relations.right[equation])
            given = relations.left[equation]
            if given in unknowns and relations.way(equation, given) == EXPLICIT:
                explicit[given] = equation
        for unknown, equation in explicit.items():
            self._refuse_start(unknown)
            self._define(unknown, self.read(relations.right[equation]))
        sought = [u for u in unknowns if u not in explicit]
        left = [e for e in rows if e not in explicit.values()]
        check_rank(self, unknowns, rows)
        check_single(self, sought, left)
        slopes = [[self._number(relations.slope(e, u)) for u in sought] for e in left]
        for k, column in enumerate(largest_pairing(slopes) if left else ()):
            unknown, equation = sought[column], left[k]
            residual = self.read(relations.left[equation]) - self.read(relations.right[equation])
            self._iterate(unknown, residual, slopes[k][column], self.part.starts.get(unknown, 0.0))

    def plain(self, symbols: list[Any]) -> list[Var]:
        """Return the variables behind symbols, without the sign of an arrow drawn out of the element."""
        exprs = (self.table[s] for s in symbols)
        return [v for e in exprs for v in [e.args[0] if isinstance(e, Op) else e] if isinstance(v, Var)]

    def starts(self) -> dict[Var, float]:
        """Return where Newton's method begins, per variable."""
        return {self.plain([s])[0]: start for s, start in self.part.starts.items()}

    def _iterate(self, unknown: Any, residual: Expr, slope: float, start: float) -> None:
        """Let Newton's method find a variable, from where it starts: it must make the residual zero.

        What is sought is the distance from the start, since a loop is begun at zero. The residual is divided
        by its slope, roughly, so that it is as large as the variable and nothing is lost when the two are
        added. The unknown has the name of its port, for the errors of the loop.
        """
        draft, target, name = self.draft, self.table[unknown], self.name(unknown)
        size = math.copysign(2.0 ** round(math.log2(abs(slope))), slope) if slope else 1.0
        own = target.args[0] if isinstance(target, Op) else target
        assert isinstance(own, Var)
        if start or own.name != name:
            own = Var(f"{name} from its start" if start else name)
            self._define(unknown, Const(start) + own)
        elif isinstance(target, Op):
            size = -size
        draft.define(own, own + residual / size)
        draft.bent.append(own)

    def _number(self, slope: Any) -> float:
        """Return the slope of an equation where the element starts; else at ones, else zero."""
        expr = self.read(slope)
        numbers = {v: value for v, value in self.draft.parameters if value is not None}
        for away in (0.0, 1.0):
            at = dict(numbers)
            for symbol in slope.free_symbols:
                var = self.table.get(symbol)
                if isinstance(var, Op):
                    var = var.args[0]
                if isinstance(var, Var) and var not in at:
                    at[var] = self.part.starts.get(symbol, 0.0) + away
            try:
                size = evaluate(expr, at)
            except (ArithmeticError, ValueError, KeyError):
                continue
            if math.isfinite(size) and size:
                return size
        return 0.0

    def _mark_bent(self, residual: Any) -> None:
        """Note which efforts and flows are best guessed in a loop: those that a bent equation takes."""
        import sympy as sp

        for port in self.relations.ports:
            for symbol in (port.effort, port.flow):
                if symbol in self.solution.equations or symbol not in residual.free_symbols:
                    continue
                if symbol in sp.diff(residual, symbol).free_symbols:
                    var = self.table[symbol]
                    var = var.args[0] if isinstance(var, Op) else var
                    if isinstance(var, Var):
                        self.draft.bent.append(var)


def blocks(relations: Relations, solution: Solution) -> list[list[Any]]:
    """Return the unknowns in groups that have to be found together (strongly connected components).

    Whichever equation is matched with which unknown, the groups are the same (Dulmage and Mendelsohn 1958).
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    unknowns = [s for port in relations.ports for s in port if s in solution.equations]
    if len(unknowns) == 1:
        return [unknowns]
    needs = [
        [v == u or relations.way(solution.equations[u], v) is not None for v in unknowns] for u in unknowns
    ]
    count, label = connected_components(csr_array(np.array(needs)), connection="strong")
    return [[u for u, own in zip(unknowns, label, strict=True) if own == k] for k in range(count)]


def largest_pairing(slopes: Sequence[Sequence[float]]) -> list[int]:
    """Return a column for every row such that the product of the slopes is as large as it can be.

    It is the same in whatever units equations and unknowns are (Duff and Koster 2001).

    >>> largest_pairing([[1e-200, 3.0], [2.0, 1.0]])
    [1, 0]
    """
    from scipy.optimize import linear_sum_assignment

    cost: NDArray[np.float64] = np.array(
        [[-math.log2(abs(s)) if s and math.isfinite(s) else NO_SLOPE_COST for s in row] for row in slopes]
    )
    _, columns = linear_sum_assignment(cost)
    return [int(c) for c in columns]


def turns_back(
    slopes: Sequence[Sequence[Expr]],
    unknowns: Sequence[Var],
    parameters: Mapping[Var, float | None],
    starts: Mapping[Var, float],
) -> bool:
    """Whether the determinant of the slopes has either sign: then several unknowns fulfil the same equations.

    >>> f, c = Var("f"), Var("c")
    >>> turns_back([[2 * c * f]], [f], {c: 3.0}, {}), turns_back([[c + 3 * f**2]], [f], {c: 3.0}, {})
    (True, False)
    """
    rng = np.random.default_rng(0)
    names = dict.fromkeys(v for row in slopes for s in row for v in variables(s))
    if not set(names).intersection(unknowns):
        return False
    places = 10.0 ** rng.uniform(-4, 3, (FOLD_POINTS, len(unknowns))) * rng.choice(
        [-1.0, 1.0], (FOLD_POINTS, len(unknowns))
    )
    slopes_at, size = evaluator((), [list(names)], [s for row in slopes for s in row]), len(slopes)
    folds = 0
    for away in (0.0, *OTHER_SIGNALS):  # how far the variables that are not sought are from their starts
        at = {v: starts.get(v, 0.0) + away for v in names}
        at.update({v: 1.0 if number is None else number for v, number in parameters.items() if v in names})
        signs: list[float] = []
        for place in places.tolist():
            at.update((u, x) for u, x in zip(unknowns, place, strict=True) if u in names)
            try:
                matrix = np.array(slopes_at(list(at.values()))).reshape(size, size)
            except SolveError:
                continue
            if np.isfinite(matrix).all():
                signs.append(float(np.linalg.slogdet(matrix)[0]))
        if not any(signs):  # nothing can be said where all is zero
            continue
        if min(signs.count(1.0), signs.count(-1.0)) < FOLD_SIDE:
            return False
        folds += 1
    return folds > 0


def check_single(ports: Ports, unknowns: list[Any], rows: list[int]) -> None:
    """Refuse equations that jump, or that more than one value of their unknowns fulfils."""
    relations = ports.relations
    words = " and ".join(ports.name(u) for u in unknowns)
    advice = (
        f"change what it is bonded to, so that {words} {'is' if len(unknowns) == 1 else 'are'} imposed (by a "
        "storage or a resistor beside it), or write the law"
    )
    for equation in rows:
        jumping = [u for u in unknowns if relations.jumps(equation, u)]
        if jumping:
            why = "it jumps, so no value gives an effect within the jump"
            if all(relations.slope(equation, u) == 0 for u in jumping):
                why = "it is flat, so many values give the same effect"
            raise ModelError(
                f"the law of {ports.path} ({ports.part.symbol}) for {relations.left[equation].name} cannot "
                f"be inverted for {words}: {why}; {advice} without a jump: tanh(x / width) in "
                "place of sign(x), with some slope left"
            )
    if any(u in stored for u in unknowns for stored in relations.stored):
        return
    slopes = [[ports.read(relations.slope(e, u)) for u in unknowns] for e in rows]
    if turns_back(slopes, ports.plain(unknowns), dict(ports.draft.parameters), ports.starts()):
        raise ModelError(
            f"the law of {ports.path} ({ports.part.symbol}) for "
            f"{' and '.join(relations.left[e].name for e in rows)} has no single inverse for {words}: it "
            f"turns back on itself, so several values fulfil it; {advice} so that it only rises, such as "
            "x*Abs(x) in place of x**2"
        )


def check_rank(ports: Ports, unknowns: list[Any], rows: list[int]) -> None:
    """Refuse equations that say too little about their unknowns, whatever variables and parameters are."""
    rng, numbers = np.random.default_rng(0), dict(ports.draft.parameters)
    slopes = [[ports.read(ports.relations.slope(e, u)) for u in unknowns] for e in rows]
    names = dict.fromkeys(v for row in slopes for s in row for v in variables(s))
    for _ in range(RANK_TRIALS):
        at = {
            v: float(number * np.exp(rng.uniform(-0.3, 0.3)) if number else rng.uniform(0.2, 1.0))
            for v, number in ((v, numbers.get(v)) for v in names)
        }
        try:
            solve_small([[evaluate(s, at) for s in row] for row in slopes], [1.0] * len(rows))
        except SingularError:
            continue
        except (ArithmeticError, ValueError):
            return
        return
    words = ", ".join(ports.name(u) for u in unknowns)
    raise ModelError(
        f"{ports.path} ({ports.part.symbol}) cannot give {words}: its equations for them depend on each "
        "other (the matrix of their slopes is singular, whatever the parameters are), so many values fulfil "
        "them; change what it is bonded to, so that one of them is imposed, or write equations that tell "
        "them apart"
    )
