"""A tick as C99: readable, static memory only, nothing beyond ``math.h``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bondloop.engine.analysis.spectrum import collection_paused
from bondloop.engine.codegen import tolerances
from bondloop.engine.codegen.c_groups import CGroups, Group
from bondloop.engine.codegen.c_helpers import codes, helpers, newton_lines
from bondloop.engine.codegen.c_products import CProducts
from bondloop.engine.codegen.c_text import REFUSAL, CTables, CText, c_parts, structure, with_words
from bondloop.engine.codegen.plan import Line, Plan, is_tiny, unrolled, wanted
from bondloop.engine.ir import (
    ZERO,
    Assign,
    Delay,
    Expr,
    Loop,
    Product,
    Repeat,
    Step,
    Update,
    Var,
    every,
    matrix,
    reads,
    residuals,
    statements,
    variables,
)

if TYPE_CHECKING:
    from bondloop.engine.codegen.c_text import Numbers
    from bondloop.engine.ir import Tick


class CBody:
    """Writes statements, and remembers which tables and helpers they need."""

    kind = "double"
    """The type of a variable."""
    lanes = ""
    """What the names of solvers of several tests at once begin with."""

    def __init__(self, plan: Plan, tables: CTables | None = None) -> None:
        self.plan = plan
        self.prefix = plan.tick.name
        self.text = self._writer()
        self.tables = CTables(self.prefix, self.text.number) if tables is None else tables
        self._places = {v: f"s->{plan.names(v)}" for v in plan.states}
        self._places |= {v: f"p->{plan.names(v)}" for v in plan.parameters}
        self._hoisted = set(plan.hoisted)
        self._offsets = {v: i for i, v in enumerate(plan.states)}
        self._elements: dict[Var, tuple[str, int]] = {}
        self._products = CProducts(plan, self.text, self.tables, self._elements, self.kind)
        self._counted = 0
        self._groups: CGroups | None = None
        arrays = any(isinstance(s, Product) and self._is_array(s) for s in every(plan.tick.steps))
        if statements(plan.tick.steps) > (
            tolerances.GROUPED_AROUND_ARRAYS if arrays else tolerances.GROUPED_FROM
        ):
            self._groups = CGroups(plan, self.text, self.tables, self._places, self._elements)

    def _fix(self, varied: Sequence[Var]) -> None:
        """Write the values of all parameters but some where they stand."""
        fixed = {v: repr(float(x)) for v, x in self.plan.tick.parameters.items() if v not in set(varied)}
        self._places |= {v: f"({text})" if text.startswith("-") else text for v, text in fixed.items()}

    @property
    def cells(self) -> int:
        """How many doubles the groups of statements need beside the state."""
        return self._groups.size if self._groups else 0

    def write(self) -> list[str]:
        """Return the lines of the tick's body: hoisted variables, statements, channels."""
        plan, name = self.plan, self.plan.names
        inputs = [(i, v) for i, v in enumerate(plan.tick.inputs) if plan.readers[v]]
        lines = [f"const double {name(v)} = in[{i}];" for i, v in inputs]
        lines += [f"const {self.kind} {kept} = {self._place(v)};" for v, kept in plan.start_copies.items()]
        lines += [f"{self.kind_of(v)} {name(v)} = {self._value(v, ZERO)};" for v in plan.hoisted]
        lines += self.steps(plan.tick.steps)
        self._places |= plan.start_copies
        for i, channel in enumerate(plan.tick.channels):
            lines.append(f"channels[{i}] = {self.text.full(channel.value)};")
        return lines

    def _writer(self) -> CText:
        return CText(self._place, prefix=self.prefix)

    def kind_of(self, v: Var) -> str:  # noqa: ARG002 - all are of one kind here
        """Return the type of a variable."""
        return self.kind

    def _value(self, v: Var, expr: Expr) -> str:
        """Return an expression as the value of a variable."""
        return self.text.full(expr) if self.kind_of(v) == self.kind else self.text(expr)

    def steps(self, steps: tuple[Step, ...]) -> list[str]:
        """Return the lines of several statements; of many, those of one form as a loop."""
        if self._groups is None:
            return [line for step in steps for line in self._step(step)]
        lines: list[str] = []
        for step in steps:
            if isinstance(step, Product) and self._is_array(step):
                self._groups.keep(step)
        block = self._groups.arranged(steps)
        for i, item in enumerate(block.items):
            block.begin(i)
            if isinstance(item, Group):
                lines += self._groups.lines(item)
            else:
                lines += [line for step in item for line in self._step(step)]
            block.end(i)
        return lines

    def _step(self, step: Step) -> list[str]:
        if isinstance(step, Assign):
            return self._assigned([step])
        if isinstance(step, Update):
            return self._update(step)
        if isinstance(step, Delay):
            return self._delay(step)
        if isinstance(step, Product):
            return self._product(step)
        if isinstance(step, Loop):
            return self._loop(step)
        return self._repeat(step)

    def _place(self, v: Var) -> str:
        if v in self._elements:
            array, i = self._elements[v]
            return f"{array}[{i}]"
        return self._places.get(v) or self.plan.names(v)

    def _declared(self, v: Var, *, variable: bool = False) -> str:
        here = v in self._hoisted or v in self._places or v in self._elements
        kind = f"{'' if variable else 'const '}{self.kind_of(v)}"
        return self._place(v) if here else f"{kind} {self.plan.names(v)}"

    def _update(self, step: Update) -> list[str]:
        """All at once: a state that a later pair still needs is changed only at the end."""
        lines, last = [], []
        needed = {u: i for i, (_, e) in enumerate(step.pairs) for u in variables(e)}
        copied = {}
        for run in self._copies(step):
            copied.update(dict.fromkeys(range(run.start, run.stop)))
            last += self._copy(step, run)
        for i, (v, expr) in enumerate(step.pairs):
            if i in copied:
                continue
            if needed.get(v, -1) > i:
                temporary = self.plan.names.fresh(f"{v.name}_next")
                lines.append(f"const {self.kind} {temporary} = {self.text.full(expr)};")
                last.insert(0, f"{self._place(v)} = {temporary};")
            else:
                lines.append(f"{self._place(v)} = {self.text.full(expr)};")
        return lines + last

    def _copies(self, step: Update) -> list[range]:
        """Return the runs of pairs that copy neighbours in a product to neighbours in the state."""
        runs, first = [], 0
        for i in range(1, len(step.pairs) + 1):
            if i < len(step.pairs) and self._follows(step.pairs[i - 1], step.pairs[i]):
                continue
            if i - first >= tolerances.BAND_ROWS:
                runs.append(range(first, i))
            first = i
        return runs

    def _follows(self, one: tuple[Var, Expr], two: tuple[Var, Expr]) -> bool:
        (v, e), (w, f) = one, two
        if e not in self._elements or f not in self._elements:
            return False
        (a, i), (b, j) = self._elements[e], self._elements[f]
        return a == b and j == i + 1 and self._offsets[w] == self._offsets[v] + 1

    def _copy(self, step: Update, run: range) -> list[str]:
        v, e = step.pairs[run.start]
        result, i = self._elements[e]  # type: ignore[index]
        return [
            f"for (int i = 0; i < {len(run)}; ++i)",
            f"    (({self.kind} *)s)[{self._offsets[v]} + i] = {result}[{i} + i];",
        ]

    def _is_read(self, v: Var) -> bool:
        """Whether anything reads a variable, in this tick or, of a state, in the next one."""
        return self.plan.readers[v] > 0

    def _delay(self, step: Delay) -> list[str]:
        line = self.plan.line(step)
        at = self._position(line)
        here = self._element(line, at)
        return [
            *([f"{self._declared(step.target)} = {here};"] if self._is_read(step.target) else []),
            f"{here} = {self.text.full(step.source)};",
            f"{at} = {at} < {float(step.length - 1)!r} ? {at} + 1.0 : 0.0;",
        ]

    def _position(self, line: Line) -> str:
        return f"s->{line.at}"

    def _element(self, line: Line, at: str) -> str:
        return f"lines->{line.name}[(int){at}]"

    def _product(self, step: Product) -> list[str]:
        assigns = unrolled(step, self.plan.names)
        if assigns is not None:
            return self._assigned(wanted(assigns, {v for v in step.targets if self._is_read(v)}))
        self._counted += 1
        result = self.plan.names.fresh(f"product_{self._counted}")
        lines = self._products.write(step, result)
        as_array = self._is_array(step)
        for i, v in enumerate(step.targets):
            if as_array and v not in self._hoisted and v not in self._places:
                self._elements[v] = (result, i)
            elif self._is_read(v):
                lines.append(f"{self._declared(v)} = {result}[{i}];")
        return lines

    @staticmethod
    def _is_array(step: Product) -> bool:
        return len(step.targets) > tolerances.NAMED_RESULTS and not is_tiny(step)

    def _repeat(self, step: Repeat) -> list[str]:
        i = self.plan.names.fresh("turn")
        counted = step.counter in self._hoisted or step.counter in reads([step])
        count = [f"    {self._declared(step.counter)} = (double){i};"] if counted else []
        inside = [*count, *(f"    {line}" for line in self.steps(step.body))]
        if not step.sought:
            return [f"for (int {i} = 0; {i} < {step.count}; ++{i}) {{", *inside, "}"]
        return [
            f"int {i} = 0;",
            f"for (; {i} < {step.count}; ++{i}) {{",
            *inside,
            f"    if {self.text.condition(step.until)}",
            "        break;",
            "}",
            f"if ({i} == {step.count})",
            f"    *status |= {self.prefix}_UNSETTLED;",
        ]

    def _loop(self, loop: Loop) -> list[str]:
        """One Newton step, which is exact where the loop is linear; else as many as it takes."""
        if not loop.linear:
            return newton_lines(loop, self.plan, self.text, self._declared)
        equations = [*residuals(loop), *(e for row in matrix(loop) for e in row)]
        inside = wanted([*loop.body, *loop.tangents], {v for e in equations for v in variables(e)})
        solve, change = self._solved(
            len(loop.tears),
            [self.text.full(r) for r in residuals(loop)],
            [self.text.full(e) for row in matrix(loop) for e in row],
        )
        added = [f"{self._place(t)} += {c};" for t, c in zip(loop.tears, change, strict=True)]
        first = [f"{self._declared(t, variable=True)} = {self._value(t, ZERO)};" for t in loop.tears]
        lines = [*self._assigned(inside), *solve, *added]
        then = self._assigned(wanted(loop.body, self.plan.read_outside(loop)))
        return [*first, "{", *(f"    {line}" for line in lines), "}", *then]

    def _assigned(self, assigns: Sequence[Assign]) -> list[str]:
        return [f"{self._declared(a.target)} = {self._value(a.target, a.expr)};" for a in assigns]

    def _solved(self, n: int, right: list[str], matrix: list[str]) -> tuple[list[str], list[str]]:
        """Return lines that solve n equations, and the names of the solution."""
        solver = f"solve{n}" if n <= 2 else "solve"
        self._need(solver)
        call, kind = f"{self.prefix}_{self.lanes}{solver}", self.kind
        if n == 1:
            return [f"const {kind} change = {call}({matrix[0]}, {right[0]}, status);"], ["change"]
        lines = [
            f"{kind} change[{n}] = {{{', '.join(right)}}};",
            f"{kind} matrix[{n * n}] = {{{', '.join(matrix)}}};",
        ]
        if n > 2 and self.lanes:
            lines.append(f"double work[{n * n}], one[{n}];")
        first, room = ("", "") if n == 2 else (f"{n}, ", "work, one, " if self.lanes else "")
        lines.append(f"{call}({first}matrix, change, {room}status);")
        return lines, [f"change[{i}]" for i in range(n)]

    def _need(self, solver: str) -> None:
        self.text.used.add(solver)


