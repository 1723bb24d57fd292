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
import types
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from bondloop.errors import InputError, ModelError
from bondloop.program.expr import ARGUMENTS, COMPARISONS, FUNCTIONS, Const, Expr, Op, Var
from bondloop.program.json_values import (
    LEAVES,
    check_fields,
    is_whole,
    list_of,
    read_matrix,
    read_number,
    read_variable,
    shown,
    unfit,
    unknown,
    write_number,
    write_variable,
)
from bondloop.program.tick import NOT_IN_FILES, Product, Tick

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from bondloop.data.kinds import Json

__all__ = ["dump_tick", "load_tick"]

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
