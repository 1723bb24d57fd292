"""A tick for many tests at once, in C: one test in each lane of a vector, packs of tests one after the other.

The statements are those of one test. What is the same for all tests (the time, tables of excitation,
parameters that are not varied) is computed once for a pack; a statement whose course depends on its numbers
(a loop that is not linear, a search for modes) is executed for one lane after the other, by the lines of one
test. Each lane's numbers are those of the test alone, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bondloop.compile.c_body import CBody
from bondloop.compile.c_helpers import helpers
from bondloop.compile.c_text import REFUSAL
from bondloop.compile.lane_helpers import CALLS, LANE_RUN, LANE_TYPES, LOOP_CODES, SOLVERS
from bondloop.compile.lane_text import LaneText
from bondloop.compile.plan import BEYOND, NOT_A_NUMBER, Line, Plan
from bondloop.compile.wide_variables import wide_variables
from bondloop.program.schedule import Loop, loops
from bondloop.program.tick import delays, every, statements

if TYPE_CHECKING:
    from bondloop.compile.c_text import CText
    from bondloop.program.expr import Var
    from bondloop.program.schedule import Assign
    from bondloop.program.tick import Step, Tick

__all__ = ["MOST", "lane_obstacle", "write_lanes"]

MOST = 3000
"""Statements of a tick beyond which its tests are run one by one: such a tick has vectors of its own."""


def lane_obstacle(tick: Tick) -> str:
    """Return why the tests of a tick cannot run side by side; "" if they can."""
    if statements(tick.steps) > MOST:
        return f"it has more than {MOST} statements"
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
    words = {
        "N_SCALARS": plan.scalars, "N_LINES": plan.size - plan.scalars, "N_STATE": plan.size,
        "N_VARIED": len(varied),
        "N_INPUTS": len(tick.inputs), "N_CHANNELS": n, "N_ROW": max(1, n), "WIDTH": width,
        "OUTSIDE": _outside(plan), "BEYOND": BEYOND, "NOT_A_NUMBER": NOT_A_NUMBER,
    }  # fmt: skip
    lanes = LANE_RUN
    for word, value in words.items():
        lanes = lanes.replace(f"@{word}@", str(value))
    structures = _structure("NAME_state", "NAME_wide", plan.scalar_names)
    structures += _structure("NAME_varied", "NAME_wide", plan.names.all(varied))
    structures += _structure(
        "NAME_lines", "NAME_wide", [f"{line.name}[{line.delay.length}]" for line in plan.lines]
    )
    tick_text = (
        "static inline __attribute__((always_inline)) void NAME_tick(NAME_state *s, NAME_lines *lines, "
        "const NAME_varied *p,\n    const double *in, double t, double k, NAME_wide *channels, "
        "int *status)\n{\n"
        "    (void)s, (void)lines, (void)p, (void)in, (void)t, (void)k, (void)channels, (void)status;\n"
        + "".join(f"    {line}\n" for line in lines)
        + "}\n"
    )
    used = body.text.used | body.alone.text.used
    parts = [
        f"/* {name}: {width} tests side by side. Written by bondloop; changes here are lost. */\n",
        "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n",
        REFUSAL,
        LANE_TYPES.replace("@WIDTH@", str(width)),
        LOOP_CODES,
        structures,
        _structure("NAME_alone", "double", plan.scalar_names) if body.functions else "",
        *body.tables,
        helpers(used, name),
        _calls(body.text.lane_calls, body.text),
        *(SOLVERS[n] for n in sorted(body.solvers)),
        *body.functions,
        tick_text,
        lanes,
    ]
    return "\n".join(part for part in parts if part).replace("NAME_", f"{name}_")


def _structure(name: str, kind: str, members: Sequence[str]) -> str:
    rows = "".join(f"    {kind} {member};\n" for member in members or ["nothing"])
    return f"typedef struct {{\n{rows}}} {name};\n\n"


def _calls(calls: dict[str, int], text: CText) -> str:
    """Return the functions over lanes: a few written out, the others one lane after the other."""
    parts = []
    for function, count in sorted(calls.items()):
        if function in CALLS:
            parts.append(CALLS[function])
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


def _outside(plan: Plan) -> str:
    """Return the lines that find the channels beyond their bounds, or not a number."""
    rows = []
    for i, channel in enumerate(plan.tick.channels):
        bound = plan.bound(channel.name)
        inside = f"row[{i}] == row[{i}]" if bound is None else f"NAME_lanes_size(row[{i}]) <= {bound!r}"
        rows.append(f"    LOOK({i}, (NAME_mask)({inside}))")
    return "\n".join(rows)


class LaneBody(CBody):
    """Writes the statements of a pack of tests."""

    kind = "NAME_wide"
    text: LaneText

    def __init__(self, plan: Plan, varied: Sequence[Var], width: int) -> None:
        self._wide = wide_variables(plan.tick, varied)
        super().__init__(plan)
        self._groups = None
        self.alone = CBody(plan, self.tables)
        self.alone._groups = None
        self.width = width
        self.functions: list[str] = []
        self.solvers: set[int] = set()
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
        read = {v: 0 for s in inside for v in s.reads if v not in written or v in plan.states}
        states = [v for v in plan.states if v in written or v in read]
        given = [v for v in read if v not in plan.states]
        seen = {*self._hoisted, *(plan.read_outside(step) if isinstance(step, Loop) else ())}
        results = [v for v in written if v not in plan.states and v in seen]
        last = [n for s in loops(inside) if not s.linear for n in plan.warm_start(s).names]
        last += [plan.left_over] if last and plan.left_over else []
        own = [*plan.names.all(states), *last]
        number = len(self.functions) + 1
        function = f"NAME_alone_{number}"
        alone = self.alone
        alone._places |= {v: plan.names(v) for v in plan.parameters}
        local = [v for v in written if v in self._hoisted]
        lines = [f"const double {plan.names(v)} = given[{i}];" for i, v in enumerate(given)]
        lines += [f"double {plan.names(v)} = 0.0;" for v in local]
        lines += [f"s->{name} = given[{len(given) + i}];" for i, name in enumerate(own)]
        lines += alone._step(step)
        lines += [f"result[{i}] = {plan.names(v)};" for i, v in enumerate(results)]
        lines += [f"result[{len(results) + i}] = s->{name};" for i, name in enumerate(own)]
        self.functions.append(
            f"static void {function}(const double *given, double *result, int *status)\n{{\n"
            "    NAME_alone one, *const s = &one;\n    (void)s, (void)given, (void)result, (void)status;\n"
            + "".join(f"    {line}\n" for line in lines)
            + "}\n"
        )
        total_in, total_out = len(given) + len(own), len(results) + len(own)
        declared = [f"NAME_wide {plan.names(v)};" for v in results if v not in self._hoisted]
        inputs = [self._lane(v) for v in given] + [f"s->{name}[lane]" for name in own]
        outputs = [f"{self._place(v)}[lane]" for v in results] + [f"s->{name}[lane]" for name in own]
        return [
            *declared,
            f"for (int lane = 0; lane < {self.width}; ++lane) {{",
            f"    const double given[{max(1, total_in)}] = {{{', '.join(inputs) or '0.0'}}};",
            f"    double result[{max(1, total_out)}];",
            f"    {function}(given, result, status + lane);",
            *(f"    {place} = result[{i}];" for i, place in enumerate(outputs)),
            "}",
        ]

    def _lane(self, v: Var) -> str:
        return f"{self._place(v)}[lane]" if v in self._wide else self._place(v)

    def _solved(self, n: int, right: list[str], matrix: list[str]) -> tuple[list[str], list[str]]:
        size = min(n, 3)
        self.solvers.add(size)
        self.text.used |= {"solve"} if size == 3 else set()
        if n == 1:
            return [f"const NAME_wide change = NAME_lanes_solve1({matrix[0]}, {right[0]}, status);"], [
                "change"
            ]
        solve = [
            f"NAME_wide change[{n}] = {{{', '.join(right)}}};",
            f"NAME_wide matrix[{n * n}] = {{{', '.join(matrix)}}};",
        ]
        if n == 2:
            solve.append("NAME_lanes_solve2(matrix, change, status);")
        else:
            solve += [
                f"double work[{n * n}], one[{n}];",
                f"NAME_lanes_solve({n}, matrix, change, work, one, status);",
            ]
        return solve, [f"change[{i}]" for i in range(n)]
