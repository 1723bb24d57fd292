"""Calls with a misspelt, missing or surplus argument, or a text for a truth, answered in a sentence.

Python's TypeError names the internal function and no remedy. Here the near argument is named, and all that
are known. Arguments that are true or false are looked at first: any text is true to Python, "no" as well.
Nothing else is looked at before a call has failed, so a call that is right costs nothing to speak of.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

import numpy as np

from bondloop.errors import InputError, unknown_name

__all__ = ["clear_call", "clear_calls"]

P = ParamSpec("P")
T = TypeVar("T")
Class = TypeVar("Class", bound=type)

_SAME = {
    "parameters": ("values",),
    "params": ("values",),
    "start": ("initial",),
    "x0": ("initial",),
    "states": ("initial",),
    "time": ("duration", "times"),
    "seconds": ("duration",),
    "filename": ("path",),
    "file": ("path",),
}
"""What others call a thing, and what it is called here, where the two are spelt quite differently."""


def clear_call(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function whose callers are told in a sentence what is wrong with their arguments.

    Parameters
    ----------
    function
        Any that users call.

    Examples
    --------
    >>> @clear_call
    ... def simulate(duration, values=None):
    ...     return duration
    >>> simulate(1, parameters={})
    Traceback (most recent call last):
    bondloop.errors.InputError: unknown argument 'parameters' of simulate; it is called 'values'; known: ...
    >>> simulate()
    Traceback (most recent call last):
    bondloop.errors.InputError: simulate needs the argument 'duration'; known: duration, values
    """
    truths = _truths(function)

    @functools.wraps(function)
    def called(*args: P.args, **keywords: P.kwargs) -> T:
        for name, place in truths.items():
            value = args[place] if place < len(args) else keywords.get(name, False)
            if not isinstance(value, (bool, np.bool_)):
                raise InputError(
                    f"{_called(function, args)}({name}): expected True or False; found {value!r:.60}"
                )
        try:
            return function(*args, **keywords)
        except TypeError:
            sentence = _fault(function, args, keywords)
            if sentence is None:  # an error inside the function, none of the call
                raise
        raise InputError(sentence)

    return called


def clear_calls(kind: Class) -> Class:
    """Do so for the public methods of a class, and return it.

    Parameters
    ----------
    kind
        A class that users make, and whose methods they call.
    """
    for name, method in list(vars(kind).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(kind, name, clear_call(method))
    return kind


def _truths(function: Callable[..., object]) -> dict[str, int]:
    """Return the parameters that are true or false and nothing else, with their places."""
    parameters = inspect.signature(function).parameters.values()
    far = sys.maxsize
    return {
        p.name: far if p.kind is p.KEYWORD_ONLY else place
        for place, p in enumerate(parameters)
        if p.annotation in ("bool", bool)
    }


def _called(function: Callable[..., object], args: tuple[object, ...]) -> str:
    """Return the name of a function, or of the class that it makes one of."""
    return type(args[0]).__name__ if function.__name__ == "__init__" and args else function.__name__


def _fault(
    function: Callable[..., object], args: tuple[object, ...], keywords: Mapping[str, object]
) -> str | None:
    """Return what is wrong with the arguments of a call; None where nothing is."""
    parameters = list(inspect.signature(function).parameters.values())
    try:
        inspect.signature(function).bind(*args, **keywords)
    except TypeError:
        pass
    else:
        return None
    name = _called(function, args)
    if parameters and parameters[0].name == "self" and args:
        parameters, args = parameters[1:], args[1:]
    words = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    known = [p.name for p in words]
    for word in keywords:
        if word not in known and not any(p.kind is p.VAR_KEYWORD for p in parameters):
            return _unknown(word, known, name)
    places = [p.name for p in words if p.kind is not p.KEYWORD_ONLY]
    if len(args) > len(places) and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        if not known:
            return f"{name} takes no arguments; found {len(args)}"
        most = f"{len(places)} by place, the others by name"
        return f"{name} takes {most}; found {len(args)}; known: {', '.join(known)}"
    for word in places[: len(args)]:
        if word in keywords:
            return f"{name}: the argument '{word}' is given twice, by its place and by its name"
    missing = [p.name for p in words if p.default is p.empty and p.name not in keywords]
    missing = [word for word in missing if word not in places[: len(args)]]
    noun = "argument" if len(missing) == 1 else "arguments"
    named = " and ".join(f"'{word}'" for word in missing)
    return f"{name} needs the {noun} {named}; known: {', '.join(known)}"


def _unknown(word: str, known: list[str], where: str) -> str:
    for other in _SAME.get(word, ()):
        if other in known:
            return f"unknown argument '{word}' of {where}; it is called '{other}'; known: {', '.join(known)}"
    return unknown_name("argument", word, known, where=where)
