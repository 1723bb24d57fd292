"""The statements of a tick in C."""

from __future__ import annotations

from bondloop.compile.bands import LONG
from bondloop.compile.c_products import CProducts
from bondloop.compile.expressions import CText
from bondloop.compile.plan import LOOP_TOLERANCE, Plan, unrolled
from bondloop.program.evaluator import STEP_TOLERANCE
from bondloop.program.expr import Const, Expr, Var, variables
from bondloop.program.schedule import Assign, Loop
from bondloop.program.tick import Delay, Product, Repeat, Step, Update

__all__ = ["CBody"]

NAMED = 64
"""Most results of a product that get names of their own; of more, each stays an element of the array."""


class CBody:
    """Writes statements, and remembers which tables and helpers they need."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.prefix = plan.tick.name
        self.text = CText(self._place, prefix=self.prefix)
        self.tables: list[str] = []
        self._places = {v: f"s->{plan.names(v)}" for v in plan.states}
        self._places |= {v: f"p->{plan.names(v)}" for v in plan.parameters}
        self._hoisted = set(plan.hoisted)
        self._offsets = {v: i for i, v in enumerate(plan.states)}
        self._elements: dict[Var, tuple[str, int]] = {}
        self._products = CProducts(plan, self.text, self.tables)
        self._counted = 0

    def write(self) -> list[str]:
        """Return the lines of the tick's body: hoisted variables, statements, channels."""
        plan, name = self.plan, self.plan.names
        lines = [f"const double {name(v)} = in[{i}];" for i, v in enumerate(plan.tick.inputs)]
        lines += [f"const double {kept} = {self._place(v)};" for v, kept in plan.kept.items()]
        lines += [f"double {name(v)} = 0.0;" for v in plan.hoisted]
        lines += self.steps(plan.tick.steps)
        self._places |= plan.kept
        for i, channel in enumerate(plan.tick.channels):
            lines.append(f"channels[{i}] = {self.text(channel.value)};")
        return lines

    def steps(self, steps: tuple[Step, ...]) -> list[str]:
        """Return the lines of several statements."""
        return [line for step in steps for line in self._step(step)]

    def _step(self, step: Step) -> list[str]:
        if isinstance(step, Assign):
            return [f"{self._declared(step.target)} = {self.text(step.expr)};"]
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

    def _declared(self, v: Var, kind: str = "const double") -> str:
        return self._place(v) if v in self._hoisted or v in self._places else f"{kind} {self.plan.names(v)}"

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
                lines.append(f"const double {temporary} = {self.text(expr)};")
                last.insert(0, f"{self._place(v)} = {temporary};")
            else:
                lines.append(f"{self._place(v)} = {self.text(expr)};")
        return lines + last

    def _copies(self, step: Update) -> list[range]:
        """Return the runs of pairs that copy neighbours in a product to neighbours in the state."""
        runs, first = [], 0
        for i in range(1, len(step.pairs) + 1):
            if i < len(step.pairs) and self._follows(step.pairs[i - 1], step.pairs[i]):
                continue
            if i - first >= LONG:
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
            f"    ((double *)s)[{self._offsets[v]} + i] = {result}[{i} + i];",
        ]

    def _delay(self, step: Delay) -> list[str]:
        line = self.plan.line(step)
        here = f"lines->{line.name}[(int)s->{line.at}]"
        return [
            f"{self._declared(step.target)} = {here};",
            f"{here} = {self.text(step.source)};",
            f"s->{line.at} = s->{line.at} < {float(step.length - 1)!r} ? s->{line.at} + 1.0 : 0.0;",
        ]

    def _product(self, step: Product) -> list[str]:
        assigns = unrolled(step, self.plan.names)
        if assigns is not None:
            return self.steps(tuple(assigns))
        self._counted += 1
        n, result = len(step.targets), self.plan.names.fresh(f"product_{self._counted}")
        lines = self._products.write(step, result)
        for i, v in enumerate(step.targets):
            if n > NAMED and v not in self._hoisted and v not in self._places:
                self._elements[v] = (result, i)
            else:
                lines.append(f"{self._declared(v)} = {result}[{i}];")
        return lines

    def _repeat(self, step: Repeat) -> list[str]:
        i = self.plan.names.fresh("turn")
        return [
            f"for (int {i} = 0; {i} < {step.count}; ++{i}) {{",
            f"    {self._declared(step.counter)} = (double){i};",
            *(f"    {line}" for line in self.steps(step.body)),
            "}",
        ]

    def _loop(self, loop: Loop) -> list[str]:
        """Newton's method: solve (I - J) change = definition - tear, a bounded number of times."""
        body = [f"{self._declared(a.target)} = {self.text(a.expr)};" for a in loop.body]
        tangents = [f"{self._declared(a.target)} = {self.text(a.expr)};" for a in loop.tangents]
        tears = [self._place(t) for t in loop.tears]
        n = len(tears)
        residual = [f"{self.text(d - t)}" for d, t in zip(loop.definitions, loop.tears, strict=True)]
        matrix = [
            self.text(_newton(i, j, e)) for i, row in enumerate(loop.jacobian) for j, e in enumerate(row)
        ]
        self.text.used.add(f"solve{n}" if n <= 2 else "solve")
        lines = [f"{self._declared(t, 'double')} = 0.0;" for t in loop.tears]
        if loop.iterations == 1:
            solve, change = self._solved(n, residual, matrix)
            added = [f"{t} += {c};" for t, c in zip(tears, change, strict=True)]
            inside = [*body, *tangents, *solve, *added]
            return [*lines, "{", *(f"    {line}" for line in inside), "}", *body]
        damped = [f"    {line}" for line in self._damped(loop, body, tangents, matrix)]
        return [*lines, "{", *damped, "}", *body, *self._wrong(residual, tears)]

    def _solved(self, n: int, right: list[str], matrix: list[str]) -> tuple[list[str], list[str]]:
        """Return lines that solve n equations, and the names of the solution."""
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

    def _damped(self, loop: Loop, body: list[str], tangents: list[str], matrix: list[str]) -> list[str]:
        """Return the iteration: a step that makes the residual no smaller is halved.

        What is large is measured by the first step, since tears have units of their own. Where the slope is
        infinite (a root at zero) the step is the residual.
        """
        tears = [self._place(t) for t in loop.tears]
        n, each = len(tears), range(len(tears))
        residual = [f"{self.text(d - t)}" for d, t in zip(loop.definitions, loop.tears, strict=True)]
        i = self.plan.names.fresh("newton")
        solve, change = self._solved(n, [f"residual[{k}]" for k in each], matrix)
        size = " + ".join(f"fabs(residual[{k}])*scale[{k}]" for k in each)
        finite = " && ".join(f"{c} - {c} == 0.0" for c in change)
        good = f"({' || '.join(f'{c} != 0.0' for c in change)}) && {finite}"
        small = " && ".join(f"fabs(step[{k}]) <= {STEP_TOLERANCE!r}*fabs({t})" for k, t in enumerate(tears))
        return [
            f"double kept[{n}] = {{0.0}}, step[{n}] = {{0.0}}, scale[{n}] = {{{', '.join(['1.0'] * n)}}};",
            "double least = INFINITY;",
            f"for (int {i} = 0; {i} < {loop.iterations}; ++{i}) {{",
            *(f"    {line}" for line in body),
            f"    const double residual[{n}] = {{{', '.join(residual)}}};",
            f"    if ({' && '.join(f'residual[{k}] == 0.0' for k in each)})",
            "        break;",
            f"    double size = {size};",
            f"    if ({i} && !(size < least)) {{",
            *(f"        step[{k}] *= 0.5;" for k in each),
            "    } else {",
            *(f"        {line}" for line in [*tangents, *solve]),
            f"        const int good = {good};",
            *(f"        step[{k}] = good ? {c} : residual[{k}];" for k, c in enumerate(change)),
            f"        if (!{i}) {{",
            *(f"            scale[{k}] = step[{k}] != 0.0 ? 1.0/fabs(step[{k}]) : 1.0;" for k in each),
            f"            size = {size};",
            "        }",
            "        least = size;",
            *(f"        kept[{k}] = {t};" for k, t in enumerate(tears)),
            "    }",
            *(f"    {t} = kept[{k}] + step[{k}];" for k, t in enumerate(tears)),
            f"    if ({small})",
            "        break;",
            "}",
        ]

    def _wrong(self, residual: list[str], tears: list[str]) -> list[str]:
        right = " && ".join(
            f"fabs({r}) <= {LOOP_TOLERANCE!r}*(1.0 + fabs({t}))" for r, t in zip(residual, tears, strict=True)
        )
        return [f"if (!({right}))", f"    *status |= {self.prefix}_UNCONVERGED;"]


def _newton(i: int, j: int, entry: Expr) -> Expr:
    """Return an entry of I - J."""
    return Const(1.0 if i == j else 0.0) - entry
