"""Where a verb's model comes from: a ready-made one by name, or a Python file of the user's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bondloop import papers
from bondloop.errors import InputError, nearest

if TYPE_CHECKING:
    from bondloop.bondgraph import Model


SUFFIXES = (".py", ".toml", ".h5", ".hdf5")
"""Of files that a source may be."""


def completed(incomplete: str) -> list[str]:
    """Return what a shell may complete a source to: ready-made names, then files and folders.

    >>> completed("wagg-")
    ['wagg-three-mass', 'wagg-two-mass-rig']
    """
    names = [entry.name for entry in papers.entries() if entry.name.startswith(incomplete)]
    folder, _, begun = incomplete.rpartition("/")
    root = Path(f"{folder}/" if "/" in incomplete else ".")
    found = sorted(root.iterdir()) if root.is_dir() else []
    fitting = [f for f in found if f.name.startswith(begun) and not f.name.startswith(".")]
    before = incomplete.removesuffix(begun)
    names += [f"{before}{f.name}/" for f in fitting if f.is_dir()] if incomplete else []
    return names + [f"{before}{f.name}" for f in fitting if f.suffix in SUFFIXES]


Source = Annotated[
    str,
    typer.Argument(
        autocompletion=completed,
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
        return _model_of_test_file(Path(source))
    if source.endswith(".py"):
        return _from_file(Path(source))
    refuse_other_files(source)
    try:
        entry = papers.find(source)
    except InputError as error:
        raise InputError(f"{error}; or give a Python file that defines `model`") from None
    return entry.model()


def refuse_other_files(source: str) -> None:
    """Refuse what is meant as a file and is none that can be read; names of ready-made ones have no dots."""
    path = Path(source)
    if not (path.suffix or "/" in source or "\\" in source):
        return
    if path.exists():
        raise InputError(f"{source}: expected a file that ends in .toml or .py")
    siblings = [str(path.parent / f.name) for f in path.parent.glob("*.*")] if path.parent.is_dir() else []
    near = nearest(source, [f for f in siblings if f.endswith((".toml", ".py"))], count=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise InputError(f"{source}: there is no such file{hint}")


def _is_file(source: str) -> bool:
    return source.endswith((".py", ".toml", ".h5", ".hdf5")) or "/" in source or "\\" in source


def _model_of_test_file(path: Path) -> Model:
    from bondloop.files import load

    model = load(path).structure
    if model is None:
        raise InputError(
            f"{path}: its test has no bond graph to show; a hybrid test with a structure has one"
        )
    return model


def _from_file(path: Path) -> Model:
    from bondloop.bondgraph import Model
    from bondloop.files import names_in, running

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
