"""Which mode is in force at a sample: the passes of a system that switches, as statements of a tick.

A pass goes from the contents before all changes (the base) into the modes that are wanted, looks at efforts
and flows there, and applies every rule, until none wants a change. At first all elements that want to may
change; then only the first one, which finds the mode where each combination has a causality (Murty 1974,
least index). Where some have none that may go in circles: then all combinations are tried, one by one. A
passive linear model is a linear complementarity problem, and where that has a solution it has one with a
complementary basis (den Hertog, Roos and Terlaky 1993): a combination that has a causality, and fits. Where
none does, the status of the tick says so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.engine.ir import (
    IMPULSE_SLACK,
    SLACK,
    Assign,
    Blow,
    Const,
    Expr,
    Op,
    Repeat,
    RuleInputs,
    Statement,
    Step,
    Tick,
    Update,
    Var,
    components,
    every,
    function,
    instantiate,
    is_trivial,
    revised,
    schedule,
    select,
    substitute,
    variables,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bondloop.engine.ir import Rule, Statement, SystemData


def switching_rules(system: SystemData) -> list[Rule]:
    """Return the rules of all elements that switch."""
    return [rule for part in system.switching for rule in part.rules]


def jump_goals(system: SystemData) -> list[Expr]:
    """Return the contents after a change, then efforts' and flows' impulses, rule by rule."""
    rules = switching_rules(system)
    after = [e for part in system.switching for e in part.after.values()]
    return [*after, *(r.effort_impulse for r in rules), *(r.flow_impulse for r in rules)]


def port_goals(system: SystemData) -> list[Expr]:
    """Return efforts, flows, and what else the rules read."""
    rules = switching_rules(system)
    return [*(r.effort for r in rules), *(r.flow for r in rules), *(t for r in rules for t in r.terms)]


def scheduled(
    system: SystemData, goals: Sequence[Expr], definitions: Mapping[Var, Expr] | None = None
) -> list[Statement]:
    """Order what goals of the switching need; the definitions are the system's with those of the jumps."""
    if definitions is None:
        definitions = all_definitions(system)
    tears = [*(t for part in system.switching for t in part.tears), *system.tears]
    return schedule(definitions, [v for g in goals for v in variables(g)], tears, system.iterations)


def all_definitions(system: SystemData) -> dict[Var, Expr]:
    """Return the assignments of a system, with those of its jumps."""
    jumps = {v: e for part in system.switching for v, e in part.definitions.items()}
    return {**system.definitions, **jumps}


def with_sizes(statements: Sequence[Statement], goals: Sequence[Expr]) -> tuple[list[Statement], list[Expr]]:
    """Return a program that computes sizes beside values, and the sizes of some expressions of it.

    The size of a variable that is not computed is its magnitude, that of a sum the sum of the sizes.

    >>> a, b, c = Var("a"), Var("b"), Var("c")
    >>> _, (size,) = with_sizes([Assign(c, a - b)], [2 * c])
    >>> print(size)
    2*c.size
    """
    table: dict[Var, Expr] = {}

    def size(e: Expr) -> Expr:
        if isinstance(e, Var):
            return table[e] if e in table else function("fabs", e)
        if isinstance(e, Const):
            return Const(abs(e.value))
        assert isinstance(e, Op)
        if e.name == "add":
            return Op("add", tuple(size(a) for a in e.args))
        if e.name == "neg":
            return size(e.args[0])
        if e.name == "mul":
            return size(e.args[0]) * size(e.args[1])
        if e.name == "div":
            return size(e.args[0]) / function("fabs", e.args[1])
        if e.name == "select":
            return select(e.args[0], size(e.args[1]), size(e.args[2]))
        return function("fabs", e)

    result: list[Statement] = []

    def sized(target: Var, expr: Expr) -> None:
        own = Var(f"{target.name}.size")
        result.append(Assign(own, size(expr)))
        table[target] = own

    for statement in statements:
        result.append(statement)
        for target, expr in statement.defines:  # what is guessed counts with its magnitude
            sized(target, expr)
    return result, [size(g) for g in goals]


