"""A tick as C99: readable, static memory only, nothing beyond ``math.h``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.engine.analysis.spectrum import collection_paused
from bondloop.engine.codegen import policy
from bondloop.engine.codegen.c_body import CBody
from bondloop.engine.codegen.c_helpers import helpers
from bondloop.engine.codegen.c_text import REFUSAL
from bondloop.engine.codegen.plan import BEYOND, NOT_A_NUMBER, SINGULAR, UNCONVERGED, UNSETTLED, Plan

if TYPE_CHECKING:
    from bondloop.engine.codegen.c_text import Numbers
    from bondloop.engine.ir import Tick


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
    large = len(lines) > policy.POLICY.inlined_lines
    noise = "#include <stdint.h>\n" if body.text.used & {"uniform", "normal"} else ""
    numbers = body.tables.apart() if apart else None
    fill = _Filler(plan, large or plan.scalars > policy.POLICY.states_in_registers, body.cells, numbers)
    parts = [
        _comment(plan, values),
        f"#include <math.h>\n{noise}",
        REFUSAL,
        *body.text.sources,
        fill(_PREAMBLE),
        _structures(plan),
        *(body.tables if numbers is None else numbers.lines),
        fill(_NUMBERS) if numbers else "",
        fill(_CELLS) if body.cells else "",
        helpers(body.text.used, tick.name),
        fill(_TICK) + "\n".join(f"    {line}" for line in lines) + "\n}\n",
        _outside(plan),
        fill(_RUN),
        fill(_ONCE),
    ]
    return "\n".join(part for part in parts if part), large, numbers


class _Filler:
    """Puts a tick's name and sizes into a template."""

    def __init__(self, plan: Plan, in_memory: bool, cells: int, numbers: Numbers | None) -> None:
        tick = plan.tick
        self.words = {
            "LINES_PARAMETER": "NAME_lines *lines, " if plan.lines else "",
            "LINES_ARGUMENT": "(NAME_lines *)(state + N_SCALARS), " if plan.lines else "",
            "TICK_KIND": "static" if in_memory else "NAME_INLINE",
            "COPY_IN": "NAME_state *const s = (NAME_state *)state" if in_memory else _COPY_IN,
            "COPY_OUT": "" if in_memory else _COPY_OUT,
            "THE_STATE": "s" if in_memory else "&s",
            "CELLS_PARAMETER": "double *restrict cells, " if cells else "",
            "CELLS_ARGUMENT": "NAME_own_cells(), " if cells else "",
            "N_CELLS": str(cells),
            "NUMBERS_PARAMETER": _NUMBERS_PARAMETER if numbers else "",
            "NUMBERS_ARGUMENT": "NAME_doubles, NAME_ints, " if numbers else "",
            "DIGEST": numbers.digest if numbers else "",
            "N_SCALARS": str(plan.scalars),
            "N_STATE": str(plan.size),
            "N_INPUTS": str(len(tick.inputs)),
            "N_PARAMETERS": str(max(1, len(plan.parameters))),
            "N_CHANNELS": str(len(tick.channels)),
            "N_ROW": str(max(1, len(tick.channels))),
            "NAME_": f"{tick.name}_",
        }

    def __call__(self, template: str) -> str:
        for word, value in self.words.items():
            template = template.replace(word, value)
        return template


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
    name = plan.tick.name
    text = _structure(f"{name}_state", plan.scalar_names) + _structure(
        f"{name}_parameters", plan.names.all(plan.parameters)
    )
    if plan.lines:
        text += _structure(f"{name}_lines", [f"{line.name}[{line.delay.length}]" for line in plan.lines])
    return text


def _structure(name: str, members: list[str]) -> str:
    rows = "".join(f"    double {member};\n" for member in members or ["nothing"])
    return f"typedef struct {{\n{rows}}} {name};\n\n"


def _outside(plan: Plan) -> str:
    """Return the check of the channels: the usual case is one test, the search for the culprit another."""
    tick = plan.tick
    tests = []
    for i, channel in enumerate(tick.channels):
        bound = plan.bound(channel.name)
        if bound is not None:
            tests.append(f"!(fabs(channels[{i}]) <= {bound!r})")
        else:
            tests.append(f"channels[{i}] != channels[{i}]")
    if not tests:
        return f"#define {tick.name}_outside(channels) (-1)\n"
    search = "".join(f"    if ({test})\n        return {i};\n" for i, test in enumerate(tests))
    return (
        "/* The first channel beyond its bound or not a number; -1 if there is none. */\n"
        f"static inline long {tick.name}_outside(const double *channels)\n{{\n{search}    return -1;\n}}\n"
    )


_COPY_IN = "NAME_state s = *(const NAME_state *)state"
_COPY_OUT = "    *(NAME_state *)state = s;\n"
"""A local copy of the states, which a small tick keeps in registers for the whole run."""

