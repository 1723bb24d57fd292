"""Where a verb's test comes from, and what `--set` changes in it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from bondloop import papers
from bondloop.cli.options import whole
from bondloop.errors import InputError, nearest, unknown_name

if TYPE_CHECKING:
    from types import ModuleType

    from bondloop.bondgraph import Model
    from bondloop.hybrid import HybridTest, Rehearsable
    from bondloop.safety import Interlock


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


def is_of_safety(path: str) -> bool:
    """Whether a setting is one of limits or interlock.

    >>> is_of_safety("limits.force"), is_of_safety("rig.latency")
    (True, False)
    """
    return path.partition(".")[0] in ("limits", "interlock") and "." in path


def with_safety(test: HybridTest, settings: Mapping[str, str]) -> HybridTest:
    """Return a test with other limits, or another interlock; one is made where there is none.

    Parameters
    ----------
    test
        The test.
    settings
        Values as texts, by path: those for which `is_of_safety` holds.
    """
    from bondloop.safety import Interlock, Limits

    limits = {path.partition(".")[2]: text for path, text in settings.items() if path.startswith("limits.")}
    inner = {path.partition(".")[2]: text for path, text in settings.items() if path.startswith("interlock.")}
    changes: dict[str, object] = {}
    known = [f.name for f in fields(Limits)]
    for name in limits:
        if name not in known:
            raise InputError(unknown_name("limit", name, known))
    if limits and not hasattr(test, "limits"):
        raise InputError("this test has no limits to set")
    if limits:
        kept = {} if test.limits is None else test.limits.describe()
        changes["limits"] = Limits(**{**kept, **limits})
    if inner and not hasattr(test, "interlock"):
        raise InputError("this test has no interlock to set")
    if inner:
        changes["interlock"] = _interlock(test.interlock or Interlock(), inner)
    return test.replaced(**changes) if changes else test


def _interlock(kept: Interlock, settings: Mapping[str, str]) -> Interlock:
    from bondloop.safety import Interlock, Limits, PowerTrip

    described: dict[str, Any] = kept.describe()
    parts = {"limits": Limits, "power": PowerTrip}
    inner = [f"{part}.{f.name}" for part, kind in parts.items() for f in fields(kind)]
    own = [f.name for f in fields(Interlock) if f.name not in parts]
    for path, text in settings.items():
        place = "power.threshold" if path == "power" else path
        word, _, rest = place.partition(".")
        if place in inner:
            described[word] = {**(described[word] or {"safety": "PowerTrip"}), rest: text}
        elif place in own:
            described[place] = _count(place, text) if place in ("stale", "deadline") else text
        else:
            raise InputError(unknown_name("setting", path, [*own, *inner], where="the interlock"))
    return Interlock.from_description(described)


def _count(path: str, text: str) -> int:
    try:
        return whole(text)
    except ValueError:
        raise InputError(f"interlock.{path}: expected a whole number; found {text!r}") from None


IN_REAL_TIME = ("gap", "record_loss", "page_loss")
"""What `--set` reaches of every hybrid test, whether or not its function takes it."""

UNITS = {
    "rate": ("Hz",), "frequency": ("Hz",), "seconds": ("s",), "time_step": ("s",), "latency": ("s",),
    "delay": ("s",), "settling_time": ("s",), "velocity": ("m/s", "rad/s"),
    "amplitude": ("m", "rad", "N", "m/s"),
}  # fmt: skip
"""What options of tests measure that are called by words of the whole package."""


def find_test(source: str, settings: Sequence[str]) -> tuple[HybridTest, ModuleType | SimpleNamespace]:
    """Return a test with settings applied, and the module that defines it.

    A setting names an argument of the module's ``test`` function (``case=3/5``) or the path of any parameter
    (``rig.transfer.damper.damping=160``); of a test file (TOML), any of its entries (``rig.latency=2 ms``) or
    any parameter.
    """
    if source.endswith(".toml"):
        return _from_test_file(Path(source), settings)

    safety, settings = _apart(settings)
    module = _module(source)
    made = module.test
    options, values = _sorted(made, settings)
    if callable(made):
        with _running(source):
            made = made(**options)
    if not hasattr(made, "with_values"):
        raise InputError(
            f"{source}: `test` is of type {type(made).__name__}; a bondloop.HybridTest was expected"
        )
    test: HybridTest = made
    for name in [n for n in IN_REAL_TIME if n in values]:
        if not hasattr(test, name):
            raise InputError(f"{source} is a test without a loop in real time; it has no {name} to set")
        test = test.replaced(**{name: values.pop(name)})
    test = with_safety(test, safety)
    return test.with_values(values) if values else test, module


def _from_test_file(path: Path, settings: Sequence[str]) -> tuple[HybridTest, SimpleNamespace]:
    from bondloop.files import read

    safety, rest = _apart(settings)
    file = read(path, dict(_split(text) for text in rest))
    length = {} if file.seconds is None else {"SECONDS": file.seconds}
    test: Any = file.test
    test = with_safety(test, safety)
    return test, SimpleNamespace(test=test, **length)


def length_of(test: Rehearsable, module: ModuleType | SimpleNamespace, seconds: float | None) -> float:
    """Return how long a run lasts: as asked for, as the test says itself, or as its module does."""
    own = own_length(test, module, seconds)
    return 10.0 if own is None else float(own)


def own_length(
    test: Rehearsable, module: ModuleType | SimpleNamespace, seconds: float | None
) -> float | None:
    """Return the same, but None where nobody says anything."""
    if seconds is not None:
        return seconds
    return getattr(module, "SECONDS", None) if test.seconds is None else float(test.seconds)


def _apart(settings: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the settings of limits and interlock, and the others."""
    pairs = [(text, _split(text)) for text in settings]
    safety = {path: value for _, (path, value) in pairs if is_of_safety(path)}
    return safety, [text for text, (path, _) in pairs if path not in safety]


