"""What a Python file defines, for a description that names it: ``"chain.py:chain"``.

Nothing else in a description makes Python run.
"""

from __future__ import annotations

import inspect
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bondloop.engine.data import Kind, describable
from bondloop.errors import BondloopError, InputError, unknown_name

RUN_NAME = "bondloop_description"
"""Module of what such a file defines."""

_SOURCES: dict[object, str] = {}
"""``file.py:name`` of the classes in files that a description named."""

_RUNNING: set[str] = set()
"""Names of the modules of files that run at this moment."""


def python_kind(family: str, name: str, folder: Path) -> Kind:
    """Run a Python file, and return the kind of what it defines under a name.

    Parameters
    ----------
    family
        In which it stands: ``"model"``, ``"controller"``.
    name
        ``"file.py:name"``: a class, a function that makes the thing, or the thing itself. A class within a
        class is ``"file.py:Outer.Inner"``.
    folder
        Where relative paths begin.
    """
    file, _, word = name.rpartition(".py:")
    path = (folder / f"{file}.py").resolve()
    full = f"{path}:{word}"
    unfinished = _unfinished(path)
    defined = names_in(path) if unfinished is None else unfinished
    first, *inner = word.split(".")
    if first not in defined:
        if unfinished is not None:
            raise InputError(
                f"{path} asks for its own '{word}' before it has defined it; put what reads the test file "
                'at its end, after if __name__ == "__main__":'
            )
        own = [n for n, value in defined.items() if n[0] != "_" and callable(value)]
        raise InputError(unknown_name("name", word, own, where=str(path)))
    value = defined[first]
    for n in inner:
        if not isinstance(value, type) or n not in vars(value):
            raise InputError(f"{path}: there is no class '{n}' within '{word.rpartition(f'.{n}')[0]}'")
        value = vars(value)[n]
    for n, kind in defined.items():  # all of them: running the file has made every class of it anew
        if isinstance(kind, type) and kind.__module__ == RUN_NAME:
            _SOURCES[kind] = f"{path}:{n}"
    if isinstance(value, type):
        _SOURCES[value] = full
        return Kind(family, full, value)
    if not inspect.isroutine(value):
        return Kind(family, full, _constant(family, full, value))
    return Kind(family, full, describable(family, full)(_guarded(value, path)))


def _constant(family: str, full: str, value: Any) -> Callable[[], Any]:
    def constant() -> Any:
        return value.copy() if hasattr(value, "copy") else value

    return describable(family, full)(constant)


def _guarded(make: Callable[..., Any], path: Path) -> Callable[..., Any]:
    def guarded(*args: object, **options: object) -> Any:
        with running(path):
            return make(*args, **options)

    guarded.__name__ = make.__name__
    guarded.__signature__ = inspect.signature(make)  # type: ignore[attr-defined]
    return guarded


def names_in(path: Path, run_name: str = RUN_NAME) -> dict[str, Any]:
    """Run a Python file and return what it defines."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    outer = run_name in _RUNNING
    _RUNNING.add(run_name)
    try:
        with running(path):
            return runpy.run_path(str(path), run_name=run_name)
    finally:
        if not outer:
            _RUNNING.discard(run_name)


def _unfinished(path: Path) -> dict[str, Any] | None:
    """Return what a file has defined that runs already, as a program or because it is being imported.

    A script that reads back a test with its own law would run itself again, and again.
    """
    for name, module in [*sys.modules.items()]:
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or Path(file).name != path.name or Path(file).resolve() != path:
            continue
        importing = getattr(getattr(module, "__spec__", None), "_initializing", False)
        if name == "__main__" or name in _RUNNING or importing:
            return dict(vars(module))
    return None


def source_of(kind: Kind) -> str:
    """Return ``file.py:name`` of a kind that is not bondloop's own; nothing for one that is."""
    make = inspect.unwrap(kind.make)
    if ".py:" in kind.name or (getattr(make, "__module__", "") or "").partition(".")[0] == "bondloop":
        return ""
    if make in _SOURCES:
        return _SOURCES[make]
    try:
        file = inspect.getsourcefile(make)
    except (TypeError, OSError):  # a class typed at the prompt has no file
        file = None
    if file is None or not Path(file).is_file():
        raise hidden(kind.name)
    return f"{Path(file).resolve()}:{make.__qualname__}"


def hidden(name: str) -> InputError:
    """Say that something is defined within a function, or in no file at all."""
    return InputError(
        f"{name} is defined where a file cannot find it; define it at the top level of a Python "
        f"file, which a test file names by '{name.lower()}.py:{name}'"
    )


@contextmanager
def running(path: Path) -> Iterator[None]:
    """Let the user's file import its neighbours, and tell its faults by line instead of by traceback."""
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    except BondloopError:
        raise
    except SyntaxError as error:
        where = f"{error.filename or path}" + (f", line {error.lineno}" if error.lineno else "")
        raise InputError(f"{where}: {error.msg}") from error
    except SystemExit as error:
        raise InputError(f"{path} ended the program (exit {error.code}) before it gave a model") from error
    except Exception as error:
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
        ]
        where = f", line {lines[-1]}" if lines else ""
        raise InputError(f"{path}{where}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)
