"""Newton's method for a loop that is not linear, in C: the twin of `program.newton`, statement by statement.

What belongs to the loop (its equations, its tangents, its laws) is written out where it stands; what is the
same for all loops is a function of the file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bondloop.compile.plan import WORST, Plan
from bondloop.program.loop_terms import curves, sizes
from bondloop.program.newton import (
    BISECTIONS,
    LAST_STEP,
    PATIENCE,
    ROUNDING,
    SHORTEST,
    STEP_TOLERANCE,
    TINY,
)
from bondloop.program.newton_text import matrix, residuals

if TYPE_CHECKING:
    from bondloop.compile.c_text import CText
    from bondloop.program.schedule import Loop

__all__ = ["NEWTON", "newton_lines"]

NEWTON = f"""
/* How far equations are from being fulfilled, beyond rounding. */
static double NAME_excess(int n, const double *residual, const double *rounding, const double *weight)
{{
    double total = 0.0;
    for (int k = 0; k < n; ++k) {{
        const double over = fabs(residual[k]) - rounding[k];
        if (!(over <= 0.0))
            total += over*weight[k];
    }}
    return total;
}}

/* The step to where the tangents are fulfilled, and how much each equation weighs; 0 where there is none. */
static int NAME_newton_step(int n, const double *matrix, const double *residual, const double *tears,
    double *work, double *change, double *step, double *weight)
{{
    int singular = 0, moves = 0;
    for (int i = 0; i < n && !singular; ++i) {{
        double size = 0.0;
        for (int j = 0; j < n; ++j)
            if (!(fabs(matrix[i*n + j]) <= size))
                size = fabs(matrix[i*n + j]);
        if (!(size > 0.0 && size < INFINITY))
            singular = 1;
        for (int j = 0; j < n; ++j)
            work[i*n + j] = matrix[i*n + j]/size;
        change[i] = residual[i]/size;
    }}
    if (!singular)
        NAME_solve(n, work, change, &singular);
    for (int k = 0; k < n && !singular; ++k) {{
        moves |= change[k] != 0.0;
        singular |= change[k] - change[k] != 0.0;
    }}
    singular |= !moves;
    for (int i = 0; i < n; ++i) {{
        double total = 0.0;
        if (singular)
            total = fabs(residual[i]);
        else
            for (int j = 0; j < n; ++j)
                total += fabs(matrix[i*n + j])*(fabs(change[j]) + fabs(tears[j]));
        weight[i] = total > {TINY!r} ? 1.0/total : 0.0;
    }}
    for (int k = 0; k < n; ++k)
        step[k] = singular ? residual[k] : change[k];
    return !singular;
}}

/* The factor by which a step that does not help is made shorter. */
static double NAME_shorter(double least, double excess)
{{
    if (!(least < INFINITY && excess < INFINITY))
        return 0.5;
    const double factor = cbrt(least/excess);
    return factor < {SHORTEST!r} ? {SHORTEST!r} : factor > 0.5 ? 0.5 : factor;
}}

