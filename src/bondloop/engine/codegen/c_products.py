"""Matrix products in C: by bands, by compressed rows, by columns, by dot products, or with factors."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.engine.codegen import tolerances
from bondloop.engine.codegen.plan import Plan, Sparse, dotted, sparse
from bondloop.engine.ir import LANES, Expr, Factored, Triangle, Var

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from bondloop.engine.codegen.c_text import CTables, CText
    from bondloop.engine.ir import Product

    Table = Callable[[str, ArrayLike, str], str]
    from bondloop.engine.codegen.plan import Sparse


@dataclass(frozen=True)
class _Sources:
    """Where the vector lies: states that are neighbours in memory are read in place, the rest is copied."""

    lines: list[str]
    in_place: int

    def at(self, j: int, moving: bool = False) -> str:
        """Return the text of an element; ``moving`` adds the row ``i``."""
        name, place = ("z", j) if j < self.in_place else ("x", j - self.in_place)
        index = f"{place} + i" if moving and place else "i" if moving else str(place)
        return f"{name}[{index}]"

    def pieces(self, total: int) -> list[tuple[str, int, int]]:
        """Return (array, first column, count) of each piece."""
        cut = [("z", 0, self.in_place), ("x", self.in_place, total - self.in_place)]
        return [piece for piece in cut if piece[2]]


class CProducts:
    """Writes the products of a tick, and keeps the tables that they need."""

    def __init__(
        self,
        plan: Plan,
        text: CText,
        tables: CTables,
        elements: Mapping[Var, tuple[str, int]],
        kind: str = "double",
    ) -> None:
        self.plan, self.text, self.tables, self.kind = plan, text, tables, kind
        self._elements = elements
        self._offsets = {v: i for i, v in enumerate(plan.states)}
        self._count = 0

    def write(self, step: Product, result: str) -> list[str]:
        """Return the lines that declare and fill the array ``result``."""
        self._count += 1
        if isinstance(step.matrix, Factored):
            return self._factored(step.matrix, step.sources, result)
        few = sparse(step)
        repeated = bands(few) if few else None
        source = self._sources(step.sources)
        if repeated is not None and not _within(repeated, source.in_place):
            source = self._sources(step.sources, copied=True)
        if repeated is not None:
            body = [line for b, band in enumerate(repeated) for line in self._band(band, b, result, source)]
        elif few is not None:
            source = self._sources(step.sources, copied=True)
            body = self._compressed(few, len(step.targets), result)
        elif dotted(step):
            source = self._sources(step.sources, multiple=LANES)
            body = self._dots(step, result, source)
        else:
            body = self._columns(step, result, source)
        zeros = "" if repeated is not None or (few is None and dotted(step)) else f" = {self._zero}"
        inside = (f"    {line}" for line in [*source.lines, *body])
        return [f"{self.kind} {result}[{len(step.targets)}]{zeros};", "{", *inside, "}"]

    @property
    def _zero(self) -> str:
        return "{0.0}" if self.kind == "double" else "{{0.0}}"

    def _sources(self, sources: Sequence[Expr], copied: bool = False, multiple: int = 1) -> _Sources:
        in_place = 0 if copied else self._neighbours(sources) // multiple * multiple
        lines = []
        if in_place:
            first = sources[0]
            assert isinstance(first, Var)
            offset = f" + {self._offsets[first]}" if self._offsets[first] else ""
            lines.append(f"const {self.kind} *const z = (const {self.kind} *)s{offset};")
        rest = sources[in_place:]
        if rest:
            lines += self._copied(rest)
        return _Sources(lines, in_place)

    def _copied(self, sources: Sequence[Expr]) -> list[str]:
        """Return lines that put a vector together; what lies in one array is copied by a loop."""
        arrays: dict[str, list[tuple[int, int]]] = {}
        for k, e in enumerate(sources):
            place = self._lies(e)
            if place is not None:
                arrays.setdefault(place[0], []).append((k, place[1]))
        arrays = {array: pairs for array, pairs in arrays.items() if len(pairs) >= tolerances.COPIED_ELEMENTS}
        if not arrays:
            entries = ", ".join(self.text.full(e) for e in sources)
            return [f"const {self.kind} x[{len(sources)}] = {{{entries}}};"]
        lines = [f"{self.kind} x[{len(sources)}];"]
        looped = {k for pairs in arrays.values() for k, _ in pairs}
        lines += [f"x[{k}] = {self.text.full(e)};" for k, e in enumerate(sources) if k not in looped]
        for array, pairs in arrays.items():
            to, where = self._index("to", [k for k, _ in pairs]), self._index("from", [j for _, j in pairs])
            lines += [f"for (int i = 0; i < {len(pairs)}; ++i)", f"    x[{to}] = {array}[{where}];"]
        return lines

    def _index(self, what: str, places: list[int]) -> str:
        """Return the i-th of some places: evenly spaced, or from a table."""
        steps = {b - a for a, b in itertools.pairwise(places)}
        if len(steps) == 1:
            (step,) = steps
            moving = "i" if step == 1 else f"{step}*i"
            return f"{places[0]} + {moving}" if places[0] else moving
        return f"{self._table(what, places, 'int')}[i]"

    def _lies(self, e: Expr) -> tuple[str, int] | None:
        """Return the array and the place of a state or of what lies in an array of the tick."""
        if isinstance(e, Var) and e in self._offsets:
            return f"((const {self.kind} *)s)", self._offsets[e]
        return self._elements.get(e) if isinstance(e, Var) else None

    def _factored(self, inverse: Factored, sources: Sequence[Expr], result: str) -> list[str]:
        first, places = self._lies(sources[0]), [self._lies(e) for e in sources]
        if first is not None and places == [(first[0], first[1] + k) for k in range(len(sources))]:
            lines = [f"const {self.kind} *const x = {first[0]} + {first[1]};"]
        else:
            lines = self._copied(sources)
        lines += factored_lines(inverse, self._table, self.kind, result, "x")
        return [f"{self.kind} {result}[{len(sources)}];", "{", *(f"    {line}" for line in lines), "}"]

    def _neighbours(self, sources: Sequence[Expr]) -> int:
        """Return how many of the first sources are states one after the other; 0 if only a few."""
        count = 0
        for k, e in enumerate(sources):
            place = self._offsets.get(e) if isinstance(e, Var) else None
            if place is None or place != self._offsets.get(sources[0], -1) + k:  # type: ignore[call-overload]
                break
            count += 1
        return count if count >= tolerances.BAND_ROWS else 0

    def _table(self, what: str, values: ArrayLike, kind: str = "double") -> str:
        return self.tables.add(kind, f"{what}_{self._count}", values)

    def _band(self, band: Band, number: int, result: str, source: _Sources) -> list[str]:
        """Every row's sum in the order of its columns, as compressed rows have it."""
        terms = [
            f"{self._table(f'band_{number}_{k}', values)}[i]*{source.at(column, bool(step))}"
            for k, ((column, step), values) in enumerate(zip(band.columns, band.values, strict=True))
        ]
        here = f"{result}[{band.first} + i]" if band.first else f"{result}[i]"
        lines = []
        for k in range(0, max(1, len(terms)), tolerances.TERMS):
            before = f"{here} + " if k else ""
            lines += [
                f"for (int i = 0; i < {band.rows}; ++i)",
                f"    {here} = {before}{' + '.join(terms[k : k + tolerances.TERMS]) or '0.0'};",
            ]
        return lines

    def _compressed(self, few: Sparse, n: int, result: str) -> list[str]:
        start = self._table("starts", few.starts, "int")
        column = self._table("columns", few.columns, "int")
        value = self._table("values", few.values)
        return [
            f"for (int i = 0; i < {n}; ++i)",
            f"    for (int j = {start}[i]; j < {start}[i + 1]; ++j)",
            f"        {result}[i] += {value}[j]*x[{column}[j]];",
        ]

    def _columns(self, step: Product, result: str, source: _Sources) -> list[str]:
        """Column by column, a few at a time: it vectorises, and the order of summation is fixed."""
        n, m = len(step.targets), len(step.sources)
        dense = step.matrix.toarray() if hasattr(step.matrix, "toarray") else step.matrix
        table = self._table("matrix", dense.T)
        lines = []
        for name, first, count in source.pieces(m):
            whole = count - count % tolerances.COLUMNS
            if whole:
                terms = [
                    f"{table}[{first + c} + j][i]*{name}[{c} + j]".replace("[0 + j]", "[j]")
                    for c in range(tolerances.COLUMNS)
                ]
                lines += [
                    f"for (int j = 0; j < {whole}; j += {tolerances.COLUMNS})",
                    f"    for (int i = 0; i < {n}; ++i)",
                    f"        {result}[i] = {result}[i] + {' + '.join(terms)};",
                ]
            if whole < count:
                terms = [f"{table}[{first + j}][i]*{name}[{j}]" for j in range(whole, count)]
                lines += [
                    f"for (int i = 0; i < {n}; ++i)",
                    f"    {result}[i] = {result}[i] + {' + '.join(terms)};",
                ]
        return lines

    def _dots(self, step: Product, result: str, source: _Sources) -> list[str]:
        """Few long rows: each a dot product in several partial sums, always in the same order."""
        n, m = len(step.targets), len(step.sources)
        dense = step.matrix.toarray() if hasattr(step.matrix, "toarray") else step.matrix
        table = self._table("matrix", dense)
        lines = [f"for (int i = 0; i < {n}; ++i) {{", f"    {self.kind} sum[{LANES}] = {self._zero};"]
        for name, first, count in source.pieces(m):
            whole = count - count % LANES
            column = f"{first} + j" if first else "j"
            lines += [
                f"    for (int j = 0; j < {whole}; j += {LANES})",
                f"        for (int l = 0; l < {LANES}; ++l)",
                f"            sum[l] += {table}[i][{column} + l]*{name}[j + l];",
            ]
            lines += [
                f"    sum[{j - whole}] += {table}[i][{first + j}]*{name}[{j}];" for j in range(whole, count)
            ]
        total = " + ".join(f"sum[{lane}]" for lane in range(LANES))
        return [*lines, f"    {result}[i] = {total};", "}"]


