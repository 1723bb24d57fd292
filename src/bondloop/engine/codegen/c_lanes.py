"""A tick for many tests at once, in C: one test in each lane of a vector, packs of tests one after the other.

The statements are those of one test. What is the same for all tests (the time, tables of excitation,
parameters that are not varied) is computed once for a pack; a statement whose course depends on its numbers
(a loop that is not linear, a search for modes) is executed for one lane after the other, by the lines of one
test. Each lane's numbers are those of the test alone, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bondloop.engine.codegen import tolerances
from bondloop.engine.codegen.c_helpers import codes, helpers
from bondloop.engine.codegen.c_text import REFUSAL, CText, c_parts, structure, with_words
from bondloop.engine.codegen.c_writer import CBody
from bondloop.engine.codegen.plan import Line, Plan
from bondloop.engine.ir import (
    COMPARISONS,
    LOGIC,
    Assign,
    Binding,
    Call,
    Delay,
    Loop,
    Op,
    Product,
    Var,
    delays,
    every,
    is_comparison,
    loops,
    statements,
    variables,
)
from bondloop.errors import CompileError

if TYPE_CHECKING:
    from bondloop.engine.ir import Expr, Step, Tick, Var


def lane_obstacle(tick: Tick) -> str:
    """Return why the tests of a tick cannot run side by side; "" if they can."""
    if statements(tick.steps) > tolerances.SIDE_BY_SIDE:
        return f"it has more than {tolerances.SIDE_BY_SIDE} statements"
    for step in every(tick.steps):
        if step.sought and delays(step.inner):
            return "a delay line stands in a search for modes"
    return ""


def write_lanes(tick: Tick, varied: Sequence[Var], width: int) -> str:
    """Write a tick for packs of tests as a C source file; it exports ``NAME_batch``.

    Parameters
    ----------
    tick
        What to write; the values of parameters that are not varied are literals.
    varied
        Parameters that differ from test to test, in their order in memory.
    width
        Tests in a pack.
    """
    plan = Plan(tick)
    body = LaneBody(plan, varied, width)
    lines = body.write()
    name, n = tick.name, len(tick.channels)
    found = [
        f"    LOOK({i}, (NAME_mask)({test}))" for i, test in enumerate(plan.inside("row", "NAME_lanes_size"))
    ]
    words = {
        "N_SCALARS": plan.scalars, "N_LINES": plan.size - plan.scalars, "N_STATE": plan.size,
        "N_VARIED": len(varied), "N_INPUTS": len(tick.inputs), "N_CHANNELS": n, "N_ROW": max(1, n),
        "POSITIONS": len(plan.states), "N_POSITIONS": len(plan.lines), "WIDTH": width,
        "OUTSIDE": "\n".join(found),
    }  # fmt: skip
    frame = {part: with_words(text, words) for part, text in c_parts("lanes.c").items()}
    delays = [f"{line.name}[{line.delay.length}]" for line in plan.lines]
    members = {"state": plan.scalar_names, "varied": plan.names.all(varied), "lines": delays}
    used = body.text.used | body.alone.text.used
    parts = [
        f"/* {name}: {width} tests side by side. Written by bondloop; changes here are lost. */\n",
        "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n",
        REFUSAL,
        frame["types"],
        codes(),
        "".join(structure(f"NAME_{what}", found, "NAME_wide") for what, found in members.items()),
        structure("NAME_alone", plan.scalar_names) if body.functions else "",
        *body.tables,
        helpers(used, name),
        _calls(body.text.lane_calls, body.text, frame),
        *(frame[solver] for solver in sorted(body.solvers)),
        *body.functions,
        frame["tick"] + "".join(f"    {line}\n" for line in lines) + "}\n",
        frame["run"],
    ]
    return "\n".join(part for part in parts if part).replace("NAME_", f"{name}_")


def _calls(calls: dict[str, int], text: CText, frame: Mapping[str, str]) -> str:
    """Return the functions over lanes: a few written out, the others one lane after the other."""
    parts = []
    for function, count in sorted(calls.items()):
        if function in frame:
            parts.append(frame[function])
            continue
        names = ("x", "y", "z")[:count]
        given = ", ".join(f"NAME_wide {n}" for n in names)
        parts.append(f"static inline NAME_wide NAME_lanes_{function}({given})\n{{\n    NAME_wide value;\n")
        if function.startswith("power"):
            parts[-1] += f"    value = {'*'.join(['x'] * int(function[5:]))};\n"
        else:
            single = f"{text.function(function)}({', '.join(f'{n}[lane]' for n in names)})"
            parts[-1] += (
                f"    for (int lane = 0; lane < NAME_WIDTH; ++lane)\n        value[lane] = {single};\n"
            )
        parts[-1] += "    return value;\n}\n"
    return "\n".join(parts)


class LaneBody(CBody):
    """Writes the statements of a pack of tests."""

    kind = "NAME_wide"
    lanes = "lanes_"
    text: LaneText

    def __init__(self, plan: Plan, varied: Sequence[Var], width: int) -> None:
        self._wide = wide_variables(plan.tick, varied)
        super().__init__(plan)
        self._groups = None
        self.alone = CBody(plan, self.tables)
        self.alone._groups = None
        self.width = width
        self.functions: list[str] = []
        self.solvers: set[str] = set()
        self._fix(varied)

    def _writer(self) -> LaneText:
        return LaneText(self._place, prefix=self.prefix, is_wide=lambda v: v in self._wide)

    def kind_of(self, v: Var) -> str:
        """Return the type of a variable: wide, or one double for all tests."""
        return self.kind if v in self._wide else "double"

    def _assigned(self, assigns: Sequence[Assign]) -> list[str]:
        # A product that is written out has variables of its own.
        self._wide |= {a.target for a in assigns if self.text.wide(a.expr)}
        return super()._assigned(assigns)

    def _position(self, line: Line) -> str:
        return f"s->{line.at}[0]"

    def _step(self, step: Step) -> list[str]:
        if step.sought or (isinstance(step, Loop) and not step.linear):
            return self._alone(step)
        return super()._step(step)

    def _alone(self, step: Step) -> list[str]:
        """Execute a statement for one lane after the other, by the lines of one test in a function."""
        plan, inside = self.plan, list(every([step]))
        written = {v: 0 for s in inside for v in s.writes}
        read = self._read_inside(inside, written)
        given = [v for v in read if v not in plan.states]
        seen = self._read_after(step)
        results = [v for v in written if v not in plan.states and v in seen]
        own = [*plan.names.all([v for v in plan.states if v in written or v in read]), *self._warm(inside)]
        local = [v for v in written if v in self._hoisted]
        function = self._function_of_one(step, given, local, results, own)
        declared = [f"NAME_wide {plan.names(v)};" for v in results if v not in local]
        inputs = [self._lane(v) for v in given] + [f"s->{name}[lane]" for name in own]
        outputs = [f"{self._place(v)}[lane]" for v in results] + [f"s->{name}[lane]" for name in own]
        return [
            *declared,
            f"for (int lane = 0; lane < {self.width}; ++lane) {{",
            f"    const double given[{max(1, len(inputs))}] = {{{', '.join(inputs) or '0.0'}}};",
            f"    double result[{max(1, len(outputs))}];",
            f"    {function}(given, result, status + lane);",
            *(f"    {place} = result[{i}];" for i, place in enumerate(outputs)),
            "}",
        ]

    def _read_inside(self, inside: Sequence[Step], written: Container[Var]) -> list[Var]:
        """Return the variables that statements read and have not computed before."""
        read: dict[Var, None] = {}
        known: set[Var] = set()
        for s in inside:  # what a search begins with is read before it is written there
            found = written if s.inner else s.writes if isinstance(s, Loop) else ()
            here = (v for v in s.reads if v in self.plan.states or (v not in known and v not in found))
            read |= dict.fromkeys(here)
            known.update(s.writes)
        return list(read)

    def _read_after(self, step: Step) -> set[Var]:
        """Return the variables of a statement that others may read."""
        return self._hoisted | (self.plan.read_outside(step) if isinstance(step, Loop) else set())

    def _warm(self, inside: Sequence[Step]) -> list[str]:
        """Return the places of the last tears of loops, and of what was left over of them."""
        plan = self.plan
        last = [n for s in loops(inside) if not s.linear for n in plan.warm_start(s).names]
        return [*last, *([plan.left_over] if last and plan.left_over else [])]

    def _function_of_one(
        self,
        step: Step,
        given: Sequence[Var],
        local: Sequence[Var],
        results: Sequence[Var],
        own: Sequence[str],
    ) -> str:
        """Write a function that executes a statement for one test; return its name.

        It gets the values of ``given`` and then those of its ``own`` places in the state, and returns those
        of ``results`` and then of its own places.
        """
        names, alone = self.plan.names, self.alone
        function = f"NAME_alone_{len(self.functions) + 1}"
        alone._places |= {v: names(v) for v in self.plan.parameters}
        lines = [
            f"{'' if v in local else 'const '}double {names(v)} = given[{i}];" for i, v in enumerate(given)
        ]
        lines += [f"double {names(v)} = 0.0;" for v in local if v not in given]
        lines += [f"s->{name} = given[{len(given) + i}];" for i, name in enumerate(own)]
        lines += alone._step(step)
        lines += [f"result[{i}] = {names(v)};" for i, v in enumerate(results)]
        lines += [f"result[{len(results) + i}] = s->{name};" for i, name in enumerate(own)]
        self.functions.append(
            f"static void {function}(const double *given, double *result, int *status)\n{{\n"
            "    NAME_alone one, *const s = &one;\n    (void)s, (void)given, (void)result, (void)status;\n"
            + "".join(f"    {line}\n" for line in lines)
            + "}\n"
        )
        return function

    def _lane(self, v: Var) -> str:
        return f"{self._place(v)}[lane]" if v in self._wide else self._place(v)

    def _need(self, solver: str) -> None:
        self.solvers.add(solver)
        self.text.used |= {solver} & {"solve"}


# Expressions in C over several tests at once, one in each lane of a vector.


@dataclass
class LaneText(CText):
    """Expressions whose variables are wide (a value for each test) or the same for all tests.

    Arithmetic is written as for one test: C's vector types widen what is the same for all. Both sides of a
    choice are computed, then blended.

    Attributes
    ----------
    is_wide
        Whether a variable has a value for each test.
    lane_calls
        Functions that are called with wide arguments, and with how many.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import Var, select
    >>> x, t = Var("x"), Var("t")
    >>> text = LaneText(lambda v: v.name, prefix="demo", is_wide=lambda v: v is x)
    >>> text(2 * x + t), text(select(x > t, x, 1))
    ('2.0*x + t', 'demo_choose((demo_mask)(x > t), x, demo_all(1.0))')
    """

    is_wide: Callable[[Var], bool] = lambda _: True
    lane_calls: dict[str, int] = field(default_factory=dict)

    def _outside(self, op: Op) -> str:
        if isinstance(op, Call):
            raise CompileError(
                f"{op.function.__qualname__} is a program that runs in one test at a time, and not in a batch"
            )
        return super()._outside(op)

    def wide(self, expr: Expr) -> bool:
        """Whether an expression has a value for each test."""
        return any(self.is_wide(v) for v in variables(expr))

    def full(self, expr: Expr) -> str:
        """Return an expression as a wide value."""
        return self(expr) if self.wide(expr) else f"{self.prefix}_all({self(expr)})"

    def number(self, value: float) -> str:
        """Return a number; the infinite ones of ``math.h`` are too narrow for a vector."""
        text = super().number(value)
        return text if text[-1].isdigit() else f"(double){text}"

    def condition(self, expr: Expr) -> str:
        """Return the truth of an expression: a mask where it is wide."""
        if not self.wide(expr):
            return super().condition(expr)
        if isinstance(expr, Op) and expr.name in LOGIC:
            masks = [self._mask(a) for a in expr.args]
            return f"(~{masks[0]})" if expr.name == "not" else f"({self._joint(expr.name).join(masks)})"
        if isinstance(expr, Op) and expr.name in COMPARISONS:
            a, b = (self(a) for a in expr.args)
            return f"({self.prefix}_mask)({a} {COMPARISONS[expr.name]} {b})"
        return f"({self.prefix}_mask)({self(expr)} != 0.0)"

    @staticmethod
    def _joint(name: str) -> str:
        return " & " if name == "and" else " | "

    def _mask(self, expr: Expr) -> str:
        return self.condition(expr) if self.wide(expr) else f"{self.prefix}_same({self.condition(expr)})"

    def _select(self, expr: Op) -> str:
        test, yes, no = expr.args
        if self.wide(test):
            return f"{self.prefix}_choose({self.condition(test)}, {self.full(yes)}, {self.full(no)})"
        if self.wide(yes) or self.wide(no):
            return f"({self.condition(test)} ? {self.full(yes)} : {self.full(no)})"
        return super()._select(expr)

    def _write(self, expr: Expr) -> tuple[str, Binding]:
        truth = is_comparison(expr)
        if truth and self.wide(expr):
            one, zero = (f"{self.prefix}_all({x})" for x in ("1.0", "0.0"))
            return f"{self.prefix}_choose({self.condition(expr)}, {one}, {zero})", Binding.ATOM
        return super()._write(expr)

    def _call(self, function: str, *args: Expr) -> str:
        if not any(self.wide(a) for a in args):
            return super()._call(function, *args)
        self.used.add(function)
        self.lane_calls[function] = len(args)
        return f"{self.prefix}_lanes_{function}({', '.join(self.full(a) for a in args)})"


# Which variables of a tick differ from test to test.


def wide_variables(tick: Tick, varied: Iterable[Var]) -> set[Var]:
    """Return the variables that have a value for each test."""
    wide = {*tick.states, *varied}
    while True:
        before = len(wide)
        for step in every(tick.steps):
            if isinstance(step, Assign):
                if not wide.isdisjoint(variables(step.expr)):
                    wide.add(step.target)
            elif isinstance(step, (Loop, Product, Delay)):
                wide |= set(step.writes)
            elif step.sought:
                wide |= {v for s in every([step]) for v in s.writes}
        if len(wide) == before:
            return wide
