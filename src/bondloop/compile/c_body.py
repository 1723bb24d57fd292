"""The statements of a tick in C."""

from __future__ import annotations

from bondloop.compile.expressions import CText
from bondloop.compile.plan import LOOP_TOLERANCE, STEP_TOLERANCE, Plan, sparse, unrolled
from bondloop.program.expr import Const, Expr, Var, variables
from bondloop.program.schedule import Assign, Loop
from bondloop.program.tick import Delay, Product, Repeat, Step, Update

__all__ = ["CBody"]


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
        self._products = 0

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
        return self._places.get(v) or self.plan.names(v)

    def _declared(self, v: Var, kind: str = "const double") -> str:
        return self._place(v) if v in self._hoisted or v in self._places else f"{kind} {self.plan.names(v)}"

    def _update(self, step: Update) -> list[str]:
        """All at once: a state that a later pair still needs is changed only at the end."""
        lines, last = [], []
        for i, (v, expr) in enumerate(step.pairs):
            later = {u for _, e in step.pairs[i + 1 :] for u in variables(e)}
            if v in later:
                temporary = self.plan.names.fresh(f"{v.name}_next")
                lines.append(f"const double {temporary} = {self.text(expr)};")
                last.append(f"{self._place(v)} = {temporary};")
            else:
                lines.append(f"{self._place(v)} = {self.text(expr)};")
        return lines + last

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
        self._products += 1
        n, m, index = len(step.targets), len(step.sources), self._products
        result = self.plan.names.fresh(f"product_{index}")
        sources = ", ".join(self.text(e) for e in step.sources)
        few = sparse(step)
        body = (
            self._sparse_product(few, index, n, result) if few else self._dense_product(step, index, result)
        )
        return [
            f"double {result}[{n}] = {{0.0}};",
            "{",
            f"    const double x[{m}] = {{{sources}}};",
            *(f"    {line}" for line in body),
            "}",
            *(f"{self._declared(v)} = {result}[{i}];" for i, v in enumerate(step.targets)),
        ]

    def _sparse_product(self, few: object, index: int, n: int, result: str) -> list[str]:
        from bondloop.compile.plan import Sparse

        assert isinstance(few, Sparse)
        start, column, value = (f"{self.prefix}_{what}_{index}" for what in ("starts", "columns", "values"))
        numbers = ", ".join(self.text.number(v) for v in few.values)
        self.tables += [
            f"static const int {start}[{n + 1}] = {{{', '.join(map(str, few.starts))}}};",
            f"static const int {column}[{len(few.columns)}] = {{{', '.join(map(str, few.columns))}}};",
            f"static const double {value}[{len(few.values)}] = {{{numbers}}};",
        ]
        return [
            f"for (int i = 0; i < {n}; ++i)",
            f"    for (int j = {start}[i]; j < {start}[i + 1]; ++j)",
            f"        {result}[i] += {value}[j]*x[{column}[j]];",
        ]

    def _dense_product(self, step: Product, index: int, result: str) -> list[str]:
        """Column by column: it vectorises, and the order of summation is fixed."""
        n, m = len(step.targets), len(step.sources)
        table = f"{self.prefix}_matrix_{index}"
        columns = (", ".join(self.text.number(float(step.matrix[i, j])) for i in range(n)) for j in range(m))
        rows = ",\n".join(f"    {{{column}}}" for column in columns)
        self.tables.append(f"static const double {table}[{m}][{n}] = {{\n{rows}\n}};")
        return [
            f"for (int j = 0; j < {m}; ++j)",
            f"    for (int i = 0; i < {n}; ++i)",
            f"        {result}[i] += {table}[j][i]*x[j];",
        ]

    def _repeat(self, step: Repeat) -> list[str]:
        i = self.plan.names.fresh("turn")
        return [
            f"for (int {i} = 0; {i} < {step.count}; ++{i}) {{",
            f"    {self._declared(step.counter)} = (double){i};",
            *(f"    {line}" for line in self.steps(step.body)),
            "}",
        ]

    def _loop(self, loop: Loop) -> list[str]:
        """Newton's method: solve (I - J) change = definition - tear, a fixed number of times."""
        body = [f"{self._declared(a.target)} = {self.text(a.expr)};" for a in loop.body]
        tangents = [f"{self._declared(a.target)} = {self.text(a.expr)};" for a in loop.tangents]
        tears = [self._place(t) for t in loop.tears]
        n = len(tears)
        residual = [f"{self.text(d - t)}" for d, t in zip(loop.definitions, loop.tears, strict=True)]
        matrix = [
            self.text(_newton(i, j, e)) for i, row in enumerate(loop.jacobian) for j, e in enumerate(row)
        ]
        solver = f"solve{n}" if n <= 2 else "solve"
        self.text.used.add(solver)
        if n == 1:
            solve = [f"const double change = {self.prefix}_solve1({matrix[0]}, {residual[0]}, status);"]
            change = ["change"]
        else:
            size = f"{n}, " if n > 2 else ""
            solve = [
                f"double change[{n}] = {{{', '.join(residual)}}};",
                f"double matrix[{n * n}] = {{{', '.join(matrix)}}};",
                f"{self.prefix}_{solver}({size}matrix, change, status);",
            ]
            change = [f"change[{i}]" for i in range(n)]
        inside = [*body, *tangents, *solve, *(f"{t} += {c};" for t, c in zip(tears, change, strict=True))]
        lines = [f"{self._declared(t, 'double')} = 0.0;" for t in loop.tears]
        if loop.iterations == 1:
            return [*lines, "{", *(f"    {line}" for line in inside), "}", *body]
        i = self.plan.names.fresh("newton")
        small = " && ".join(
            f"fabs({c}) <= {STEP_TOLERANCE!r}*fabs({t})" for t, c in zip(tears, change, strict=True)
        )
        wrong = " && ".join(
            f"fabs({r}) <= {LOOP_TOLERANCE!r}*(1.0 + fabs({t}))" for r, t in zip(residual, tears, strict=True)
        )
        return [
            *lines,
            f"for (int {i} = 0; {i} < {loop.iterations}; ++{i}) {{",
            *(f"    {line}" for line in inside),
            f"    if ({small})",
            "        break;",
            "}",
            *body,
            f"if (!({wrong}))",
            f"    *status |= {self.prefix}_UNCONVERGED;",
        ]


def _newton(i: int, j: int, entry: Expr) -> Expr:
    """Return an entry of I - J."""
    return Const(1.0 if i == j else 0.0) - entry