def _within(repeated: Sequence[Band], in_place: int) -> bool:
    """Whether no moving column crosses from the states in place to the copied rest."""
    return all(
        not step or column >= in_place or column + band.rows <= in_place
        for band in repeated
        for column, step in band.columns
    )


# Solutions with the factors of a matrix in C: two substitutions, block by block.


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


# Matrices whose rows repeat one pattern: written as plain loops that a compiler turns into vector code.
#
# A modal model has thousands of rows, each with two entries on diagonals and one entry per input. In
# compressed rows every entry costs an index and a gather; in bands the same sums, in the same order, run
# straight through memory.


@dataclass(frozen=True)
class Band:
    """Consecutive rows with the same pattern.

    Attributes
    ----------
    first, rows
        First row, and how many there are.
    columns
        For every term of the sum: its column in the first row, and the step (0 or 1) to the next row's.
    values
        For every term its values, row by row.
    """

    first: int
    rows: int
    columns: tuple[tuple[int, int], ...]
    values: tuple[tuple[float, ...], ...]


def bands(few: Sparse) -> list[Band] | None:
    """Return a sparse matrix as bands; None where its rows differ too much from one another.

    Parameters
    ----------
    few
        The entries, row by row.

    Examples
    --------
    >>> from bondloop.engine.codegen.plan import Sparse
    >>> n = 40  # a diagonal and a full column
    >>> starts = list(range(0, 2 * n + 1, 2))
    >>> (band,) = bands(Sparse(starts, [c for i in range(n) for c in (i, n)], [1.0, 2.0] * n))
    >>> band.rows, band.columns
    (40, ((0, 1), (40, 0)))
    """
    n = len(few.starts) - 1
    rows = [few.columns[few.starts[i] : few.starts[i + 1]] for i in range(n)]
    groups: list[tuple[int, int, list[int]]] = []
    first, steps = 0, None
    for i in range(1, n + 1):
        now = _steps(rows[i - 1], rows[i]) if i < n else None
        if now is not None and steps in (None, now):
            steps = now
            continue
        groups.append((first, i - first, steps or [0] * len(rows[first])))
        first, steps = i, None
        if len(groups) * tolerances.BAND_ROWS > n:
            return None
    return [_band(few, first, count, steps) for first, count, steps in groups]


def _steps(above: list[int], below: list[int]) -> list[int] | None:
    """Return how far every column moves from one row to the next, if none moves by more than one."""
    if len(above) != len(below):
        return None
    moved = [b - a for a, b in zip(above, below, strict=True)]
    return moved if all(m in (0, 1) for m in moved) else None


def _band(few: Sparse, first: int, count: int, steps: list[int]) -> Band:
    start = few.starts[first]
    terms = range(len(steps))
    return Band(
        first,
        count,
        tuple((few.columns[start + k], steps[k]) for k in terms),
        tuple(tuple(few.values[few.starts[i] + k] for i in range(first, first + count)) for k in terms),
    )
