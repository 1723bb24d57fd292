"""Ticks as JSON: a test's program in a file, to be loaded and compiled elsewhere.

A file holds a table of variable names and the tick itself. Variables are indices into the table, so that two
variables of the same name stay apart. An expression is a number, ``{"v": index}`` or
``["operation", operand, ...]``; a dataclass is an object with its fields, and a statement has its ``kind``
besides. Fields are written by their declared types, so that a field that is renamed or added needs nothing
here. Finite numbers are JSON numbers, which Python writes with all their digits; the others are the strings
``"inf"``, ``"-inf"`` and ``"nan"``, since JSON has no such numbers.

Nothing in a file is executed: every name of an operation or a statement is looked up among the known ones.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import reprlib
import types
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from bondloop.errors import InputError, ModelError, unknown_name
from bondloop.program.expr import COMPARISONS, FUNCTIONS, LOGIC, Const, Expr, Op, Var
from bondloop.program.quantity import Meaning
from bondloop.program.schedule import Loop
from bondloop.program.tick import Product, Tick

__all__ = ["dump_tick", "load_tick"]

FORMAT = "bondloop tick"
VERSION = 1

DEEPEST_EXPRESSION = 64
"""Operations within operations; Python's own recursion, here and in the writers of code, ends soon after."""

DEEPEST_STATEMENT = 24
"""Objects within objects: the tick, repetitions within repetitions, a loop and its assignments."""

LARGEST_COUNT = 10_000_000
"""Ticks of a delay, turns of a repetition: more is a damaged file, and would fail only later, for memory."""

LONGEST_NAME = 1000

_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_TWO = {"mul", "div", "pow", "atan2", "fmin", "fmax", *COMPARISONS}
_THREE = {"select", "normal", "uniform"}
_OPERATIONS = {"add", "neg", "mul", "div", "pow", "select", *COMPARISONS, *LOGIC, *FUNCTIONS}
_SPARSE = {
    f"{form}_{kind}"
    for form in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
    for kind in ("array", "matrix")
}


def dump_tick(tick: Tick) -> dict[str, Any]:
    """Return a tick as values that :mod:`json` can write.

    Parameters
    ----------
    tick
        What to write. Matrices are written in double precision.

    Returns
    -------
    dict
        Lists, dictionaries, strings, booleans and finite numbers only.

    Raises
    ------
    InputError
        If the tick holds what `load_tick` would refuse: an unknown operation, an expression nested too deep,
        a count out of range, a control character in a name.

    Examples
    --------
    >>> from bondloop.program.tick import Channel, Update
    >>> x, a = Var("m.x"), Var("m.a")
    >>> steps = (Update(((x, a * x),)),)
    >>> tick = Tick("decay", 0.1, Var("t"), Var("k"), (), {x: 1.0}, {a: 0.5}, steps, (Channel("m.x", x),))
    >>> data = dump_tick(tick)
    >>> data["variables"]
    ['t', 'k', 'm.x', 'm.a']
    >>> data["tick"]["steps"]
    [{'kind': 'Update', 'pairs': [[2, ['mul', {'v': 3}, {'v': 2}]]]}]
    >>> load_tick(data).name
    'decay'
    """
    writer = _Writer()
    body = writer.write(Tick, tick, "tick")
    names = [_text(v.name, f"variables[{i}]") for i, v in enumerate(writer.indices)]
    return {"format": FORMAT, "version": VERSION, "variables": names, "tick": body}