def write_c(tick: Tick) -> str:
    """Write a tick as a C99 source file.

    The file exports, all with the tick's name in front: ``NAME_run`` (many ticks, recorded and checked),
    ``NAME_tick_once`` (one, for a real-time loop) and ``NAME_counts`` (the sizes of the arrays: state,
    inputs, parameters, channels). Every assignment is one named temporary; in a tick of thousands, those of
    one form are one loop.

    Parameters
    ----------
    tick
        What to write.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import Var
    >>> from bondloop.engine.ir.tick import Channel, Tick, Update
    >>> x, a = Var("m.x"), Var("m.a")
    >>> steps = (Update(((x, a * x),)),)
    >>> tick = Tick("decay", 0.1, Var("t"), Var("k"), (), {x: 1.0}, {a: 0.5}, steps, (Channel("m.x", x),))
    >>> print([line for line in write_c(tick).splitlines() if "p->m_a" in line][0].strip())
    s->m_x = p->m_a*s->m_x;
    """
    return write_c_sized(tick)[0]


@collection_paused()
def write_c_sized(tick: Tick, *, values: bool = True) -> tuple[str, bool]:
    """Write a tick as `write_c` does, and say whether it is so large that compiling it well takes long.

    Parameters
    ----------
    tick
        What to write.
    values
        Whether a comment tells the values of states and parameters. Without them, ticks that differ in values
        alone are the same text, and so the same library.
    """
    return _written(tick, values, apart=False)[:2]