_PREAMBLE = f"""\
#if defined(_WIN32)
#define NAME_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define NAME_EXPORT __attribute__((visibility("default")))
#else
#define NAME_EXPORT
#endif
#if defined(__GNUC__)
#define NAME_INLINE static inline __attribute__((always_inline))
#else
#define NAME_INLINE static inline
#endif

/* Bits of a status: why a run stopped. */
enum {{ NAME_BEYOND = {BEYOND}, NAME_NOT_A_NUMBER = {NOT_A_NUMBER}, NAME_SINGULAR = {SINGULAR}, \
NAME_UNCONVERGED = {UNCONVERGED}, NAME_UNSETTLED = {UNSETTLED} }};

/* Doubles in the state, the inputs of a tick, the parameters, the channels. */
extern NAME_EXPORT const long NAME_counts[4];
const long NAME_counts[4] = {{N_STATE, N_INPUTS, N_PARAMETERS, N_CHANNELS}};
"""

_CELLS = """\
#if defined(_MSC_VER)
#define NAME_OF_THREAD __declspec(thread)
#define NAME_APART __declspec(noinline)
#elif defined(__GNUC__)
#define NAME_OF_THREAD __thread
#define NAME_APART __attribute__((noinline))
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define NAME_OF_THREAD _Thread_local
#else
#define NAME_OF_THREAD
#endif
#if !defined(NAME_APART)
#define NAME_APART
#endif

/* What a tick computes on its way and loops over many variables need: too much for a stack. Nothing in it
   outlives the tick. */
static NAME_OF_THREAD double NAME_cells[N_CELLS];

/* Apart, or gcc looks for the thread's memory in every turn of every loop: three times as long. */
static NAME_APART double *NAME_own_cells(void)
{
    return NAME_cells;
}
"""

_NUMBERS_PARAMETER = """const double *restrict double_numbers,
    const int *restrict int_numbers, """

_NUMBERS = """\
/* Large tables, DIGEST: whoever loads the library hands them over once, and keeps them. */
static const double *NAME_doubles;
static const int *NAME_ints;

NAME_EXPORT void NAME_take(const double *doubles, const int *ints);
void NAME_take(const double *doubles, const int *ints)
{
    NAME_doubles = doubles;
    NAME_ints = ints;
}
"""

_TICK = """\
TICK_KIND void NAME_tick(NAME_state *s, LINES_PARAMETERCELLS_PARAMETERNUMBERS_PARAMETER\
const NAME_parameters *p,
    const double *in, double t, double k, double *channels, int *status)
{
    (void)s, (void)p, (void)in, (void)t, (void)k, (void)channels, (void)status;
"""

_RUN = """\
/* Executes ticks `first`, `first` + 1, ...; records those whose number `every` divides; stops at a fault.
   The state holds the NAME_state and behind it the delay lines. */
NAME_EXPORT int NAME_run(long steps, long first, double period, const double *inputs, double *state,
    const double *parameters, double *record, long every, long *stopped_at, long *stopped_channel)
{
    COPY_IN;
    const NAME_parameters p = *(const NAME_parameters *)parameters;
    long wait = (every - first % every) % every;
    int status = 0;
    *stopped_at = -1;
    *stopped_channel = -1;
    for (long i = 0; i < steps; ++i) {
        const double k = (double)(first + i);
        double row[N_ROW];
        NAME_tick(THE_STATE, LINES_ARGUMENTCELLS_ARGUMENTNUMBERS_ARGUMENT&p, inputs,
            k*period, k, row, &status);
        inputs += N_INPUTS;
        if (wait == 0) {
            for (int j = 0; j < N_CHANNELS; ++j)
                record[j] = row[j];
            record += N_CHANNELS;
            wait = every;
        }
        --wait;
        const long channel = NAME_outside(row);
        if (channel >= 0 || status) {
            if (channel >= 0)
                status |= row[channel] != row[channel] ? NAME_NOT_A_NUMBER : NAME_BEYOND;
            *stopped_at = first + i;
            *stopped_channel = channel;
            break;
        }
    }
COPY_OUT    return status;
}
"""

_ONCE = """\
/* Executes one tick in place, for a loop that is paced elsewhere; the channels are checked as in a run. */
NAME_EXPORT int NAME_tick_once(double *state, const double *parameters, const double *in, double t, double k,
    double *channels)
{
    int status = 0;
    const NAME_parameters *p = (const NAME_parameters *)parameters;
    NAME_tick((NAME_state *)state,
        LINES_ARGUMENTCELLS_ARGUMENTNUMBERS_ARGUMENTp, in, t, k, channels, &status);
    const long channel = NAME_outside(channels);
    if (channel >= 0)
        status |= channels[channel] != channels[channel] ? NAME_NOT_A_NUMBER : NAME_BEYOND;
    return status;
}
"""
