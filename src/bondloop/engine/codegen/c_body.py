"""The statements of a tick in C."""

from __future__ import annotations

from collections.abc import Sequence

from bondloop.engine.codegen import policy
from bondloop.engine.codegen.c_groups import CGroups, Group
from bondloop.engine.codegen.c_newton import newton_lines
from bondloop.engine.codegen.c_products import CProducts
from bondloop.engine.codegen.c_text import CTables, CText
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


class CBody:
    """Writes statements, and remembers which tables and helpers they need."""

    kind = "double"
    """The type of a variable."""

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
            policy.POLICY.grouped_around_arrays if arrays else policy.POLICY.grouped_from
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
        lines += [f"const {self.kind} {kept} = {self._place(v)};" for v, kept in plan.kept.items()]
        lines += [f"{self.kind_of(v)} {name(v)} = {self._value(v, ZERO)};" for v in plan.hoisted]
        lines += self.steps(plan.tick.steps)
        self._places |= plan.kept
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
            if i - first >= policy.POLICY.band_rows:
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
        return len(step.targets) > policy.POLICY.named_results and not is_tiny(step)

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
        self.text.used.add(f"solve{n}" if n <= 2 else "solve")
        if n == 1:
            return [f"const double change = {self.prefix}_solve1({matrix[0]}, {right[0]}, status);"], [
                "change"
            ]
        size, solver = (f"{n}, ", "solve") if n > 2 else ("", "solve2")
        solve = [
            f"double change[{n}] = {{{', '.join(right)}}};",
            f"double matrix[{n * n}] = {{{', '.join(matrix)}}};",
            f"{self.prefix}_{solver}({size}matrix, change, status);",
        ]
        return solve, [f"change[{i}]" for i in range(n)]