VARIANT = "~"
"""Between a name and the number of its variant, where a variable is computed differently in some modes."""

Bits = tuple[int, ...]


class Merge:
    """The assignments of several modes, merged.

    Parameters
    ----------
    modes
        For every mode which elements impose their effort (1) and which their flow (0).
    programs
        For every mode its assignments.
    leaves
        By name, the variables that are not assigned: states, inputs, parameters, modes.
    conditions
        The variables of the elements' modes, in the order of the bits.

    Attributes
    ----------
    definitions
        The assignments of all modes together.
    """

    def __init__(
        self,
        modes: Sequence[Bits],
        programs: Sequence[Mapping[Var, Expr]],
        leaves: Mapping[str, Var],
        conditions: Sequence[Var],
    ) -> None:
        self.modes, self.conditions, self.leaves = modes, conditions, leaves
        self.tables: list[dict[Var, Expr]] = [{} for _ in modes]
        self.definitions: dict[Var, Expr] = {}
        shared: dict[tuple[str, int], Var] = {}
        classes = _refined(programs)
        counts: dict[str, int] = {}
        for own in classes:
            for name, number in own.items():
                counts[name] = max(counts.get(name, 0), number + 1)
        for program, own, table in zip(programs, classes, self.tables, strict=True):
            for v in program:
                key = (v.name, own[v.name])
                if key not in shared:
                    suffix = f"{VARIANT}{key[1] + 1}" if counts[v.name] > 1 else ""
                    shared[key] = Var(v.name + suffix, quantity=v.quantity)
                table[v] = shared[key]
        for program, table in zip(programs, self.tables, strict=True):
            for v, expr in program.items():
                merged = table[v]
                assert isinstance(merged, Var)
                if merged not in self.definitions:
                    self.definitions[merged] = self._put(expr, table)
        self._still_loops()

    def _still_loops(self) -> None:
        """Let loops that are not of the present mode be zero: there they need not have a solution."""
        used = [set(table.values()) for table in self.tables]
        for members in components(self.definitions, self.definitions):
            if len(members) == 1 and members[0] not in variables(self.definitions[members[0]]):
                continue
            for v in members:
                own = [Const(float(v in of_mode)) for of_mode in used]
                condition = self._chosen([(b, _shape(e), e) for b, e in zip(self.modes, own, strict=True)])
                self.definitions[v] = select(condition, self.definitions[v], 0.0)

    def _put(self, expr: Expr, table: dict[Var, Expr]) -> Expr:
        for v in variables(expr):
            if v not in table:
                table[v] = self.leaves[v.name]
        return substitute(expr, table)

    def value(self, exprs: Sequence[Expr]) -> Expr:
        """Return what is one expression in each mode as one expression of all."""
        merged = [self._put(e, table) for e, table in zip(exprs, self.tables, strict=True)]
        return self._chosen([(bits, _shape(e), e) for bits, e in zip(self.modes, merged, strict=True)])

    def _chosen(self, cases: Sequence[tuple[Bits, Hashable, Expr]]) -> Expr:
        """Return a choice by as few modes as are needed to tell the cases apart."""
        kinds = {shape for _, shape, _ in cases}
        if len(kinds) == 1:
            return cases[0][2]

        def split(i: int) -> list[list[tuple[Bits, Hashable, Expr]]]:
            return [[c for c in cases if c[0][i] == bit] for bit in (1, 0)]

        def cost(i: int) -> tuple[int, int]:
            sides = split(i)
            return (not all(sides), sum(len({shape for _, shape, _ in side}) for side in sides))

        best = min(range(len(self.conditions)), key=cost)
        yes, no = split(best)
        condition = Op("ne", (self.conditions[best], Const(0.0)))
        return select(condition, self._chosen(yes), self._chosen(no))


