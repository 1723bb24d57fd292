"""Where a verb's model comes from: a ready-made one by name, or a Python file of the user's."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bondloop import papers
from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from bondloop.bondgraph import Model

__all__ = ["Source", "find_model", "running", "short_name"]

Source = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE.py",
        help="A name that `bondloop list` shows, or a Python file that defines `model`.",
    ),
]


def short_name(source: str) -> str:
    """Return the name of a model's source, without folder and suffix.

    Examples
    --------
    >>> short_name("models/motor.py"), short_name("gawthrop-three-mass")
    ('motor', 'gawthrop-three-mass')
    """
    return Path(source).stem if _is_file(source) else source


def find_model(source: str) -> Model:
    """Return the model that `source` names.

    Parameters
    ----------
    source
        A ready-made model's name, or the path of a Python file whose `model` is a `Model` or a function that
        returns one.

    Raises
    ------
    InputError
        When there is no such name or file, or the file does not define a model.
    """
    if _is_file(source):
        return _from_file(Path(source))
    try:
        entry = papers.find(source)
    except InputError as error:
        raise InputError(f"{error}; or give a Python file that defines `model`") from None
    return entry.model()


def _is_file(source: str) -> bool:
    return source.endswith((".py", ".h5", ".hdf5")) or "/" in source or "\\" in source


def _from_file(path: Path) -> Model:
    from bondloop.bondgraph import Model

    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    with running(path):
        names = runpy.run_path(str(path), run_name="bondloop_model")
        if "model" not in names:
            raise InputError(
                f"{path} defines no `model`; assign it a Model, or write a function that returns one"
            )
        made = names["model"]
        if not isinstance(made, Model) and callable(made):
            made = made()
    if isinstance(made, Model):
        return made
    raise InputError(
        f"{path}: `model` is of type {type(made).__name__}; a bondloop.bondgraph.Model was expected"
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
