"""A tick for many tests at once, in CUDA C++: one test in each thread of a graphics processor.

The statements are those of one test, as C has them. Values that are the same for all tests and cost more than
they are worth (sines of the time) are tabulated once, by a kernel of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.compile.c_body import CBody
from bondloop.compile.c_helpers import helpers
from bondloop.compile.plan import BEYOND, NOT_A_NUMBER, SINGULAR, UNCONVERGED, UNSETTLED, Line, Plan, wanted
from bondloop.compile.wide_variables import wide_variables
from bondloop.program.expr import FUNCTIONS, Expr, Op, Var, variables
from bondloop.program.schedule import Assign
from bondloop.program.tick import every

if TYPE_CHECKING:
    from bondloop.program.tick import Step, Tick

__all__ = ["CudaSource", "write_cuda"]


@dataclass(frozen=True)
class CudaSource:
    """A source file, and what it needs.

    Attributes
    ----------
    text
        CUDA C++; the kernels are ``NAME_tests`` and, where something is tabulated, ``NAME_same``.
    tabulated
        Doubles a tick that are tabulated.
    """

    text: str
    tabulated: int


def write_cuda(tick: Tick, varied: Sequence[Var]) -> CudaSource:
    """Write a tick as CUDA C++.

    Parameters
    ----------
    tick
        What to write; the values of parameters that are not varied are literals.
    varied
        Parameters that differ from test to test, in their order in memory.
    """
    plan = Plan(tick)
    body = CudaBody(plan, varied)
    lines = body.write()
    table, many = body.tabulated, len(body.tabulated)
    scalars = [*plan.names.all(plan.states), *(line.at for line in plan.lines), *plan.warm_names]
    chosen = plan.names.all(varied)
    members = [("NAME_state", scalars), ("NAME_varied", chosen)]
    structures = "".join(
        f"struct {name} {{\n" + "".join(f"    double {m};\n" for m in names or ["nothing"]) + "};\n\n"
        for name, names in members
    )
    load = [f"own.{name} = state[{j}*tests + test];" for j, name in enumerate(scalars)]
    load += [f"given.{name} = varied[{j}*tests + test];" for j, name in enumerate(chosen)]
    save = [f"state[{j}*tests + test] = own.{name};" for j, name in enumerate(scalars)]
    shared = [f"const double {plan.names(v)} = same[i*{many} + {j}];" for j, v in enumerate(table)]
    parts = [
        f"// {tick.name}: a test in each thread. Written by bondloop; changes here are lost.\n",
        _PREAMBLE,
        f"enum {{ NAME_SINGULAR = {SINGULAR}, NAME_UNCONVERGED = {UNCONVERGED}, NAME_UNSETTLED = {UNSETTLED} }};\n",
        structures,
        *(f"__device__ {t}" for t in body.tables),
        helpers(body.text.used, tick.name).replace("static ", "static __device__ "),
        _same(body) if table else "",
        _TESTS.replace("@LOAD@", _indented(load, 1))
        .replace("@SHARED@", _indented(shared, 2))
        .replace("@BODY@", _indented(lines, 2))
        .replace("@OUTSIDE@", _indented(_outside(plan), 2))
        .replace("@SAVE@", _indented(save, 1))
        .replace("@ROW@", str(max(1, len(tick.channels))))
        .replace("@INPUTS@", str(len(tick.inputs)))
        .replace("@SCALARS@", str(plan.scalars)),
    ]
    text = "\n".join(part for part in parts if part).replace("NAME_", f"{tick.name}_")
    return CudaSource(text, many)


def _indented(lines: Sequence[str], depth: int) -> str:
    return "\n".join("    " * depth + line for line in lines)


def _outside(plan: Plan) -> list[str]:
    rows = []
    for i, channel in enumerate(plan.tick.channels):
        bound = plan.tick.bounds.get(channel.name, math.inf)
        good = f"fabs(channels[{i}]) <= {bound!r}" if math.isfinite(bound) else f"channels[{i}] == channels[{i}]"
        rows.append(f"if (channel < 0 && !({good}))")
        rows.append(f"    channel = {i};")
    return rows


def _same(body: CudaBody) -> str:
    lines = body.same
    lines += [f"same[i*{len(body.tabulated)} + {j}] = {body.plan.names(v)};" for j, v in enumerate(body.tabulated)]
    return _SAME.replace("@BODY@", _indented(lines, 1))


class CudaBody(CBody):
    """Writes the statements of one test; what is the same for all is set aside."""

    def __init__(self, plan: Plan, varied: Sequence[Var]) -> None:
        super().__init__(plan)
        self._groups = None
        fixed = {v: x for v, x in plan.tick.parameters.items() if v not in set(varied)}
        self._places |= {v: f"({x!r})" if x < 0 else repr(float(x)) for v, x in fixed.items()}
        self.tabulated, costly, leading = _tabulated(plan, varied)
        self._set_aside = {id(step) for step in costly}
        self.same = self._assigned(leading)

    def _step(self, step: Step) -> list[str]:
        return [] if id(step) in self._set_aside else super()._step(step)

    def _element(self, line: Line, at: str) -> str:
        return f"lines[({line.offset - self.plan.scalars} + (long long){at})*tests]"


def _tabulated(plan: Plan, varied: Sequence[Var]) -> tuple[list[Var], list[Assign], list[Assign]]:
    """Return the variables to be tabulated, what computes them or each other, and all that leads to them."""
    tick = plan.tick
    wide = wide_variables(tick, varied)
    hoisted, before = set(plan.hoisted), {tick.time, tick.count, *tick.parameters}
    aside: list[Assign] = []
    known: set[Var] = set()
    for step in tick.steps:
        if isinstance(step, Assign) and step.target not in wide and step.target not in hoisted:
            if all(v in before or v in known for v in variables(step.expr)):
                aside.append(step)
                known.add(step.target)
    costly = [s for s in aside if _calls(s.expr)]
    kept = {id(s) for s in costly}
    read = {v for s in every(tick.steps) if id(s) not in kept for v in s.reads}
    read |= {v for c in tick.channels for v in variables(c.value)}
    table = [s.target for s in costly if s.target in read]
    return table, costly, wanted(aside, set(table))


def _calls(expr: Expr) -> bool:
    if not isinstance(expr, Op):
        return False
    return (expr.name in FUNCTIONS and expr.name not in ("fabs", "fmin", "fmax", "floor", "sign")) or any(
        _calls(a) for a in expr.args
    )


_PREAMBLE = """\
#if !defined(NAN)
#define NAN __longlong_as_double(0x7ff8000000000000ll)
#define INFINITY __longlong_as_double(0x7ff0000000000000ll)
#endif
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
"""

_SAME = """\
// What is the same for all tests, a thread for each tick.
extern "C" __global__ void NAME_same(long long steps, long long first, double period, double *same)
{
    const long long i = (long long)blockIdx.x*blockDim.x + threadIdx.x;
    if (i >= steps)
        return;
    const double k = (double)(first + i), t = k*period;
    (void)t;
@BODY@
}
"""

_TESTS = f"""\
// A test in each thread. State, lines and varied values lie value by value, each with all tests side by side.
extern "C" __global__ void NAME_tests(long long tests, long long steps, long long first, double period,
    const double *inputs, const double *same, double *state, const double *varied, long long *ends)
{{
    const long long test = (long long)blockIdx.x*blockDim.x + threadIdx.x;
    if (test >= tests || ends[test] != 0)
        return;
    NAME_state own, *const s = &own;
    NAME_varied given, *const p = &given;
    double *const lines = state + @SCALARS@*tests + test;
    int failed = 0, *const status = &failed;
    (void)s, (void)p, (void)lines, (void)inputs, (void)same, (void)status;
@LOAD@
    for (long long i = 0; i < steps; ++i) {{
        const double k = (double)(first + i), t = k*period;
        const double *const in = inputs + i*@INPUTS@;
        double channels[@ROW@];
        long long channel = -1;
        (void)t, (void)in, (void)channels;
@SHARED@
@BODY@
@OUTSIDE@
        if (channel >= 0 || failed) {{
            if (channel >= 0)
                failed |= channels[channel] != channels[channel] ? {NOT_A_NUMBER} : {BEYOND};
            ends[test] = failed;
            ends[tests + test] = first + i;
            ends[2*tests + test] = channel;
            break;
        }}
    }}
@SAVE@
}}
"""