def load_tick(data: Any) -> Tick:
    """Return the tick that `dump_tick` wrote.

    Parameters
    ----------
    data
        What :func:`json.load` returned: a dictionary, if the file is a tick.

    Returns
    -------
    Tick
        With new variables, one for each entry of the table.

    Raises
    ------
    InputError
        If the data are no tick, or one of another version; the message names the place.

    Examples
    --------
    >>> load_tick({"format": "bondloop tick", "version": 99})
    Traceback (most recent call last):
    ...
    bondloop.errors.InputError: the tick is of version 99; this bondloop reads version 1
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"the data are no tick; expected an object with the format '{FORMAT}'")
    version = data.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise InputError(f"the tick is of version {_shown(version)}; this bondloop reads version {VERSION}")
    _check_fields(data, {"format", "version", "variables", "tick"}, "the file")
    names = _list(data["variables"], "variables")
    reader = _Reader([Var(_text(name, f"variables[{i}]")) for i, name in enumerate(names)])
    try:
        tick = reader.read(Tick, data["tick"], "tick")
    except ModelError as error:
        raise InputError(f"the tick is inconsistent: {error}") from error
    assert isinstance(tick, Tick)
    return tick


class _Writer:
    """Writes values by their declared types, and numbers the variables as it meets them."""

    def __init__(self) -> None:
        self.indices: dict[Var, int] = {}
        self.depth = 0

    def write(self, hint: Any, value: Any, where: str) -> Any:
        if hint is Var:
            return self._variable(value)
        if hint is Expr:
            return self._expression(value, where)
        if hint in _SCALARS:
            return _SCALARS[hint].write(value, where)
        if get_origin(hint) is tuple:
            hints = _element_hints(hint, value, where)
            return [
                self.write(h, v, f"{where}[{i}]") for i, (h, v) in enumerate(zip(hints, value, strict=True))
            ]
        if get_origin(hint) is Mapping:
            pair = types.GenericAlias(tuple, get_args(hint))
            return [self.write(pair, item, f"{where}[{i}]") for i, item in enumerate(value.items())]
        if _is_union(hint):
            return {"kind": type(_one_of(hint, type(value).__name__, where, value)).__name__} | self._fields(
                value, where
            )
        return self._fields(value, where)

    def _fields(self, value: Any, where: str) -> dict[str, Any]:
        self.depth += 1
        _check_depth(self.depth, where)
        result = {}
        cls: Any = type(value)
        for name, field in _fields(cls).items():
            place = f"{where}.{name}"
            inner = getattr(value, name)
            result[name] = (
                _write_matrix(inner, place) if field.hint is Any else self.write(field.hint, inner, place)
            )
        self.depth -= 1
        return result

    def _variable(self, v: Var) -> int:
        return self.indices.setdefault(v, len(self.indices))

    def _expression(self, expr: Expr, where: str, depth: int = 0) -> Any:
        if isinstance(expr, Var):
            return {"v": self._variable(expr)}
        if isinstance(expr, Const):
            return _write_number(expr.value, where)
        assert isinstance(expr, Op)
        if expr.name == "row":
            return self._expression(expr.written_out(), where, depth)
        _check_operation(expr.name, len(expr.args), where, depth)
        return [expr.name, *[self._expression(a, where, depth + 1) for a in expr.args]]


class _Reader:
    """Reads values by their declared types; believes nothing."""

    def __init__(self, variables: list[Var]) -> None:
        self.variables = variables
        self.depth = 0

    def read(self, hint: Any, data: Any, where: str) -> Any:
        if hint is Var:
            return self._variable(data, where)
        if hint is Expr:
            return self._expression(data, where)
        if hint in _SCALARS:
            return _SCALARS[hint].read(data, where)
        if get_origin(hint) is tuple:
            hints = _element_hints(hint, _list(data, where), where)
            return tuple(
                self.read(h, d, f"{where}[{i}]") for i, (h, d) in enumerate(zip(hints, data, strict=True))
            )
        if get_origin(hint) is Mapping:
            return self._mapping(hint, data, where)
        if _is_union(hint):
            kind = data.get("kind") if isinstance(data, dict) else None
            if not isinstance(kind, str):
                raise InputError(f"{where} must be a statement with its kind; found {_shown(data)}")
            cls = _one_of(hint, kind, where)
            return self._fields(cls, {name: d for name, d in data.items() if name != "kind"}, where)
        return self._fields(hint, data, where)

    def _fields(self, cls: Any, data: Any, where: str) -> Any:
        if not isinstance(data, dict):
            raise InputError(
                f"{where} must be an object with the fields of a {cls.__name__}; found {_shown(data)}"
            )
        self.depth += 1
        _check_depth(self.depth, where)
        fields = _fields(cls)
        _check_fields(data, fields, where, {name for name, field in fields.items() if not field.optional})
        values: dict[str, Any] = {}
        for name, d in data.items():
            if fields[name].hint is not Any:
                values[name] = self.read(fields[name].hint, d, f"{where}.{name}")
        for name in (
            data.keys() - values.keys()
        ):  # the shape is known only now, and checked before it takes memory
            shape = (len(values["targets"]), len(values["sources"])) if cls is Product else None
            values[name] = _read_matrix(data[name], shape, f"{where}.{name}")
        if cls is Loop:
            _check_loop(values, where)
        self.depth -= 1
        return cls(**values)

    def _mapping(self, hint: Any, data: Any, where: str) -> dict[Any, Any]:
        pair = types.GenericAlias(tuple, get_args(hint))
        result: dict[Any, Any] = {}
        for i, d in enumerate(_list(data, where)):
            key, value = self.read(pair, d, f"{where}[{i}]")
            if key in result:
                raise InputError(f"{where} gives {_shown(d[0])} twice")
            result[key] = value
        return result

    def _variable(self, data: Any, where: str) -> Var:
        if not _is_whole(data) or not 0 <= data < len(self.variables):
            raise InputError(
                f"{where} must be the index of one of {len(self.variables)} variables; found {_shown(data)}"
            )
        return self.variables[int(data)]

    def _expression(self, data: Any, where: str, depth: int = 0) -> Expr:
        if isinstance(data, dict):
            if data.keys() != {"v"}:
                raise InputError(f"{where} has {_shown(data)} where a variable is {{'v': index}}")
            return self._variable(data["v"], where)
        if not isinstance(data, list):
            return Const(_read_number(data, where))
        if not data or not isinstance(data[0], str):
            raise InputError(f"{where} has {_shown(data)} where an operation is ['name', operand, ...]")
        _check_operation(data[0], len(data) - 1, where, depth)
        return Op(data[0], tuple([self._expression(d, where, depth + 1) for d in data[1:]]))


# Types.


@dataclasses.dataclass(frozen=True)
class Field:
    """What is known of a dataclass's field."""

    hint: Any
    optional: bool