/* The tear that is farthest from its definition. */
static int NAME_worst(int n, const double *tears, const double *residual)
{{
    int number = 0;
    double largest = -1.0;
    for (int k = 0; k < n; ++k) {{
        const double off = fabs(residual[k])/(fabs(tears[k]) + fabs(tears[k] + residual[k]) + {TINY!r});
        if (!(off <= largest)) {{
            number = k;
            largest = off;
            if (off - off != 0.0)
                break;
        }}
    }}
    return number;
}}
"""
"""Functions that every loop calls."""


def newton_lines(loop: Loop, plan: Plan, text: CText, declared: Callable[..., str]) -> list[str]:
    """Return the lines that solve a loop and leave its tears, and its body, in their variables."""
    text.used |= {"solve", "newton"}
    prefix, warm = plan.tick.name, plan.warm_start(loop)
    tears = [text(t) for t in loop.tears]
    n, each = len(tears), range(len(tears))
    body = [f"{declared(a.target)} = {text(a.expr)};" for a in loop.body]
    i = plan.names.fresh("newton")
    last = [f"s->{name}" for name in warm.names]
    small = " && ".join(f"fabs(step[{k}]) <= TOLERANCE*fabs({t})" for k, t in enumerate(tears))
    entries = ", ".join(text(e) for row in matrix(loop) for e in row)
    moved = [f"{t} = kept[{k}] + step[{k}];" for k, t in enumerate(tears)]
    inside = [
        f"double kept[{n}] = {{{', '.join(last)}}}, there[{n}] = {{0.0}}, step[{n}] = {{0.0}};",
        f"double rounding[{n}] = {{0.0}}, weight[{n}] = {{{', '.join(['1.0'] * n)}}}, least = INFINITY;",
        "int limited = 1, refused = 0, regular = 1, exact = 0, converged = 0;",
        f"const int warm = {' || '.join(f'kept[{k}] != 0.0' for k in each)};",
        *(f"{t} = kept[{k}];" for k, t in enumerate(tears)),
        f"for (int {i} = 0; {i} < {loop.iterations} && !converged; ++{i}) {{",
        f"    if (warm && {i} == {loop.iterations // 2}) {{",
        *(f"        {t} = kept[{k}] = step[{k}] = 0.0;" for k, t in enumerate(tears)),
        "        least = INFINITY;",
        "        limited = 1;",
        "    }",
        *(f"    {line}" for line in body),
        f"    const double residual[{n}] = {{{', '.join(text(r) for r in residuals(loop))}}};",
        f"    if ({' && '.join(f'residual[{k}] == 0.0' for k in each)}) {{",
        "        converged = 1;",
        "        break;",
        "    }",
        f"    double excess = {prefix}_excess({n}, residual, rounding, weight);",
        "    const int taken = excess < least;",
        f"    const int last = {i} + 1 == {loop.iterations} || (warm && {i} + 1 == {loop.iterations // 2});",
        "    if (taken) {",
        f"        for (int m = 0; m < {n}; ++m) {{",
        "            there[m] = residual[m];",
        "            rounding[m] = 0.0;",
        "        }",
        *(f"        kept[{k}] = {t};" for k, t in enumerate(tears)),
        "        limited = refused = exact = 0;",
        *(f"        {declared(a.target)} = {text(a.expr)};" for a in loop.tangents),
        f"        const double matrix[{n * n}] = {{{entries}}};",
        f"        double work[{n * n}], change[{n}];",
        f"        regular = {prefix}_newton_step({n}, matrix, residual, kept, work, change, step, weight);",
        f"        least = regular ? {prefix}_excess({n}, residual, rounding, weight) : INFINITY;",
        *(f"        {line}" for line in _allowed(loop, text)),
        "    }",
        "    if (last || !taken) {",
        *(f"        {line}" for line in _rounding(loop, text, declared, prefix)),
        "        if (!converged && !(taken || excess < least) && excess == 0.0) {",
        "            converged = 1;",
        "        } else if (!converged && !(taken || excess < least)) {",
        *(f"            {line}" for line in _shortened(loop, text, prefix)),
        "        }",
        "    }",
        *(f"    {line}" for line in moved),
        f"    if (!limited && regular && {small.replace('TOLERANCE', repr(STEP_TOLERANCE))})",
        "        converged = 1;",
        "}",
        f"converged = converged || (!limited && regular && {small.replace('TOLERANCE', repr(LAST_STEP))});",
        *(f"{place} = {t};" for place, t in zip(last, tears, strict=True)),
        "if (!converged) {",
        *(f"    {line}" for line in body),
        f"    const double tears[{n}] = {{{', '.join(tears)}}};",
        f"    const double residual[{n}] = {{{', '.join(text(r) for r in residuals(loop))}}};",
        f"    const int worst = {prefix}_worst({n}, tears, residual);",
        f"    s->{plan.left_over} = residual[worst];",
        f"    *status |= regular ? {prefix}_UNCONVERGED : {prefix}_SINGULAR;",
        f"    if (*status < {WORST})",
        f"        *status += {WORST}*({warm.first + 1} + worst);",
        "}",
    ]
    lines = [f"{declared(t, variable=True)} = 0.0;" for t in loop.tears]
    return [*lines, "{", *(f"    {line}" for line in inside), "}", *body]


def _rounding(loop: Loop, text: CText, declared: Callable[..., str], prefix: str) -> list[str]:
    """Lines that see whether it is rounding that keeps a step from being of help."""
    n = len(loop.tears)
    assigns, totals = sizes(loop)
    statements = [f"{declared(a.target)} = {text(a.expr)};" for a in assigns]
    return [
        "if (!limited && !exact) {",
        *(f"    {text(t)} = kept[{k}];" for k, t in enumerate(loop.tears)),
        *(f"    {line}" for line in statements),
        f"    const double size[{n}] = {{{', '.join(text(e) for e in totals)}}};",
        "    exact = 1;",
        "    converged = regular;",
        f"    for (int m = 0; m < {n}; ++m) {{",
        f"        rounding[m] = size[m] - size[m] == 0.0 ? {ROUNDING!r}*size[m] : 0.0;",
        "        converged &= fabs(there[m]) <= rounding[m];",
        "    }",
        f"    excess = {prefix}_excess({n}, residual, rounding, weight);",
        f"    least = regular ? {prefix}_excess({n}, there, rounding, weight) : INFINITY;",
        "}",
    ]


def _allowed(loop: Loop, text: CText) -> list[str]:
    """Lines that go no farther without a slope than the laws allow."""
    n, laws = len(loop.tears), _parts(loop, text)
    if not laws:
        return []
    return [
        "if (!regular) {",
        f"    double part[{n}] = {{{', '.join(['1.0'] * n)}}};",
        *(f"    {line}" for line in laws),
        f"    for (int m = 0; m < {n}; ++m)",
        "        step[m] *= part[m];",
        "}",
    ]


def _parts(loop: Loop, text: CText) -> list[str]:
    """Lines that find which part of its step each tear may go by the laws."""
    lines = []
    for curve in curves(loop):
        k, t = curve.tear, text(loop.tears[curve.tear])
        lines += [
            f"{t} = kept[{k}];",
            "{",
            f"    const double law = {text(curve.law)};",
            f"    const double promised = fabs(({text(curve.slope)})*step[{k}]);",
            "    const double bound = 2.0*((promised < INFINITY ? promised : 0.0) + fabs(law));",
            "    double low = 0.0, high = 1.0, middle = 1.0;",
            f"    for (int j = 0; j < {BISECTIONS} && !(low > 0.9*high); ++j) {{",
            "        if (!(bound > 0.0 && bound < INFINITY)) {",
            "            low = 1.0;",
            "            break;",
            "        }",
            f"        {t} = kept[{k}] + middle*step[{k}];",
            f"        if (fabs({text(curve.law)} - law) <= bound)",
            "            low = middle;",
            "        else",
            "            high = middle;",
            "        middle = low > 0.0 ? 0.5*(low + high) : high/16.0;",
            "    }",
            f"    if (low < part[{k}])",
            f"        part[{k}] = low;",
            "}",
        ]
    return lines


def _shortened(loop: Loop, text: CText, prefix: str) -> list[str]:
    """Lines that shorten a step that did not help: by the laws first, then as a whole."""
    n, laws = len(loop.tears), _parts(loop, text)
    lines = [f"double part[{n}] = {{{', '.join(['1.0'] * n)}}};", "int shorter = 0;"]
    if laws:
        lines += [
            "if (!limited) {",
            *(f"    {line}" for line in laws),
            f"    for (int m = 0; m < {n}; ++m)",
            "        shorter |= part[m] < 1.0;",
            "}",
        ]
    return [
        *lines,
        "limited = 1;",
        "if (shorter) {",
        "    least = INFINITY;",
        "} else {",
        f"    const double factor = {prefix}_shorter(least, excess);",
        f"    for (int m = 0; m < {n}; ++m)",
        "        part[m] = factor;",
        f"    if (++refused >= {PATIENCE})",
        "        least = INFINITY;",
        "}",
        f"for (int m = 0; m < {n}; ++m)",
        "    step[m] *= part[m];",
    ]
