"""Solutions with the factors of a matrix in C: two substitutions, block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.program.factored import LANES, Factored, Triangle

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    Table = Callable[[str, ArrayLike, str], str]

__all__ = ["factored_lines"]


def factored_lines(inverse: Factored, table: Table, kind: str, result: str, source: str) -> list[str]:
    """Return the lines that solve for the array ``source`` and leave the solution in ``result``.

    Parameters
    ----------
    inverse
        The factors.
    table
        Takes what a table is called, its entries and their type; returns its name.
    kind
        The type of a variable.
    result, source
        The arrays.
    """
    n = inverse.shape[0]
    into, out = table("into", inverse.into, "int"), table("out", inverse.out, "int")
    scale, unscale = (
        table(what, s, "double") for what, s in zip(("scale", "unscale"), inverse.scales, strict=True)
    )
    over = table("over", inverse.over, "double")
    longest = max(1, inverse.lower.longest, inverse.upper.longest)
    zero = "0.0" if kind == "double" else f"({kind}){{0.0}}"
    return [
        f"{kind} y[{n}], work[{longest}];",
        f"for (int i = 0; i < {n}; ++i)",
        f"    y[{into}[i]] = {scale}[i]*{source}[i];",
        *_blocks(inverse.lower, table, "lower", backwards=False),
        "    for (int i = 0; i < m; ++i)",
        f"        work[width + i] = {zero};",
        "    for (int column = 0; column < width; ++column) {",
        f"        const {kind} known = work[column];",
        f"        {kind} *const below = work + column + 1;",
        "        const int count = width - column - 1 + m;",
        "        for (int i = 0; i < count; ++i)",
        "            below[i] -= value[i]*known;",
        "        value += count;",
        "    }",
        "    for (int i = 0; i < width; ++i)",
        "        y[begin + i] = work[i];",
        "    for (int i = 0; i < m; ++i)",
        "        y[row[i]] += work[width + i];",
        "}",
        f"for (int i = 0; i < {n}; ++i)",
        f"    y[i] *= {over}[i];",
        *_blocks(inverse.upper, table, "upper", backwards=True),
        "    for (int i = 0; i < m; ++i)",
        "        work[width + i] = y[row[i]];",
        "    for (int column = width - 1; column >= 0; --column) {",
        f"        const {kind} *const below = work + column + 1;",
        f"        const int count = width - column - 1 + m, whole = count - count % {LANES};",
        f"        {kind} sum[{LANES}];",
        "        value -= count;",
        f"        for (int l = 0; l < {LANES}; ++l)",
        f"            sum[l] = {zero};",
        f"        for (int i = 0; i < whole; i += {LANES})",
        f"            for (int l = 0; l < {LANES}; ++l)",
        "                sum[l] += value[i + l]*below[i + l];",
        "        for (int i = whole; i < count; ++i)",
        "            sum[i - whole] += value[i]*below[i];",
        f"        work[column] -= {' + '.join(f'sum[{lane}]' for lane in range(LANES))};",
        "        y[begin + column] = work[column];",
        "    }",
        "}",
        f"for (int i = 0; i < {n}; ++i)",
        f"    {result}[i] = {unscale}[i]*y[{out}[i]];",
    ]


def _blocks(triangle: Triangle, table: Table, side: str, *, backwards: bool) -> list[str]:
    """Return the head of the loop over a triangle's blocks: its columns, and m rows below them."""
    first = table(f"{side}_first", triangle.first, "int")
    row_at = table(f"{side}_row_at", triangle.row_at, "int")
    value_at = table(f"{side}_value_at", triangle.value_at, "int")
    rows = table(f"{side}_rows", triangle.rows, "int")
    values = table(f"{side}_values", triangle.values, "double")
    count = len(triangle.first) - 1
    loop = (
        f"int block = {count - 1}; block >= 0; --block"
        if backwards
        else f"int block = 0; block < {count}; ++block"
    )
    return [
        f"for ({loop}) {{",
        f"    const int begin = {first}[block], width = {first}[block + 1] - begin;",
        f"    const int m = {row_at}[block + 1] - {row_at}[block];",
        f"    const int *const row = {rows} + {row_at}[block];",
        f"    const double *value = {values} + {value_at}[block{' + 1' if backwards else ''}];",
        "    for (int i = 0; i < width; ++i)",
        "        work[i] = y[begin + i];",
    ]