@cache
def _fields(cls: Any) -> dict[str, Field]:
    hints = get_type_hints(cls)
    missing = dataclasses.MISSING
    return {
        f.name: Field(hints[f.name], f.default is not missing or f.default_factory is not missing)
        for f in dataclasses.fields(cls)
    }


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (types.UnionType, Union)


def _one_of(hint: Any, kind: str, where: str, value: Any = None) -> Any:
    """Return the member of a union that is called `kind`, or the value that is of it."""
    members = {cls.__name__: cls for cls in get_args(hint)}
    if kind not in members:
        raise InputError(unknown_name("kind of statement", kind[:LONGEST_NAME], members, where))
    return members[kind] if value is None else value


def _element_hints(hint: Any, value: Sequence[Any], where: str) -> Sequence[Any]:
    hints = get_args(hint)
    if len(hints) == 2 and hints[1] is Ellipsis:
        return (hints[0],) * len(value)
    if len(hints) != len(value):
        raise InputError(f"{where} must have {len(hints)} entries; found {len(value)}")
    return hints


# Scalars.


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _write_number(value: Any, where: str) -> int | float | str:
    if _is_whole(value):
        return int(_read_number(int(value), where))
    number = float(value)
    return number if math.isfinite(number) else repr(number)


def _read_number(data: Any, where: str) -> int | float:
    if isinstance(data, float) or (_is_whole(data) and abs(data) < 2**1023):
        return data  # type: ignore[no-any-return]
    if isinstance(data, str) and data in _NOT_FINITE:
        return _NOT_FINITE[data]
    raise InputError(f"{where} must be a number, or one of 'inf', '-inf' and 'nan'; found {_shown(data)}")