def _refined(programs: Sequence[Mapping[Var, Expr]]) -> list[dict[str, int]]:
    """Return for each mode a number for every name: equal ones where it reads the same."""
    shapes: list[dict[str, tuple[int, tuple[str, ...]]]] = []
    known: dict[Hashable, int] = {}
    for program in programs:
        own = {}
        for v, expr in program.items():
            read = tuple(w.name for w in variables(expr))
            own[v.name] = (known.setdefault(_shape(expr), len(known)), read)
        shapes.append(own)
    classes = [dict.fromkeys(own, 0) for own in shapes]
    total = -1
    while True:
        numbers: dict[str, dict[Hashable, int]] = {}
        refined = []
        for own, old in zip(shapes, classes, strict=True):
            fresh = {}
            for name, (shape, read) in own.items():
                key = (old[name], shape, tuple(old.get(r, -1) for r in read))
                of_name = numbers.setdefault(name, {})
                fresh[name] = of_name.setdefault(key, len(of_name))
            refined.append(fresh)
        count = sum(len(n) for n in numbers.values())
        classes = refined
        if count == total:
            return classes
        total = count


def _shape(expr: Expr) -> Hashable:
    """Return an expression as a value that equals that of any expression that reads the same."""
    if isinstance(expr, Var):
        return ("v", expr.name)
    if isinstance(expr, Const):
        return expr.value
    assert isinstance(expr, Op)
    return (expr.name, *map(_shape, expr.args))


def needed(
    definitions: Mapping[Var, Expr], goals: Iterable[Expr], put: Callable[[Expr], Expr]
) -> dict[Var, Expr]:
    """Return the definitions that expressions need, each as ``put`` makes it, in the order met.

    Parameters
    ----------
    definitions
        All that there are.
    goals
        What is to be computed, already put.
    put
        What is done to a definition before it is looked into: constants folded, variables put in.
    """
    found: dict[Var, Expr] = {}
    work = [v for e in goals for v in variables(e)]
    while work:
        v = work.pop()
        if v in definitions and v not in found:
            found[v] = put(definitions[v])
            work += variables(found[v])
    return found


def folded(expr: Expr, values: Mapping[Var, Expr]) -> Expr:
    """Return an expression with some variables replaced by constants, and choices by them made.

    >>> m, x = Var("m"), Var("x")
    >>> print(folded(select(Op("ne", (m, Const(0))), x, -x) + m, {m: Const(0)}))
    -x + 0
    """
    if isinstance(expr, Var):
        return values.get(expr, expr)
    if not isinstance(expr, Op):
        return expr
    if expr.name == "select":
        condition = folded(expr.args[0], values)
        if isinstance(condition, Const):
            return folded(expr.args[1 if condition.value else 2], values)
    args = tuple(folded(a, values) for a in expr.args)
    if expr.name == "ne" and all(isinstance(a, Const) for a in args):
        a, b = args
        return Const(float(a.value != b.value))  # type: ignore[attr-defined]
    return expr if all(a is b for a, b in zip(args, expr.args, strict=True)) else Op(expr.name, args)


def plain_name(v: Var) -> str:
    """Return the name that a variable has in the model, whichever modes it is of.

    >>> plain_name(Var("mass.effort~2"))
    'mass.effort'
    """
    return v.name.partition(VARIANT)[0]


ZERO = Const(0.0)

MARK = "@pass"
"""In the names of variables of a pass."""

CHANGES = f".changes{MARK}"
"""Ends the names of those that say whether a mode changes in a pass."""

MOST_TRIED = 1024
"""Combinations of modes that are tried at a sample."""


def passes(system: SystemData) -> int:
    """Return how many passes a tick makes by the rules: four, two for every element, three for every blow."""
    rules = switching_rules(system)
    return 4 + 2 * len(rules) + 3 * sum(rule.rebound is not None for rule in rules)


