"""Ticks as JSON: a test's program in a file, to be loaded and compiled elsewhere.

A file holds a table of variables and the tick itself. An entry of the table is a name, or a name with what is
known of it, ``["rig.gain", {"range": {"least": 0}, "quantity": "stiffness", "unit": "N/m", "kind": ""}]``.
Variables are indices into the table, so that two variables of the same name stay apart. An expression is a
number, ``{"v": index}`` or ``["operation", operand, ...]``; a dataclass is an object with its fields, and a
statement has its ``kind`` besides. Fields are written by their declared types: one that is renamed or added
needs nothing here. Finite numbers are JSON numbers, which Python writes with all their digits; the
others are the strings ``"inf"``, ``"-inf"`` and ``"nan"``, since JSON has no such numbers.

Nothing in a file is executed: every name of an operation or a statement is looked up among the known ones.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import reprlib
import types
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard, Union, get_args, get_origin, get_type_hints

from bondloop.engine.data import Range
from bondloop.engine.ir.expr import ARGUMENTS, COMPARISONS, FUNCTIONS, Const, Expr, Op, Var
from bondloop.engine.ir.matrices import Factored, SingularError
from bondloop.engine.ir.quantity import KINDS, Meaning, Quantity
from bondloop.engine.ir.tick import NOT_IN_FILES, Product, Tick
from bondloop.errors import InputError, ModelError, unknown_name

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from bondloop.engine.data import Json


LARGEST_COUNT = 10_000_000
"""Ticks of a delay, turns of a repetition: more is a damaged file, and would fail only later, for memory."""

LONGEST_NAME = 1000

_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
_SPARSE = [f"{form}_{flavour}" for form in _FORMATS for flavour in ("array", "matrix")]


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number, Python's or NumPy's."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def write_number(value: float, where: str) -> int | float | str:
    """Return a number as JSON has it, or as a text."""
    if is_whole(value):
        return int(read_number(int(value), where))
    number = float(value)
    return number if math.isfinite(number) else repr(number)


def read_number(data: object, where: str) -> int | float:
    """Return the number that `write_number` wrote."""
    if isinstance(data, float) or (is_whole(data) and abs(data) < 2**1023):
        return data
    if isinstance(data, str) and data in _NOT_FINITE:
        return _NOT_FINITE[data]
    raise unfit(where, "be a number, or one of 'inf', '-inf' and 'nan'", data)


def _count(value: object, where: str) -> int:
    if not is_whole(value) or not 0 <= value <= LARGEST_COUNT:
        raise unfit(where, f"be a whole number from 0 to {LARGEST_COUNT}", value)
    return int(value)


def _truth(data: object, where: str) -> bool:
    if not isinstance(data, bool):
        raise unfit(where, "be true or false", data)
    return data


def _text(value: object, where: str) -> str:
    """Check a name or a unit: it will stand in a comment of generated code, which a line break could end."""
    if not isinstance(value, str) or len(value) > LONGEST_NAME:
        raise unfit(where, f"be a text of at most {LONGEST_NAME} characters", value)
    if any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in value):
        raise unfit(where, "be a text without control characters", value)
    return value


def _texts(meaning: Mapping[str, Json], where: str) -> dict[str, Json]:
    return {k: _text(v, f"{where}.{k}") if isinstance(v, str) else v for k, v in meaning.items()}


def _read_meaning(data: object, where: str) -> Meaning:
    if not isinstance(data, dict):
        raise unfit(where, "say what the channel is", data)
    try:
        return Meaning.from_description(_texts(data, where))
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


# Variables.


def write_variable(variable: Var, where: str) -> Json:
    """Return a variable's name; with its range and what it measures, if it has them."""
    about: dict[str, Json] = {}
    if variable.range is not None:
        about["range"] = variable.range.describe()
    if variable.quantity is not None:
        measured = {"quantity": variable.quantity.name, "unit": variable.quantity.unit}
        about |= _texts({**measured, "kind": variable.quantity.kind}, where)
    name = _text(variable.name, where)
    return [name, about] if about else name


def read_variable(data: object, where: str) -> Var:
    """Return the variable that `write_variable` wrote."""
    if not isinstance(data, list):
        return Var(_text(data, where))
    if len(data) != 2 or not isinstance(data[1], dict):
        raise unfit(where, "be a name, or a name and an object that says what it is", data)
    name, about = _text(data[0], where), data[1]
    check_fields(about, {"range", "quantity", "unit", "kind"}, where, set())
    measured = [_text(about.get(word, ""), f"{where}.{word}") for word in ("quantity", "unit", "kind")]
    if measured[2] not in ("", *KINDS):
        raise unknown("kind of quantity", measured[2], KINDS, where)
    within = _read_range(about["range"], f"{where}.range") if "range" in about else None
    return Var(name, within, Quantity(*measured) if "quantity" in about else None)