def _count(value: Any, where: str) -> int:
    if not _is_whole(value) or not 0 <= value <= LARGEST_COUNT:
        raise InputError(f"{where} must be a whole number from 0 to {LARGEST_COUNT}; found {_shown(value)}")
    return int(value)


def _truth(data: Any, where: str) -> bool:
    if not isinstance(data, bool):
        raise InputError(f"{where} must be true or false; found {_shown(data)}")
    return data


def _text(value: Any, where: str) -> str:
    """Check a name or a unit: it will stand in a comment of generated code, which a line break could end."""
    if not isinstance(value, str) or len(value) > LONGEST_NAME:
        raise InputError(
            f"{where} must be a text of at most {LONGEST_NAME} characters; found {_shown(value)}"
        )
    if any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in value):
        raise InputError(f"{where} must be a text without control characters; found {_shown(value)}")
    return value


def _write_meaning(meaning: Meaning, where: str) -> dict[str, Any]:
    return {k: _text(v, f"{where}.{k}") if isinstance(v, str) else v for k, v in meaning.describe().items()}


def _read_meaning(data: Any, where: str) -> Meaning:
    if not isinstance(data, dict):
        raise InputError(f"{where} must say what the channel is; found {_shown(data)}")
    try:
        return Meaning.from_description(
            {k: _text(v, where) if isinstance(v, str) else v for k, v in data.items()}
        )
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


@dataclasses.dataclass(frozen=True)
class _Scalar:
    """How a scalar is written and read."""

    write: Any
    read: Any


_SCALARS: dict[Any, _Scalar] = {
    float: _Scalar(_write_number, _read_number),
    int: _Scalar(_count, _count),
    bool: _Scalar(lambda value, _where: bool(value), _truth),
    str: _Scalar(_text, _text),
    Meaning: _Scalar(_write_meaning, _read_meaning),
}


# Matrices.


def _write_matrix(matrix: Any, where: str) -> dict[str, Any]:
    import numpy as np

    shape = [int(n) for n in matrix.shape]
    if hasattr(matrix, "tocoo"):
        kind = type(matrix).__name__
        if kind not in _SPARSE:
            raise InputError(unknown_name("kind of sparse matrix", kind, _SPARSE, where))
        coo = matrix.tocoo()
        values = coo.data
        extra = {"sparse": kind, "rows": coo.row.tolist(), "columns": coo.col.tolist()}
    else:
        values, extra = np.asarray(matrix), {}
    if values.dtype.kind not in "fiub":
        raise InputError(f"{where} must be a matrix of real numbers; found entries of type {values.dtype}")
    numbers_ = np.asarray(values, dtype=np.float64).ravel().tolist()
    return {"shape": shape, **extra, "values": [_write_number(x, where) for x in numbers_]}


def _read_matrix(data: Any, shape: tuple[int, int] | None, where: str) -> Any:
    import numpy as np

    if not isinstance(data, dict):
        raise InputError(f"{where} must be a matrix with its shape and values; found {_shown(data)}")
    wanted = {"shape", "values"} | ({"sparse", "rows", "columns"} if "sparse" in data else set())
    _check_fields(data, wanted, where)
    found = tuple(_count(n, f"{where}.shape") for n in _list(data["shape"], f"{where}.shape"))
    if len(found) != 2 or (shape is not None and found != shape):
        fitting = f"{shape[0]} targets and {shape[1]} sources" if shape else "two dimensions"
        raise InputError(f"{where} must have the shape of {fitting}; found {_shown(found)}")
    entries = _list(data["values"], f"{where}.values")
    values = np.array([float(_read_number(x, f"{where}.values")) for x in entries], dtype=np.float64)
    if "sparse" in data:
        return _sparse(data, found, values, where)
    if len(values) != found[0] * found[1]:
        raise InputError(f"{where}.values must be {found[0] * found[1]} numbers; found {len(values)}")
    return values.reshape(found)


