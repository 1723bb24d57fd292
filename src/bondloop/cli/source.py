"""Where a verb's model comes from: a ready-made one by name, or a Python file of the user's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bondloop import papers
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.bondgraph import Model

__all__ = ["Source", "find_model", "short_name"]

Source = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE.py|FILE.toml",
        help="A name that `bondloop list` shows, a Python file that defines `model`, or a test file.",
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
        A ready-made model's name, the path of a Python file whose `model` is a `Model` or a function that
        returns one, or that of a test file (TOML), whose structure is meant.

    Raises
    ------
    InputError
        When there is no such name or file, or the file does not define a model.
    """
    if source.endswith(".toml"):
        return _from_test_file(Path(source))
    if _is_file(source):
        return _from_file(Path(source))
    try:
        entry = papers.find(source)
    except InputError as error:
        raise InputError(f"{error}; or give a Python file that defines `model`") from None
    return entry.model()


def _is_file(source: str) -> bool:
    return source.endswith((".py", ".toml", ".h5", ".hdf5")) or "/" in source or "\\" in source


def _from_test_file(path: Path) -> Model:
    from bondloop.description import load
    from bondloop.hybrid.test_data import structure_of

    model = structure_of(load(path))
    if model is None:
        raise InputError(
            f"{path}: its test has no bond graph to show; a hybrid test with a structure has one"
        )
    return model


def _from_file(path: Path) -> Model:
    from bondloop.bondgraph import Model
    from bondloop.description.python_file import names_in, running

    names = names_in(path, "bondloop_model")
    with running(path):
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
