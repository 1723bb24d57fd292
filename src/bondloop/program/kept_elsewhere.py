"""What a law of the user's keeps elsewhere than in its states: globals, lists, attributes of its class.

A law is traced when a test is built and not called again, so what it keeps elsewhere would stand still.
Formulas that differ from trace to trace show it (`same_twice`); here is looked for what need not show in
them: a counter that acts at every tenth call, a list that only grows.
"""

from __future__ import annotations

import dis
import inspect
import itertools
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FunctionType

import numpy as np

from bondloop.errors import ModelError

__all__ = ["nothing_kept"]

DEEPEST = 4
"""Containers within one another that are looked into."""

LONGEST = 10_000
"""Entries of a container from which only their number is compared."""


@contextmanager
def nothing_kept(law: type, *formulas: str) -> Iterator[None]:
    """Refuse a law that assigns globals, or changes what it did not make, while it is traced here.

    Parameters
    ----------
    law
        The class that a user wrote.
    *formulas
        Names of the methods that are traced.
    """
    functions = _functions(law, formulas)
    before = _within_reach(law, functions)
    yield
    after = _within_reach(law, functions)
    changed = [*_assigned(functions), *(name for name in before if before[name] != after.get(name))]
    if changed:
        raise ModelError(
            f"{law.__name__}.{formulas[0]} changes '{changed[0]}', which is none of its states: a law is "
            "called only when the test is built, and what it keeps elsewhere stands still from then on; name "
            "it in states = {...}"
        )


def _functions(law: type, formulas: Iterable[str]) -> list[FunctionType]:
    """Return the user's functions that formulas may call: methods, and functions that they read by name."""
    methods: dict[str, list[FunctionType]] = {}
    for base in law.__mro__:
        for name, value in vars(base).items() if not _is_ours(base) else ():
            method = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            if isinstance(method, FunctionType):
                methods.setdefault(name, []).append(method)
    waiting = [f for name in formulas for f in methods.get(name, ())]
    known: dict[int, FunctionType] = {}
    while waiting:
        function = waiting.pop()
        if id(function) in known or _is_ours(function):
            continue
        known[id(function)] = function
        waiting += [f for name in _names(function) for f in methods.get(name, ())]
        waiting += [f for f in _read(function).values() if isinstance(f, FunctionType)]
    return list(known.values())


def _is_ours(thing: object) -> bool:
    module = str(getattr(thing, "__module__", ""))
    return module.partition(".")[0] in {"bondloop", "builtins", "numpy", "abc"}


def _names(function: FunctionType) -> set[str]:
    return {name for code in _codes(function.__code__) for name in code.co_names}


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function, and of the functions that are written in it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _read(function: FunctionType) -> dict[str, object]:
    """Return what a function can read of its file and of the functions around it, by name."""
    known = function.__globals__
    values = {name: known[name] for name in _names(function) if name in known}
    defaults = inspect.signature(function).parameters.values()
    values.update({p.name: p.default for p in defaults if p.default is not p.empty})
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            values[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return values


def _assigned(functions: list[FunctionType]) -> list[str]:
    """Return the names that functions assign outside themselves: ``global n``, ``nonlocal n``."""
    return [
        str(line.argval)
        for function in functions
        for code in _codes(function.__code__)
        for line in dis.get_instructions(code)
        if line.opname in {"STORE_GLOBAL", "DELETE_GLOBAL"}
        or (line.opname in {"STORE_DEREF", "DELETE_DEREF"} and line.argval in function.__code__.co_freevars)
    ]


def _within_reach(law: type, functions: list[FunctionType]) -> dict[str, object]:
    """Return what a law can change, by name, as it is now."""
    values = {name: value for function in functions for name, value in _read(function).items()}
    for base in law.__mro__:
        if not _is_ours(base):
            values.update({f"{law.__name__}.{n}": v for n, v in vars(base).items() if not n.startswith("_")})
    return {name: _content(value, DEEPEST) for name, value in values.items()}


class _Same:
    """Stands for a value that is told by what it is, and is held so that nothing else takes its place."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _content(value: object, depth: int) -> object:
    """Return what a value holds, in a form that can be compared later."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes() if value.dtype != object else [*map(_Same, value.flat)]
    if isinstance(value, (list, tuple, deque, set, frozenset, Mapping)):
        return type(value), _entries(value, depth)
    if isinstance(value, (int, float, complex, str, bytes, bytearray, itertools.count)):
        return type(value), repr(value)
    own = getattr(value, "__dict__", None)
    if depth and isinstance(own, dict) and not _is_fixed(value):
        return _Same(value), _entries(own, depth)
    return _Same(value)


def _entries(values: Collection[object], depth: int) -> object:
    if not depth or len(values) > LONGEST:
        return len(values)
    if isinstance(values, (set, frozenset)):
        return {*map(_Same, values)}
    if isinstance(values, Mapping):
        return [(_Same(key), _content(x, depth - 1)) for key, x in values.items()]
    return [_content(x, depth - 1) for x in values]


def _is_fixed(value: object) -> bool:
    """Whether a value is looked at no further: a module, a class, a function, or a thing of bondloop's."""
    return (
        inspect.ismodule(value)
        or isinstance(value, type)
        or inspect.isroutine(value)
        or _is_ours(type(value))
    )