class _Passes:
    """Statements that find the modes: those before the passes, and those of one pass."""

    def __init__(self, system: SystemData, inputs: Mapping[Var, Expr], window: float) -> None:
        self.system, self.inputs, self.window = system, inputs, Const(window)
        self.rules = switching_rules(system)
        self.states = [v for part in system.switching for v in part.after]
        self.followers = [v for part in system.switching for v in part.carried]
        self.steps: list[Step] = []
        self.number = Var("switching.pass")
        self.modes: list[Expr] = [r.mode for r in self.rules]
        self.stages: list[Expr] = [ZERO] * len(self.rules)
        self.before, self.rebounds = list(self.stages), list(self.stages)
        present = {v: e for part in system.switching for v, e in part.present.items()}
        before = [present[v] for v in self.followers]
        values = self.evaluated(scheduled(system, before), before, {}, "@before")
        self.base: dict[Var, Expr] = {v: v for v in self.states}
        for v, value in zip(self.followers, values, strict=True):
            self.base[v] = self.named(value, f"{v.name}@before")
        # What goes from pass to pass; without stops that is nothing but the modes.
        self.next_modes = [self.variable(f"{r.path}.next", r.mode) for r in self.rules]
        for i, r in enumerate(self.rules):
            if r.rebound is not None:
                self.stages[i], self.before[i], self.rebounds[i] = (
                    self.variable(f"{r.path}.{word}", ZERO) for word in ("stage", "before", "rebound")
                )
        if any(r.rebound is not None for r in self.rules):
            self.base = {v: self.variable(f"{v.name}.base", e) for v, e in self.base.items()}
        self.now: dict[Var, Expr] = {}

    def variable(self, name: str, start: Expr) -> Var:
        """Return a variable that passes may change."""
        target = Var(f"{name}{MARK}")
        self.steps.append(Assign(target, start))
        return target

    def named(self, expr: Expr, name: str) -> Expr:
        """Compute an expression once."""
        if is_trivial(expr):
            return expr
        target = Var(name)
        self.steps.append(Assign(target, expr))
        return target

    def evaluated(
        self, program: list[Statement], goals: list[Expr], at: Mapping[Var, Expr], mark: str
    ) -> list[Expr]:
        """Copy a program with other states; return what the goals are in the copy."""
        values: dict[Var, Expr] = {**self.inputs, **at}
        values.update({r.mode: m for r, m in zip(self.rules, self.modes, strict=True)})
        for rule, value in zip(self.rules, self.rebounds, strict=True):
            if rule.rebound is not None:
                values[rule.rebound] = value
        steps, table = instantiate(program, values, mark)
        self.steps += steps
        return [substitute(g, table) for g in goals]

    def rule_inputs(self) -> list[RuleInputs]:
        """Change from the base into the modes, and see what the rules need to know there."""
        jumps, ports, count = jump_goals(self.system), port_goals(self.system), len(self.rules)
        impulses = jumps[len(self.states) :]
        program, sizes = with_sizes(scheduled(self.system, jumps), impulses)
        values = self.evaluated(program, [*jumps, *sizes], self.base, f"@jump{MARK}")
        for v in self.states:
            self.now[v] = self.named(values.pop(0), f"{v.name}.after{MARK}")
        impulses, impulse_sizes = values[: 2 * count], values[2 * count :]
        program, sizes = with_sizes(scheduled(self.system, ports), [e for r in self.rules for e in r.sized])
        values = self.evaluated(program, [*ports, *sizes], self.now, f"@port{MARK}")
        terms, sizes = iter(values[2 * count :]), values[len(ports) :]
        looks = []
        for i, rule in enumerate(self.rules):
            effort_size, flow_size, term_size = sizes[3 * i : 3 * i + 3]
            looks.append(
                RuleInputs(
                    self.modes[i],
                    self.named(values[i], f"{rule.path}.effort{MARK}"),
                    self.named(values[count + i], f"{rule.path}.flow{MARK}"),
                    self.named(impulses[i], f"{rule.path}.effort_impulse{MARK}"),
                    self.named(impulses[count + i], f"{rule.path}.flow_impulse{MARK}"),
                    tuple(next(terms) for _ in rule.terms),
                    self.stages[i],
                    self.before[i],
                    self.window,
                    SLACK * effort_size + IMPULSE_SLACK * impulse_sizes[i] / self.window,
                    SLACK * flow_size + IMPULSE_SLACK * impulse_sizes[count + i] / self.window,
                    SLACK * term_size,
                )
            )
        return looks

    def once(self) -> tuple[list[Step], Expr]:
        """Return the statements of one pass, and whether it was the last."""
        outside, self.steps = self.steps, []
        total = passes(self.system)
        one_by_one, searches = self.number >= total // 2, self.number >= total - 1
        self.modes = [
            self.variable(f"{r.path}.mode", m) for r, m in zip(self.rules, self.next_modes, strict=True)
        ]
        looks = self.rule_inputs()
        changed: list[Expr] = []
        wanted: list[Expr] = []
        updates: list[tuple[Var, Expr]] = []
        busy: Expr = ZERO
        rebounding: Expr = ZERO
        for rule, look in zip(self.rules, looks, strict=True):
            wrong: Expr = rule.margin(look) > 0
            if changed:
                before = _any(changed)
                wrong = Op("and", (wrong, Op("not", (Op("and", (one_by_one, before)),))))
            changes = self.named(wrong, f"{rule.path}{CHANGES}")
            changed.append(changes)
            outcome = rule.outcome(look, changes)
            wanted.append(self.named(outcome.mode, f"{rule.path}.wanted{MARK}"))
            if rule.rebound is not None:
                stage = look.stage
                in_blow = Op("and", (stage > Blow.QUIET, stage < Blow.HIT))
                busy = in_blow if busy is ZERO else Op("or", (busy, in_blow))
                here = Op("eq", (stage, Const(Blow.REBOUNDING)))
                rebounding = here if rebounding is ZERO else Op("or", (rebounding, here))
                # A search looks at modes as they are: what is in a blow then counts as hit.
                over = select(stage > Blow.QUIET, Const(Blow.HIT), Const(Blow.QUIET))
                i = len(wanted) - 1
                updates += [
                    (_target(self.stages[i]), select(searches, over, outcome.stage)),
                    (_target(self.before[i]), outcome.before),
                    (_target(self.rebounds[i]), select(searches, ZERO, outcome.rebound)),
                ]
        if rebounding is not ZERO:
            base = ((_target(self.base[v]), self.now[v]) for v in self.states)
            updates += [(v, select(rebounding, now, v)) for v, now in base]
        settled = self.named(Op("not", (_any([*changed, busy]),)), f"switching.settled{MARK}")
        first = 0
        candidate = self.candidate(self.number - (total - 2))
        for number, part in enumerate(self.system.switching):
            own = slice(first, first + len(part.rules))
            modes: list[Expr] = [
                self.named(select(searches, c, w), f"{r.path}.tried{MARK}")
                for r, c, w in zip(part.rules, candidate[own], wanted[own], strict=True)
            ]
            steps, modes = part.permitted(modes, changed[own], f"switching{number}{MARK}")
            self.steps += steps
            updates += zip(self.next_modes[own], modes, strict=True)
            first += len(part.rules)
        values = [self.named(e, f"{target.name.removesuffix(MARK)}.new{MARK}") for target, e in updates]
        body = [*self.steps, *(Assign(t, e) for (t, _), e in zip(updates, values, strict=True))]
        self.steps = outside
        return body, settled

    def candidate(self, number: Expr) -> list[Expr]:
        """Return a combination of modes by its number, counted from those before the sample."""
        modes: list[Expr] = []
        place = 1
        for rule in self.rules:
            count = len(rule.words)
            above = function("floor", number / Const(float(place * count)))
            digit = self.named(
                function("floor", number / Const(float(place))) - count * above, f"{rule.path}.digit{MARK}"
            )
            turned: Expr = rule.mode
            result: Expr = rule.mode
            for turn in range(1, count):
                turned = _next(turned, list(rule.words))
                result = select(Op("eq", (digit, Const(float(turn)))), turned, result)
            modes.append(result)
            place *= count
        return modes