def _running(source: str) -> AbstractContextManager[None]:
    if not source.endswith(".py"):
        return nullcontext()
    from bondloop.files import running

    return running(Path(source))


def _module(source: str) -> ModuleType | SimpleNamespace:
    if source.endswith(".py"):
        from bondloop.files import names_in

        path = Path(source)
        names = names_in(path, "bondloop_test")
        if "test" not in names:
            raise InputError(
                f"{path} defines no `test`; assign it a HybridTest, or write a function that returns one"
            )
        return SimpleNamespace(**names)
    if source.endswith((".h5", ".hdf5")):
        raise InputError(f"{source} is a saved run; name the test that made it")
    refuse_other_files(source)
    return papers.find(source).load()


def _sorted(made: object, settings: Sequence[str]) -> tuple[dict[str, bool | float | str], dict[str, str]]:
    """Sort settings into arguments of the test function and parameter paths."""
    arguments = dict(inspect.signature(made).parameters) if callable(made) else {}
    options: dict[str, bool | float | str] = {}
    values: dict[str, str] = {}
    for text in settings:
        key, given = _split(text)
        if key in arguments:
            options[key] = _converted(key, given, arguments[key].default)
        elif "." in key or key in IN_REAL_TIME:  # that of a hybrid test, which no function need take
            values[key] = given  # as text: the parameter knows which units suit it
        else:
            raise InputError(
                unknown_name("option", key, arguments, where="this test")
                + "; parameters are set by their path"
            )
    return options, values


def _split(text: str) -> tuple[str, str]:
    key, equals, given = text.partition("=")
    key, given = key.strip(), given.strip()
    if not equals or not key or not given:
        raise InputError(f"--set takes PATH=VALUE; found {text!r}")
    return key, given


def _converted(key: str, given: str, default: object) -> bool | float | str:
    if isinstance(default, bool):
        if given.lower() in ("true", "yes", "on", "1"):
            return True
        if given.lower() in ("false", "no", "off", "0"):
            return False
        raise InputError(f"{key}: expected true or false; found {given!r}")
    if isinstance(default, int):
        try:
            return whole(given)
        except ValueError:
            raise InputError(f"{key}: expected a whole number; found {given!r}") from None
    if isinstance(default, float):
        from bondloop.engine.data import number

        return number(given, key, *UNITS.get(key, ()))
    return given