def _read_range(data: object, where: str) -> Range:
    if not isinstance(data, dict):
        raise unfit(where, "be an object with bounds", data)
    bounds = ("least", "most", "above", "below")
    check_fields(data, {*bounds, "nonzero", "units"}, where, set())
    values: dict[str, Any] = {b: float(read_number(data[b], f"{where}.{b}")) for b in bounds if b in data}
    values["nonzero"] = _truth(data.get("nonzero", False), f"{where}.nonzero")
    texts = list_of(data.get("units", []), f"{where}.units")
    return Range(**values, units=tuple(_text(text, f"{where}.units") for text in texts))


# Matrices.


def _write_matrix(matrix: Any, where: str) -> dict[str, Json]:
    import numpy as np

    if isinstance(matrix, Factored):
        return {**_write_matrix(matrix.left, where), "inverse": True}
    values, places = matrix, {}
    if hasattr(matrix, "tocoo"):
        coo = matrix.tocoo()
        kind = _sparse_kind(type(matrix).__name__, where)
        values, places = coo.data, {"sparse": kind, "rows": coo.row.tolist(), "columns": coo.col.tolist()}
    values = np.asarray(values)
    if values.dtype.kind not in "fiub":
        raise unfit(where, "be a matrix of real numbers", values.dtype)
    entries = [write_number(x, where) for x in values.astype(np.float64).ravel().tolist()]
    return {"shape": [int(n) for n in matrix.shape], **places, "values": entries}


def read_matrix(data: object, shape: tuple[int, int], where: str) -> Any:
    """Return a matrix, dense or sparse; its shape is checked before it takes memory."""
    import numpy as np
    import scipy.sparse

    if not isinstance(data, dict):
        raise unfit(where, "be a matrix with its shape and values", data)
    if "inverse" in data:
        return _read_inverse(data, shape, where)
    sparse = ("sparse", "rows", "columns") if "sparse" in data else ()
    check_fields(data, {"shape", "values", *sparse}, where)
    if [_count(n, f"{where}.shape") for n in list_of(data["shape"], f"{where}.shape")] != [*shape]:
        raise unfit(where, f"have the shape of {shape[0]} targets and {shape[1]} sources", data["shape"])
    place = f"{where}.values"
    values = np.array(
        [float(read_number(x, place)) for x in list_of(data["values"], place)], dtype=np.float64
    )
    if not sparse:
        size = shape[0] * shape[1]
        if len(values) != size:
            raise unfit(place, f"be {size} numbers", len(values))
        return values.reshape(shape)
    places = []
    for name, size in zip(("rows", "columns"), shape, strict=True):
        place, indices = f"{where}.{name}", list_of(data[name], f"{where}.{name}")
        if len(indices) != len(values):
            raise unfit(place, f"be as many as the values, {len(values)}", len(indices))
        for i in indices:
            if not is_whole(i) or not 0 <= i < size:
                raise unfit(place, f"be indices below {size}", i)
        places.append(np.array(indices, dtype=np.int64))
    form, _, flavour = _sparse_kind(data["sparse"], where).partition("_")
    make: Any = scipy.sparse.coo_array if flavour == "array" else scipy.sparse.coo_matrix
    return make((values, tuple(places)), shape=shape).asformat(form)


def _read_inverse(data: Mapping[str, object], shape: tuple[int, int], where: str) -> Factored:
    """Return the factors of a matrix that is written with ``"inverse": true``."""
    if _truth(data["inverse"], f"{where}.inverse") is not True or shape[0] != shape[1]:
        raise unfit(f"{where}.inverse", "be true, and the matrix square", data["inverse"])
    found = Factored(read_matrix({k: v for k, v in data.items() if k != "inverse"}, shape, where))
    try:
        _ = found.lower
    except SingularError:
        raise InputError(f"{where} is the inverse of a matrix that is singular") from None
    return found


def _sparse_kind(kind: object, where: str) -> str:
    if kind not in _SPARSE:
        name = kind if isinstance(kind, str) else shown(kind)
        raise unknown("kind of sparse matrix", name, _SPARSE, where)
    return str(kind)