def _any(conditions: Sequence[Expr]) -> Expr:
    result = conditions[0]
    for condition in conditions[1:]:
        if condition is not ZERO:
            result = Op("or", (result, condition))
    return result


def _target(v: Expr) -> Var:
    assert isinstance(v, Var)
    return v


def _next(mode: Expr, modes: Sequence[int]) -> Expr:
    """Return the mode that follows another in a list, the first after the last."""
    result: Expr = Const(float(modes[0]))
    for one, following in itertools.pairwise(modes):
        result = select(Op("eq", (mode, Const(float(one)))), Const(float(following)), result)
    return result


def combinations(system: SystemData) -> int:
    """Return how many combinations of modes a search tries, where the passes did not find one."""
    return min(math.prod(len(r.words) for r in switching_rules(system)), MOST_TRIED)


def resolve(
    system: SystemData, inputs: Mapping[Var, Expr], period: float
) -> tuple[list[Step], dict[Var, Expr]]:
    """Return the statements that find the modes of a system at the beginning of a step, and make the jumps.

    Parameters
    ----------
    system
        What switches; its modes and states are states of the tick.
    inputs
        What its inputs are now.
    period
        Of the step, in s: events within it are one instant.

    Returns
    -------
    steps, now
        The statements, and by variable what those states are after them that may have changed: by its own
        name a channel would read a state as it was before.
    """
    if not system.switching:
        return [], {}
    written = _Passes(system, inputs, period)
    body, settled = written.once()
    sought = tuple(rule.mode for rule in written.rules)
    count = passes(system) + combinations(system)
    after = {**written.now, **dict(zip(sought, written.modes, strict=True))}
    now = {v: Var(f"{v.name}.now") for v in after if v not in written.followers}
    assigned = [Assign(target, after[v]) for v, target in now.items()]
    search = Repeat(count, written.number, tuple(body), settled, sought)
    return [*written.steps, search, *assigned, Update(tuple(now.items()))], dict(now)


