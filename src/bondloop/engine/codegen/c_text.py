"""Expressions in C."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.codegen import tolerances
from bondloop.engine.ir import Call, Text

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.engine.ir import Expr, Op


REFUSAL = """\
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) \\
    || defined(__NO_SIGNED_ZEROS__) || defined(_M_FP_FAST) || (__FINITE_MATH_ONLY__ + 0)
#error "bondloop refuses -ffast-math, -Ofast and their kin: the guard against NaN would be compiled away"
#endif
"""
"""What every generated tick and ``realtime/c/finite.h`` begin with: options that let a compiler assume that
there is no NaN take away every comparison that a NaN must fail; the others round otherwise than we do."""


@cache
def c_parts(file: str) -> Mapping[str, str]:
    """Return the parts of a file in the folder ``c`` by name; a line ``//// NAME`` begins one.

    >>> list(c_parts("tick.c"))
    ['preamble', 'counts', 'numbers', 'cells', 'tick', 'run', 'once']
    """
    text = resources.files(__package__).joinpath("c", file).read_text(encoding="utf-8")
    found = re.split(r"^//// (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def with_words(text: str, words: Mapping[str, object]) -> str:
    """Return a part of C with what stands for each ``@WORD@`` of it.

    >>> with_words("double row[@N_ROW@];", {"N_ROW": 3})
    'double row[3];'
    """
    return re.sub(r"@(\w+)@", lambda word: str(words[word[1]]), text)


def structure(name: str, members: Sequence[str], kind: str = "double") -> str:
    r"""Return a structure of members of one kind; C has no empty ones.

    >>> structure("demo", ["x", "v"]).split("\n")[:4]
    ['typedef struct {', '    double x;', '    double v;', '} demo;']
    """
    rows = "".join(f"    {kind} {member};\n" for member in members or ["nothing"])
    return f"typedef struct {{\n{rows}}} {name};\n\n"


OWN = ("sign", "fmin", "fmax", "uniform", "normal")
"""Functions that C lacks or leaves open (which of two zeros is the smaller), so that we write them out."""


@dataclass
class CText(Text):
    """Expressions in C99; functions that are not of ``math.h`` carry the model's name.

    >>> from bondloop.engine.ir.expr import Var
    >>> x = Var("x")
    >>> print(CText(lambda v: v.name, prefix="demo")(2 * x**3 - abs(x) / (1 + x)))
    2.0*(x*x*x) - fabs(x)/(1.0 + x)
    """

    prefix: str = ""
    sources: dict[str, None] = field(default_factory=dict)

    def number(self, value: float) -> str:
        """Return a number as a C constant."""
        return c_number(value)

    def full(self, expr: Expr) -> str:
        """Return an expression as a value of the kind that variables have."""
        return self(expr)

    def function(self, name: str) -> str:
        """Return a function of ``math.h``, or one of ours."""
        return f"{self.prefix}_{name}" if name in OWN or name.startswith("power") else name

    def _outside(self, op: Op) -> str:
        if isinstance(op, Call) and op.source:
            self.sources[op.source] = None
            return f"{op.label}({', '.join(map(self, op.args))})"
        return super()._outside(op)

    def _truth_value(self, condition: str) -> str:
        return f"(double){condition}"

    def _select(self, expr: Op) -> str:
        test, yes, no = expr.args
        return f"({self.condition(test)} ? {self(yes)} : {self(no)})"

    def _logic(self, name: str, args: list[str]) -> str:
        return f"(!{args[0]})" if name == "not" else f"({(' && ' if name == 'and' else ' || ').join(args)})"


# Tables of numbers that generated C reads: written out in its text, or handed to the library that is loaded.
#
# A compiler takes 4 µs for every number of a table, and a model of 10,000 degrees of freedom has millions. A
# library that is used from here therefore gets large tables as they lie in memory. A file that stands for
# itself has them written out.


def c_number(value: float) -> str:
    """Return a number as a C constant.

    >>> c_number(0.25), c_number(float("-inf"))
    ('0.25', '-INFINITY')
    """
    if math.isfinite(value):
        return repr(float(value))
    return "NAN" if math.isnan(value) else ("INFINITY" if value > 0 else "-INFINITY")


def c_string(text: str) -> str:
    r"""Return a text as a C string; all but plain ASCII as octal digits, which never run into a letter.

    >>> print(c_string('5 \u00b5m "?"'))
    "5 \302\265m \042\077\042"
    """
    return (
        '"'
        + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '\\"?' else f"\\{b:03o}" for b in text.encode())
        + '"'
    )


KINDS = {"double": np.float64, "int": np.int32}


def _digest(table: NDArray[np.number]) -> bytes:
    return hashlib.sha256(table.data).digest()


class CTables:
    """The tables of one file; the same numbers are one table.

    Parameters
    ----------
    prefix
        What all names begin with.
    number
        Writes a number.

    Examples
    --------
    >>> tables = CTables("demo", repr)
    >>> tables.add("int", "starts_1", [0, 2, 3]), tables.add("int", "starts_2", [0, 2, 3])
    ('demo_starts_1', 'demo_starts_1')
    >>> list(tables)
    ['static const int demo_starts_1[3] = {0, 2, 3};']
    """

    def __init__(self, prefix: str, number: Callable[[float], str]) -> None:
        self.prefix, self._number = prefix, number
        self._tables: dict[str, tuple[str, NDArray[np.number]]] = {}
        self._names: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def add(self, kind: str, what: str, values: ArrayLike) -> str:
        """Return the name of a table of one or two dimensions; the same one for the same entries."""
        table = np.ascontiguousarray(values, dtype=KINDS[kind])
        if not table.size:  # C has no empty arrays
            table = np.zeros(1, KINDS[kind])
        key = (
            kind,
            table.shape,
            _digest(table) if table.size > tolerances.TABLE_IN_TEXT else table.tobytes(),
        )
        if key not in self._names:
            name = f"{self.prefix}_{what}"
            while name in self._tables:
                name += "_too"
            self._names[key] = name
            self._tables[name] = (kind, table)
        return self._names[key]

    def __len__(self) -> int:
        return len(self._tables)

    def __iter__(self) -> Iterator[str]:
        for name, (kind, table) in self._tables.items():
            yield self._written(name, kind, table)

    def _written(self, name: str, kind: str, table: NDArray[np.number]) -> str:
        write: Callable[[float], str] = self._number if kind == "double" else str
        if table.ndim == 2:
            rows = ",\n".join(f"    {{{', '.join(map(write, row))}}}" for row in table.tolist())
            return f"static const {kind} {name}[{len(table)}][{table.shape[1]}] = {{\n{rows}\n}};"
        return f"static const {kind} {name}[{len(table)}] = {{{', '.join(map(write, table.tolist()))}}};"

    def apart(self) -> Numbers | None:
        """Return the large tables as they are handed over; None where all are small."""
        large = {n: t for n, t in self._tables.items() if t[1].size > tolerances.TABLE_IN_TEXT}
        if sum(table.size for _, table in large.values()) <= tolerances.TABLES_APART:
            return None
        arrays: dict[str, list[NDArray[np.number]]] = {kind: [] for kind in KINDS}
        places: dict[str, int] = dict.fromkeys(KINDS, 0)
        lines = []
        for name, (kind, table) in self._tables.items():
            if name not in large:
                lines.append(self._written(name, kind, table))
                continue
            first = f"({kind}_numbers + {places[kind]})"
            row = f"((const {kind} (*)[{table.shape[1]}]){first})" if table.ndim == 2 else first
            lines.append(f"#define {name} {row}")
            arrays[kind].append(table.ravel())
            places[kind] += table.size
        joined = {kind: np.concatenate([*a, np.zeros(1, KINDS[kind])]) for kind, a in arrays.items()}
        return Numbers(lines, joined)


class Numbers:
    """Tables that are handed to a library.

    Attributes
    ----------
    lines
        What stands in the text in their place.
    arrays
        All of a kind, one after the other, by kind.
    """

    def __init__(self, lines: list[str], arrays: dict[str, NDArray[np.number]]) -> None:
        self.lines, self.arrays = lines, arrays

    @property
    def digest(self) -> str:
        """A text that differs where a number does."""
        return hashlib.sha256(b"".join(map(_digest, self.arrays.values()))).hexdigest()