@collection_paused()
def write_c_apart(tick: Tick) -> tuple[str, bool, Numbers | None]:
    """Write a tick for a library that is used from here: without values, and with large tables apart.

    Parameters
    ----------
    tick
        What to write.

    Returns
    -------
    source, large, numbers
        As of `write_c_sized`, and what ``NAME_take`` is to be given before the first tick (None: nothing).
    """
    return _written(tick, False, apart=True)


def _written(tick: Tick, values: bool, *, apart: bool) -> tuple[str, bool, Numbers | None]:
    plan = Plan(tick)
    body = CBody(plan)
    lines = body.write()
    large = len(lines) > tolerances.INLINED_LINES
    noise = "#include <stdint.h>\n" if body.text.used & {"uniform", "normal"} else ""
    numbers = body.tables.apart() if apart else None
    in_memory = large or plan.scalars > tolerances.STATES_IN_REGISTERS
    words = _words(plan, in_memory, body.cells, numbers)
    texts = {part: with_words(text, words) for part, text in c_parts("tick.c").items()}
    texts["codes"] = codes()
    frame = {part: text.replace("NAME_", f"{tick.name}_") for part, text in texts.items()}
    parts = [
        _comment(plan, values),
        f"#include <math.h>\n{noise}",
        REFUSAL,
        *body.text.sources,
        frame["preamble"],
        frame["codes"],
        frame["counts"],
        _structures(plan),
        *(body.tables if numbers is None else numbers.lines),
        frame["numbers"] if numbers else "",
        frame["cells"] if body.cells else "",
        helpers(body.text.used, tick.name),
        frame["tick"] + "\n".join(f"    {line}" for line in lines) + "\n}\n",
        _outside(plan),
        frame["run"],
        frame["once"],
    ]
    return "\n".join(part for part in parts if part), large, numbers