def modes_held(tick: Tick) -> Tick:
    """Return a tick in which no mode ever changes, so that it can be looked at in any of them."""

    def held(step: Step) -> Step:
        changes = isinstance(step, Assign) and step.target.name.endswith(CHANGES)
        return Assign(step.writes[0], Const(0.0)) if changes else step

    return replace(tick, steps=_without_rules(revised(tick.steps, held), tick))


def _without_rules(steps: Sequence[Step], tick: Tick) -> tuple[Step, ...]:
    """Leave out of the passes what only the rules read: its kinks are none of the tick's."""

    def of_rules(step: Step) -> bool:
        return isinstance(step, Assign) and MARK in step.target.name

    needed = {v for c in tick.channels for v in variables(c.value)}
    needed.update(v for step in every(steps) if not of_rules(step) for v in step.reads)
    count = -1
    while count < len(needed):
        count = len(needed)
        for step in reversed(list(every(steps))):
            if not needed.isdisjoint(step.writes):
                needed |= step.reads
    return revised(steps, lambda step: None if of_rules(step) and needed.isdisjoint(step.writes) else step)


def remember(system: SystemData, now: Mapping[Var, Expr]) -> tuple[list[Step], dict[Var, Expr]]:
    """Return the statements that renew what a system remembers, at the beginning of a step.

    Parameters
    ----------
    system
        What remembers; its memories are states of the tick.
    now
        What its states and inputs are at the beginning of the step.

    Returns
    -------
    steps, now
        The statements, and by variable what the memories are after them: by its own name a channel would read
        a state as it was before.
    """
    if not system.memories:
        return [], {}
    goals = list(system.memories.values())
    steps: list[Step] = []
    copied, table = instantiate(system.schedule(goals), dict(now), "@renewal")
    steps += copied
    renewed: dict[Var, Expr] = {}
    for memory, goal in system.memories.items():
        # Not a path: the check names regimes by what the force does, not by what is remembered of it.
        target = Var(f"{memory.name}@now", quantity=memory.quantity)
        steps.append(Assign(target, substitute(goal, table)))
        renewed[memory] = target
    return [*steps, Update(tuple(renewed.items()))], renewed