LEAVES: dict[object, tuple[Callable[[Any, str], Json], Callable[[object, str], object]]] = {
    float: (write_number, read_number),
    int: (_count, _count),
    bool: (lambda value, _where: bool(value), _truth),
    str: (_text, _text),
    Meaning: (lambda meaning, where: _texts(meaning.describe(), where), _read_meaning),
    Any: (_write_matrix, lambda data, _where: data),  # read with the product that it belongs to
}
"""How what has no parts is written and read."""


def unfit(where: str, what: str, data: object) -> InputError:
    """Return the error for data that are not what they must be."""
    return InputError(f"{where} must {what}; found {shown(data)}")


def unknown(what: str, name: str, known: Iterable[str], where: str) -> InputError:
    """Return the error for a name that is none of those known."""
    return InputError(unknown_name(what, name[:LONGEST_NAME], known, where))


def list_of(data: object, where: str) -> list[object]:
    """Return a list, if it is one."""
    if not isinstance(data, list):
        raise unfit(where, "be a list", data)
    return data


def check_fields(
    data: Mapping[str, object],
    known: Mapping[str, object] | set[str],
    where: str,
    needed: set[str] | None = None,
) -> None:
    """Refuse fields that are not known, and say which are missing: of those that are needed, or of all."""
    for name in data:
        if name not in known:
            raise unknown("field", str(name), known, where)
    missing = sorted((set(known) if needed is None else needed) - data.keys())
    if missing:
        raise InputError(f"{where} lacks {', '.join(missing)}")


def shown(value: object) -> str:
    """Return a value for a message: short, whatever it is."""
    try:
        return reprlib.repr(value)
    except (ValueError, RecursionError):  # a whole number of thousands of digits
        return f"a {type(value).__name__}"


FORMAT = "bondloop tick"
VERSION = 1

DEEPEST_EXPRESSION = 64
"""Operations within operations; Python's own recursion, here and in the writers of code, ends soon after."""

DEEPEST_STATEMENT = 24
"""Objects within objects: the tick, repetitions within repetitions, a loop and its assignments."""


_OPERANDS: dict[str, tuple[int, float]] = {
    **dict.fromkeys(("neg", "not", *FUNCTIONS), (1, 1)),
    **{name: (count, count) for name, count in ARGUMENTS.items()},
    **dict.fromkeys(("mul", "div", "pow", *COMPARISONS), (2, 2)),
    "select": (3, 3),
    "add": (1, math.inf),
    "and": (2, math.inf),
    "or": (2, math.inf),
}
"""The operations, with the least and the largest number of operands."""


def dump_tick(tick: Tick) -> dict[str, Json]:
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
    >>> from bondloop.engine.ir.tick import Channel, Update
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
    variables = [write_variable(v, f"variables[{i}]") for i, v in enumerate(writer.indices)]
    return {"format": FORMAT, "version": VERSION, "variables": variables, "tick": body}


def load_tick(data: object) -> Tick:
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
        raise InputError(f"the tick is of version {shown(version)}; this bondloop reads version {VERSION}")
    check_fields(data, {"format", "version", "variables", "tick"}, "the file")
    table = list_of(data["variables"], "variables")
    reader = _Reader([read_variable(entry, f"variables[{i}]") for i, entry in enumerate(table)])
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

    def write(self, hint: object, value: Any, where: str, depth: int = 1) -> Json:
        if hint is Var:
            return self.indices.setdefault(value, len(self.indices))
        if hint is Expr:
            return self._expression(value, where)
        if hint in LEAVES:
            return LEAVES[hint][0](value, where)
        if get_origin(hint) is Mapping:
            hint, value = _pairs(hint), list(value.items())
        if get_origin(hint) is tuple:
            entries = enumerate(zip(_element_hints(hint, value, where), value, strict=True))
            return [self.write(h, v, f"{where}[{i}]", depth) for i, (h, v) in entries]
        _check_depth(depth, where)
        cls: type[DataclassInstance] = type(value)
        head = {"kind": _one_of(hint, cls.__name__, where).__name__} if _is_union(hint) else {}
        return head | {
            name: self.write(hint, getattr(value, name), f"{where}.{name}", depth + 1)
            for name, hint in _hints(cls).items()
        }

    def _expression(self, expr: Expr, where: str, depth: int = 0) -> Json:
        if isinstance(expr, Var):
            return {"v": self.write(Var, expr, where)}
        if isinstance(expr, Const):
            return write_number(expr.value, where)
        assert isinstance(expr, Op)
        if expr.name == "row":
            return self._expression(expr.written_out(), where, depth)
        _check_operation(expr.name, len(expr.args), where, depth)
        return [expr.name, *[self._expression(a, where, depth + 1) for a in expr.args]]


