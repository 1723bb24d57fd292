"""Where a verb's test comes from, and what `--set` changes in it."""

from __future__ import annotations

import inspect
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bondloop import papers
from bondloop.cli.quantities import whole
from bondloop.cli.source import completed, refuse_other_files
from bondloop.errors import InputError, unknown_name

if TYPE_CHECKING:
    from types import ModuleType

    from bondloop.hybrid import HybridTest, Rehearsable


IN_REAL_TIME = ("gap", "record_loss", "page_loss")
"""What `--set` reaches of every hybrid test, whether or not its function takes it."""

TestSource = Annotated[
    str,
    typer.Argument(
        autocompletion=completed,
        metavar="NAME|FILE.py|FILE.toml",
        help="A test that `bondloop list` shows, a Python file that defines `test`, or a test file.",
    ),
]
RunSource = Annotated[
    str,
    typer.Argument(
        autocompletion=completed,
        metavar="NAME|FILE.py|FILE.toml|RUN.h5",
        help="A test that `bondloop list` shows, a Python file that defines `test`, a test file, or a "
        "saved run.",
    ),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change an option of the test or any parameter by its path; repeatable.",
    ),
]


UNITS = {
    "rate": ("Hz",), "frequency": ("Hz",), "seconds": ("s",), "time_step": ("s",), "latency": ("s",),
    "delay": ("s",), "settling_time": ("s",), "velocity": ("m/s", "rad/s"),
    "amplitude": ("m", "rad", "N", "m/s"),
}  # fmt: skip
"""What options of tests measure that are called by words of the whole package."""


def find_test(source: str, settings: list[str]) -> tuple[HybridTest, ModuleType | SimpleNamespace]:
    """Return a test with settings applied, and the module that defines it.

    A setting names an argument of the module's ``test`` function (``case=3/5``) or the path of any parameter
    (``rig.transfer.damper.damping=160``); of a test file (TOML), any of its entries (``rig.latency=2 ms``) or
    any parameter.
    """
    if source.endswith(".toml"):
        return _from_test_file(Path(source), settings)
    from bondloop.cli.safety_settings import with_safety

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


def _from_test_file(path: Path, settings: list[str]) -> tuple[HybridTest, SimpleNamespace]:
    from bondloop.cli.safety_settings import with_safety
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


def _apart(settings: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the settings of limits and interlock, and the others."""
    from bondloop.cli.safety_settings import is_of_safety

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
        raise InputError(f"{source} is a saved run; check the test that made it")
    refuse_other_files(source)
    entry = papers.find(source)
    if entry.kind == "model":
        raise InputError(f"'{source}' is a model, not a test; see `bondloop list`")
    return entry.load()


def _sorted(made: object, settings: list[str]) -> tuple[dict[str, bool | float | str], dict[str, str]]:
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