def _words(plan: Plan, in_memory: bool, cells: int, numbers: Numbers | None) -> dict[str, object]:
    """Return what stands for the words of ``tick.c``; a small tick copies its states into registers."""
    tick = plan.tick
    return {
        "LINES_PARAMETER": "NAME_lines *lines, " if plan.lines else "",
        "LINES_ARGUMENT": f"(NAME_lines *)(state + {plan.scalars}), " if plan.lines else "",
        "TICK_KIND": "static" if in_memory else "NAME_INLINE",
        "COPY_IN": f"NAME_state {'*const s = (' if in_memory else 's = *(const '}NAME_state *)state",
        "COPY_OUT": "" if in_memory else "    *(NAME_state *)state = s;\n",
        "THE_STATE": "s" if in_memory else "&s",
        "CELLS_PARAMETER": "double *restrict cells, " if cells else "",
        "CELLS_ARGUMENT": "NAME_own_cells(), " if cells else "",
        "N_CELLS": cells,
        "NUMBERS_PARAMETER": _NUMBERS_PARAMETER if numbers else "",
        "NUMBERS_ARGUMENT": "NAME_doubles, NAME_ints, " if numbers else "",
        "DIGEST": numbers.digest if numbers else "",
        "N_STATE": plan.size,
        "N_INPUTS": len(tick.inputs),
        "N_PARAMETERS": max(1, len(plan.parameters)),
        "N_CHANNELS": len(tick.channels),
        "N_ROW": max(1, len(tick.channels)),
    }


_NUMBERS_PARAMETER = """const double *restrict double_numbers,
    const int *restrict int_numbers, """


def _comment(plan: Plan, values: bool) -> str:
    tick = plan.tick
    first, value = (", at first {!r}", ", {!r}") if values else ("", "")
    rows = [f"{tick.name}: one tick of {tick.period!r} s. Written by bondloop; changes here are lost.", ""]
    rows += [f"state      {plan.names(v)} = {v.name}{first.format(x)}" for v, x in tick.states.items()]
    rows += [f"line       {line.name} of {line.delay.length} ticks" for line in plan.lines]
    rows += [f"parameter  {plan.names(v)} = {v.name}{value.format(x)}" for v, x in tick.parameters.items()]
    rows += [f"in[{i}]      {plan.names(v)} = {v.name}" for i, v in enumerate(tick.inputs)]
    for i, channel in enumerate(tick.channels):
        unit = f", in {channel.unit}" if channel.unit else ""
        bound = f", at most {tick.bounds[channel.name]!r} in magnitude" if channel.name in tick.bounds else ""
        rows.append(f"channels[{i}] {channel.name}{unit}{bound}")
    safe = (" ".join(row.replace("*/", "* /").replace("/*", "/ *").split("\n")) for row in rows)
    return "/* " + "\n * ".join(safe).replace(" \n", "\n") + "\n */\n"


def _structures(plan: Plan) -> str:
    lines = [f"{line.name}[{line.delay.length}]" for line in plan.lines]
    parts = {"state": plan.scalar_names, "parameters": plan.names.all(plan.parameters), "lines": lines}
    return "".join(
        structure(f"{plan.tick.name}_{what}", members)
        for what, members in parts.items()
        if members or what != "lines"
    )


def _outside(plan: Plan) -> str:
    """Return the check of the channels: the usual case is one test, the search for the culprit another."""
    name, tests = plan.tick.name, plan.inside("channels")
    if not tests:
        return f"#define {name}_outside(channels) (-1)\n"
    search = "".join(f"    if (!({test}))\n        return {i};\n" for i, test in enumerate(tests))
    return (
        "/* The first channel beyond its bound or not a number; -1 if there is none. */\n"
        f"static inline long {name}_outside(const double *channels)\n{{\n{search}    return -1;\n}}\n"
    )