class _Reader:
    """Reads values by their declared types; believes nothing."""

    def __init__(self, variables: list[Var]) -> None:
        self.variables = variables

    def read(self, hint: object, data: Any, where: str, depth: int = 1) -> Any:
        if hint is Var:
            if not is_whole(data) or not 0 <= data < len(self.variables):
                raise unfit(where, f"be the index of one of {len(self.variables)} variables", data)
            return self.variables[data]
        if hint is Expr:
            return self._expression(data, where)
        if hint in LEAVES:
            return LEAVES[hint][1](data, where)
        if get_origin(hint) is Mapping:
            table: dict[Any, Any] = {}
            for i, (key, value) in enumerate(self.read(_pairs(hint), data, where)):
                if key in table:
                    raise InputError(f"{where} gives {shown(data[i][0])} twice")
                table[key] = value
            return table
        if get_origin(hint) is tuple:
            entries = enumerate(zip(_element_hints(hint, list_of(data, where), where), data, strict=True))
            return tuple([self.read(h, d, f"{where}[{i}]", depth) for i, (h, d) in entries])
        if _is_union(hint):
            kind = data.get("kind") if isinstance(data, dict) else None
            if not isinstance(kind, str):
                raise unfit(where, "be a statement with its kind", data)
            hint, data = _one_of(hint, kind, where), {name: d for name, d in data.items() if name != "kind"}
        return self._object(hint, data, where, depth)

    def _object(self, cls: Any, data: object, where: str, depth: int) -> Any:
        if not isinstance(data, dict):
            raise unfit(where, f"be an object with the fields of a {cls.__name__}", data)
        _check_depth(depth, where)
        hints = _hints(cls)
        check_fields(data, hints, where, {f.name for f in dataclasses.fields(cls) if _is_needed(f)})
        values = {name: self.read(hints[name], d, f"{where}.{name}", depth + 1) for name, d in data.items()}
        if cls is Product:  # the shape is known only now, and checked before it takes memory
            shape = len(values["targets"]), len(values["sources"])
            values["matrix"] = read_matrix(data["matrix"], shape, f"{where}.matrix")
        return cls(**values)

    def _expression(self, data: object, where: str, depth: int = 0) -> Expr:
        if isinstance(data, dict):
            if data.keys() != {"v"}:
                raise InputError(f"{where} has {shown(data)} where a variable is {{'v': index}}")
            variable: Var = self.read(Var, data["v"], where)
            return variable
        if not isinstance(data, list):
            return Const(read_number(data, where))
        if not data or not isinstance(data[0], str):
            raise InputError(f"{where} has {shown(data)} where an operation is ['name', operand, ...]")
        _check_operation(data[0], len(data) - 1, where, depth)
        return Op(data[0], tuple([self._expression(d, where, depth + 1) for d in data[1:]]))


# Types.


@cache
def _hints(cls: type[DataclassInstance]) -> dict[str, object]:
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls) if NOT_IN_FILES not in f.metadata}


def _is_needed(field: dataclasses.Field[object]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _is_union(hint: object) -> bool:
    return get_origin(hint) in (types.UnionType, Union)


def _one_of(hint: object, kind: str, where: str) -> Any:
    """Return the member of a union that is called `kind`."""
    members = {cls.__name__: cls for cls in get_args(hint)}
    if kind not in members:
        raise unknown("kind of statement", kind, members, where)
    return members[kind]


def _pairs(hint: object) -> object:
    """Return the type of a mapping's items."""
    return types.GenericAlias(tuple, (types.GenericAlias(tuple, get_args(hint)), ...))


def _element_hints(hint: object, value: Sequence[object], where: str) -> Sequence[object]:
    hints = get_args(hint)
    if len(hints) == 2 and hints[1] is Ellipsis:
        return (hints[0],) * len(value)
    if len(hints) != len(value):
        raise unfit(where, f"have {len(hints)} entries", len(value))
    return hints


# Checks.


def _check_depth(depth: int, where: str) -> None:
    if depth > DEEPEST_STATEMENT:
        raise InputError(f"{where} nests statements more than {DEEPEST_STATEMENT} deep")


def _check_operation(name: str, count: int, where: str, depth: int) -> None:
    if depth >= DEEPEST_EXPRESSION:
        raise InputError(
            f"{where} nests operations more than {DEEPEST_EXPRESSION} deep; give its parts names of their own"
        )
    if name not in _OPERANDS:
        raise unknown("operation", name, _OPERANDS, where)
    least, most = _OPERANDS[name]
    if not least <= count <= most:
        expected = least if least == most else f"at least {least}"
        raise InputError(f"{where} has '{name}' of {count} operands; expected {expected}")
