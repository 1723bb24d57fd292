"""A tick for many tests at once, in CUDA C++: one test in each thread of a graphics processor.

The statements are those of one test, as C has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bondloop.compile.c_body import CBody
from bondloop.compile.c_helpers import helpers
from bondloop.compile.lane_helpers import LOOP_CODES
from bondloop.compile.plan import BEYOND, NOT_A_NUMBER, Line, Plan

if TYPE_CHECKING:
    from bondloop.program.expr import Var
    from bondloop.program.tick import Tick

__all__ = ["write_cuda"]


def write_cuda(tick: Tick, varied: Sequence[Var]) -> str:
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
    scalars = plan.scalar_names
    chosen = plan.names.all(varied)
    members = [("NAME_state", scalars), ("NAME_varied", chosen)]
    structures = "".join(
        f"struct {name} {{\n" + "".join(f"    double {m};\n" for m in names or ["nothing"]) + "};\n\n"
        for name, names in members
    )
    load = [f"own.{name} = state[{j}*tests + test];" for j, name in enumerate(scalars)]
    load += [f"given.{name} = varied[{j}*tests + test];" for j, name in enumerate(chosen)]
    save = [f"state[{j}*tests + test] = own.{name};" for j, name in enumerate(scalars)]
    parts = [
        f"// {tick.name}: a test in each thread. Written by bondloop; changes here are lost.\n",
        _PREAMBLE,
        LOOP_CODES,
        structures,
        *(f"__device__ {t}" for t in body.tables),
        helpers(body.text.used, tick.name).replace("static ", "static __device__ "),
        _TESTS.replace("@LOAD@", _indented(load, 1))
        .replace("@BODY@", _indented(lines, 2))
        .replace("@OUTSIDE@", _indented(_outside(plan), 2))
        .replace("@SAVE@", _indented(save, 1))
        .replace("@ROW@", str(max(1, len(tick.channels))))
        .replace("@INPUTS@", str(len(tick.inputs)))
        .replace("@SCALARS@", str(plan.scalars)),
    ]
    return "\n".join(part for part in parts if part).replace("NAME_", f"{tick.name}_")


def _indented(lines: Sequence[str], depth: int) -> str:
    return "\n".join("    " * depth + line for line in lines)


def _outside(plan: Plan) -> list[str]:
    rows = []
    for i, channel in enumerate(plan.tick.channels):
        bound = plan.bound(channel.name)
        good = f"channels[{i}] == channels[{i}]" if bound is None else f"fabs(channels[{i}]) <= {bound!r}"
        rows.append(f"if (channel < 0 && !({good}))")
        rows.append(f"    channel = {i};")
    return rows


class CudaBody(CBody):
    """Writes the statements of one test; parameters that are not varied are literals."""

    def __init__(self, plan: Plan, varied: Sequence[Var]) -> None:
        super().__init__(plan)
        self._groups = None
        self._fix(varied)

    def _element(self, line: Line, at: str) -> str:
        return f"lines[({line.offset - self.plan.scalars} + (long long){at})*tests]"


_PREAMBLE = """\
#if !defined(NAN)
#define NAN __longlong_as_double(0x7ff8000000000000ll)
#define INFINITY __longlong_as_double(0x7ff0000000000000ll)
#endif
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
"""

_TESTS = f"""\
// A test in each thread. State, lines and varied values lie value by value, each with all tests side by side.
extern "C" __global__ void NAME_tests(long long tests, long long steps, long long first, double period,
    const double *inputs, double *state, const double *varied, long long *ends)
{{
    const long long test = (long long)blockIdx.x*blockDim.x + threadIdx.x;
    if (test >= tests || ends[test] != 0)
        return;
    NAME_state own, *const s = &own;
    NAME_varied given, *const p = &given;
    double *const lines = state + @SCALARS@*tests + test;
    int failed = 0, *const status = &failed;
    (void)s, (void)p, (void)lines, (void)inputs, (void)status;
@LOAD@
    for (long long i = 0; i < steps; ++i) {{
        const double k = (double)(first + i), t = k*period;
        const double *const in = inputs + i*@INPUTS@;
        double channels[@ROW@];
        long long channel = -1;
        (void)t, (void)in, (void)channels;
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
