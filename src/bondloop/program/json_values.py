"""Numbers, texts and matrices of ticks in JSON: what reads them believes nothing, and names the place."""

from __future__ import annotations

import math
import numbers
import reprlib
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from bondloop.data.ranges import Range
from bondloop.errors import InputError, unknown_name
from bondloop.program.expr import Var
from bondloop.program.factored import Factored
from bondloop.program.quantity import KINDS, Meaning, Quantity
from bondloop.program.solving import SingularError

if TYPE_CHECKING:
    from bondloop.data.kinds import Json

__all__ = [
    "LEAVES",
    "check_fields",
    "is_whole",
    "list_of",
    "read_matrix",
    "read_number",
    "read_variable",
    "shown",
    "unfit",
    "unknown",
    "write_number",
    "write_variable",
]

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