def _sparse(data: dict[str, Any], shape: tuple[int, ...], values: Any, where: str) -> Any:
    import numpy as np
    import scipy.sparse

    kind = data["sparse"]
    if not isinstance(kind, str) or kind not in _SPARSE:
        raise InputError(unknown_name("kind of sparse matrix", str(_shown(kind)), _SPARSE, where))
    places = []
    for name, size in zip(("rows", "columns"), shape, strict=True):
        indices = _list(data[name], f"{where}.{name}")
        if len(indices) != len(values):
            raise InputError(
                f"{where}.{name} must be as many as the values, {len(values)}; found {len(indices)}"
            )
        for i in indices:
            if not _is_whole(i) or not 0 <= i < size:
                raise InputError(f"{where}.{name} must be indices below {size}; found {_shown(i)}")
        places.append(np.array(indices, dtype=np.int64))
    form, _, flavour = kind.partition("_")
    make: Any = scipy.sparse.coo_array if flavour == "array" else scipy.sparse.coo_matrix
    return make((values, tuple(places)), shape=shape).asformat(form)


# Checks.


def _list(data: Any, where: str) -> list[Any]:
    if not isinstance(data, list):
        raise InputError(f"{where} must be a list; found {_shown(data)}")
    return data


def _check_fields(
    data: Mapping[Any, Any], known: Mapping[str, Any] | set[str], where: str, needed: set[str] | None = None
) -> None:
    for name in data:
        if name not in known:
            raise InputError(unknown_name("field", str(name)[:LONGEST_NAME], known, where))
    missing = sorted((set(known) if needed is None else needed) - data.keys())
    if missing:
        raise InputError(f"{where} lacks {', '.join(missing)}")


def _check_depth(depth: int, where: str) -> None:
    if depth > DEEPEST_STATEMENT:
        raise InputError(f"{where} nests statements more than {DEEPEST_STATEMENT} deep")


def _check_operation(name: str, count: int, where: str, depth: int) -> None:
    if depth >= DEEPEST_EXPRESSION:
        raise InputError(
            f"{where} nests operations more than {DEEPEST_EXPRESSION} deep; give its parts names of their own"
        )
    if name not in _OPERATIONS:
        raise InputError(unknown_name("operation", name[:LONGEST_NAME], _OPERATIONS, where))
    if name in ("add", "and", "or"):
        least = 1 if name == "add" else 2
        if count < least:
            raise InputError(f"{where} has '{name}' of {count} operands; at least {least} are needed")
        return
    wanted = 2 if name in _TWO else 3 if name in _THREE else 1
    if count != wanted:
        raise InputError(f"{where} has '{name}' of {count} operands; expected {wanted}")


def _check_loop(values: dict[str, Any], where: str) -> None:
    """Every list of expressions has one for each unknown, every table of them is square."""
    n = len(values["tears"])
    for name, field in _fields(Loop).items():
        table = field.hint == tuple[tuple[Expr, ...], ...]
        if name not in values or not (table or field.hint == tuple[Expr, ...]):
            continue
        if any(len(row) != n for row in (values[name], *(values[name] if table else ()))):
            raise InputError(f"{where}.{name} does not fit the {n} unknowns of the loop")


def _shown(value: Any) -> str:
    """Return a value for a message: short, whatever it is."""
    try:
        return reprlib.repr(value)
    except (ValueError, RecursionError):  # a whole number of thousands of digits
        return f"a {type(value).__name__}"
