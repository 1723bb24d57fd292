"""Laws of one's own: parameters and states that are named in a class, and formulas of them in Python."""

from __future__ import annotations

import dataclasses
import inspect
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform, get_args

import numpy as np

from bondloop.engine.data import FAMILIES, Parameter, Reader, hints_of, number, wanted
from bondloop.engine.ir import Var, is_comparison
from bondloop.engine.laws.samples import in_si
from bondloop.engine.laws.traced import Traced, TracedArray, Value, array_of, expression
from bondloop.errors import AbsentError, BondloopError, InputError, ModelError, unknown_name
from bondloop.units import known_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.data import Range
    from bondloop.engine.ir import Expr


class Readings:
    """Base of what a law is told at a sample, whose entries are its fields.

    >>> from bondloop.control import Desired
    >>> Desired(1.0).acceleration
    Traceback (most recent call last):
    bondloop.errors.AbsentError: unknown entry 'acceleration' of Desired; known: displacement, velocity
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        known = self.__dataclass_fields__
        raise AbsentError(unknown_name("entry", name, known, where=type(self).__name__))


def called(method: Callable[..., Value], what: str, *arguments: object) -> Value:
    """Call a method that a user wrote; an error in it becomes a sentence with its line.

    Parameters
    ----------
    method
        As it is bound to its law.
    what
        Its name for the message: ``"Lead.step"``.
    *arguments
        What it is told.
    """
    try:
        return method(*arguments)
    except BondloopError:
        raise  # it says already what to do
    except Exception as error:
        code = getattr(method, "__code__", None)
        file = getattr(code, "co_filename", "")
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if file and f.filename == file]
        at = f", line {lines[-1]} of {Path(file).name}" if lines else ""
        raise ModelError(
            f"{what}{at}: {type(error).__name__}: {error}; a law is written with Python's operators and the "
            "functions of bondloop.math"
        ) from error


def check_arguments(cls: type, expected: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse a class whose methods do not take what they will be called with.

    Parameters
    ----------
    cls
        The class that a user wrote.
    expected
        The arguments after ``self``, by the name of the method.
    """
    for word, arguments in expected.items():
        method = vars(cls).get(word)
        if not inspect.isfunction(method) or not any(hasattr(base, word) for base in cls.__mro__[1:]):
            continue
        signature = inspect.signature(method)
        taken = [*signature.parameters][1:]
        swapped = any(
            name in arguments and name != arguments[i] for i, name in enumerate(taken[: len(arguments)])
        )
        try:
            signature.bind(None, *arguments)
        except TypeError:
            swapped = True
        if swapped:
            wanted = f"{word}(self, {', '.join(arguments)})"
            raise ModelError(f"{cls.__name__}.{word}: expected {wanted}; found {word}{signature}")


def check_units(units: object, what: str) -> None:
    """Refuse units by name that are none: ``{"sum": "metre"}``.

    Parameters
    ----------
    units
        What a class says of its states.
    what
        What it is, for the message.
    """
    if not isinstance(units, Mapping) or not all(isinstance(name, str) for name in units):
        raise ModelError(f'{what}: expected units by names of states, {{"sum": "m"}}; found {units!r:.60}')
    for name, unit in units.items():
        known_unit(unit, f"{what}['{name}']")


def one_number(value: Value, what: str) -> Value:
    """Return what a law computed if it is a number; refuse several, none, and a comparison.

    Parameters
    ----------
    value
        What its method returned.
    what
        The method, for the message.
    """
    if value is None:
        raise ModelError(f"{what} returns nothing; end it with 'return ...'")
    count = len(value) if isinstance(value, (tuple, list)) else getattr(value, "size", 1)
    if count != 1:
        raise ModelError(f"{what}: expected one number; found {count}")
    if isinstance(value, (tuple, list)):
        return one_number(value[0], what)
    return not_a_comparison(value.item() if isinstance(value, np.ndarray) else value, what)


def not_a_comparison(value: Value, what: str) -> Value:
    """Return what a law computed; refuse what is true or false, for it is no force and no displacement."""
    expr = value.expr if isinstance(value, Traced) else None
    if is_comparison(expr) or isinstance(value, (bool, np.bool_)):
        shown = str(value if expr is None else expr)
        raise ModelError(
            f"{what}: expected a number; found the comparison '{shown:.60}'; choose between numbers by "
            "bondloop.math.where(condition, a, b)"
        )
    return value


CLASS_WIDE = (
    "states",
    "units",
    "inputs",
    "adapted",
    "record",
    "coupled",
    "interfaces",
    "mass_is",
    "sensors",
    "transfer",
)
"""What a class of laws says of all of them."""

FORMULAS = {
    "step": ("desired", "measured"),
    "rates": ("motion",),
    "force": ("motion",),
    "memory": ("motion",),
}
"""Methods that users write, and what they take."""


@dataclass_transform(frozen_default=True)
class Law:
    """Base of laws that users write: every class derived from it is a frozen dataclass by itself.

    A field with the type ``float`` is a parameter: given in SI or as text with a unit, checked, and open to
    be changed by path in a test that is built. Fields of other types (``int``, ``bool``, ``str``) decide how
    the law is built, and take what an entry of a test file may be. A bounded parameter is written
    ``gain: Parameter = Parameter(0.5, least=0)``.

    The methods read parameters and states as attributes. They are called with numbers when a law that was
    `started` is tried out, and once with traced values when a test is built.
    """

    states: ClassVar[Mapping[str, float | Sequence[float]]] = {}
    """What the law keeps, by name, with initial values: numbers, or arrays of numbers. A property where the
    initial values depend on parameters."""

    reserved: ClassVar[tuple[str, ...]] = ()
    """Names of what else a law can read while it runs."""

    _assigns: ClassVar[bool] = True
    """Whether a law that runs assigns its states; where not, it returns their rates."""

    def __init_subclass__(cls, **rest: object) -> None:
        family = None if _is_ours(cls) else FAMILIES.get(getattr(cls, "_family", ""))
        kind = None if family is None else family.get(cls.__name__)
        if kind is not None and _is_ours(kind.make):
            raise ModelError(f"bondloop has a {kind.family} '{cls.__name__}' of its own; choose another name")
        if "__init__" in vars(cls):
            raise ModelError(
                f"{cls.__name__}: a law has no __init__ of its own; write its parameters as fields of the "
                "class, gain: float = 2.0, and work out what follows from them in a property"
            )
        super().__init_subclass__(**rest)
        _declare(cls)
        check_arguments(cls, FORMULAS)
        for word in ("units", "record"):
            if word in vars(cls):
                check_units(vars(cls)[word], f"{cls.__name__}.{word}")
        dataclass(frozen=True)(cls)
        # A law that runs assigns its states, so this class says what may be assigned.
        for word in ("__setattr__", "__delattr__"):
            delattr(cls, word)

    def __post_init__(self) -> None:
        """Hold fields that are no parameters to what a test file may say, so that it can be read back."""
        numbers, hints = self.parameter_ranges(), hints_of(type(self))
        for name, parameter in inspect.signature(type(self)).parameters.items():
            if name in numbers:
                continue
            reader, hint, value = Reader(), hints.get(name, Any), self.__dict__[name]
            want = wanted(hint)
            if isinstance(value, (np.generic, np.ndarray)) and not want.anything:
                value = value.tolist()
            optional = want.anything or parameter.default is None or type(None) in get_args(hint)
            if value is None and not optional:
                reader.fault((), f"expected {want}; found None")
            self.__dict__[name] = reader.value(value, hint, ())
            if reader.faults:
                raise InputError(f"{type(self).__name__}({name}): {'; '.join(map(str, reader.faults))}")

    def __setattr__(self, name: str, value: Value) -> None:
        kept = self.__dict__.get("_kept")
        if kept is None:
            raise dataclasses.FrozenInstanceError(
                f"{type(self).__name__} is a value that does not change: '{name}' cannot be assigned; make "
                f"another with dataclasses.replace(law, {name}=...); states are assigned while it runs"
            )
        if name in self.__dict__ and name not in kept:
            own = name in {f.name for f in fields(self)}  # type: ignore[arg-type]
            what = "a parameter, the same at every sample" if own else "read"
            raise ModelError(
                f"{type(self).__name__}: '{name}' is {what}, and cannot be assigned; what changes from one "
                "sample to the next is a state, named in the class, states = {...}"
            )
        if name not in kept:
            raise ModelError(
                f"{type(self).__name__}: {unknown_name('state', name, kept)}; what is kept from one "
                "sample to the next is named in the class, states = {...}"
            )
        if not self._assigns:
            raise ModelError(
                f"{type(self).__name__}: states cannot be assigned in rates or force, found '{name}'; rates "
                f'returns how they change: {{"{name}": rate}}'
            )
        shape = kept[name]
        if shape:
            array = array_of(value)
            if array.shape != shape:
                raise ModelError(
                    f"{type(self).__name__}: the state '{name}' has the shape {shape}; found {array.shape}"
                )
            value = array
        elif isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
            count = value.size if isinstance(value, np.ndarray) else len(value)
            raise ModelError(f"{type(self).__name__}: the state '{name}' is one number; found {count}")
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        raise ModelError(
            f"{type(self).__name__}: '{name}' cannot be deleted; a state has a value at every sample, and a "
            "parameter never changes"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        kind = type(self).__name__
        # Not self.states: where that is a property, the name may be missing in it.
        named = inspect.getattr_static(type(self), "states")
        kept = [*named] if isinstance(named, Mapping) else []
        if name in self.reserved or name in kept:
            raise AttributeError(f"{kind}: '{name}' is known only while it runs; start it first")
        known = [*(f.name for f in fields(self)), *kept]  # type: ignore[arg-type]
        raise AbsentError(f"{kind}: {unknown_name('parameter or state', name, known)}")

    # ---------------------------------------------------------------- parameters and states

    @classmethod
    def parameter_ranges(cls) -> dict[str, Range]:
        """Return the parameters' names, with the range of each."""
        descriptors = {f.name: inspect.getattr_static(cls, f.name, None) for f in fields(cls)}  # type: ignore[arg-type]
        return {name: d.range for name, d in descriptors.items() if isinstance(d, Parameter)}

    def parameter_values(self) -> dict[str, float]:
        """Return the parameters' values by name."""
        return {name: getattr(self, name) for name in self.parameter_ranges()}

    def with_parameters(self, values: Mapping[str, float]) -> Self:
        """Return the law with other values of its parameters, which are checked and not read here.

        A ``__post_init__`` of its own runs as in any other law that is made.

        Parameters
        ----------
        values
            By name; the others keep theirs.
        """
        copy = object.__new__(type(self))
        own = {f.name: self.__dict__[f.name] for f in fields(self) if f.init}  # type: ignore[arg-type]
        copy.__dict__.update(own | dict(values))
        copy.__post_init__()
        return copy

    def initial_states(self) -> dict[str, float | NDArray[np.float64]]:
        """Return the states' initial values by name: floats, or arrays of floats."""
        kind = type(self).__name__
        named = inspect.getattr_static(type(self), "states")
        if isinstance(named, property) and named.fget is not None:
            named = named.fget(self)  # called as it is, it can say which name is missing in it
        if not isinstance(named, Mapping):
            raise ModelError(f'{kind}.states: expected {{"name": initial value, ...}}; found {named!r:.60}')
        values: dict[str, float | NDArray[np.float64]] = {}
        for name, value in named.items():
            fit = str(name).isidentifier() and not name.startswith("_")
            taken = {*self.reserved, *(f.name for f in fields(self))}  # type: ignore[arg-type]
            if not fit or name in taken or hasattr(type(self), name):
                raise ModelError(f"{kind}.states: a state cannot be called {name!r}; choose another name")
            if isinstance(value, (list, tuple, np.ndarray)):
                array = np.array(in_si(value, f"{kind}.states['{name}']", *self._unit_of(name)))
                if not np.isfinite(array).all():
                    raise InputError(
                        f"{kind}.states: '{name}' must start at finite numbers; found {value!r:.60}"
                    )
                values[name] = array
            else:
                values[name] = number(value, f"{kind}.states['{name}']", *self._unit_of(name))
        return values

    def _unit_of(self, state: str) -> tuple[str, ...]:
        """Return the unit that the class states of a state, if it does."""
        stated = {**getattr(self, "record", {}), **getattr(self, "units", {})}
        return (stated[state],) if stated.get(state) else ()

    def running(self, values: Mapping[str, Value], states: Mapping[str, Value], **known: Value) -> Self:
        """Return a copy whose states can be assigned.

        Parameters
        ----------
        values
            Of parameters, by name; the others keep theirs.
        states
            Where it stands: numbers, traced values, or arrays of either.
        **known
            What else it can read.
        """
        copy = object.__new__(type(self))
        copy.__dict__.update({**self.__dict__, **values, **states, **known})
        if not self._assigns:
            for x in states.values():
                if isinstance(x, np.ndarray):
                    x.flags.writeable = False
        copy.__dict__["_kept"] = {
            name: np.shape(x) if isinstance(x, np.ndarray) else () for name, x in states.items()
        }
        return copy

    def checked_states(self, states: Mapping[str, object]) -> dict[str, float | NDArray[np.float64]]:
        """Return the states with some of them changed, checked."""
        values = self.initial_states()
        for name, value in states.items():
            if name not in values:
                raise InputError(unknown_name("state", name, values, where=type(self).__name__))
            shape = np.shape(values[name])
            what, unit = f"{type(self).__name__}({name})", self._unit_of(name)
            values[name] = np.array(in_si(value, what, *unit)) if shape else number(value, what, *unit)
            if np.shape(values[name]) != shape:
                raise InputError(f"{type(self).__name__}: the state '{name}' has the shape {shape}")
        return values


def _declare(cls: type[Law]) -> None:
    """Make parameters of a class's fields with the type ``float``, and of new defaults of inherited ones."""
    inherited = {name: x for base in cls.__mro__[:0:-1] for name, x in vars(base).items()}
    kinds = inspect.get_annotations(cls)
    if not _is_ours(cls):
        used = {n for base in cls.__mro__ if _is_ours(base) for n in vars(base)}
        for name in {*vars(cls), *kinds} - {*CLASS_WIDE, *FORMULAS}:
            theirs = name in used and not isinstance(inherited.get(name), Parameter)
            if name[0] != "_" and (theirs or name in cls.reserved):
                raise ModelError(f"{cls.__name__}: '{name}' is a name of bondloop's own; choose another")
    for name in CLASS_WIDE:  # a type does not make a field of it
        kinds.pop(name, None)
    for name, default in [*vars(cls).items(), *((n, None) for n in kinds if n not in vars(cls))]:
        older = inherited.get(name) if name not in kinds else None
        if isinstance(default, Parameter) or not (
            kinds.get(name) in (float, "float") or isinstance(older, Parameter)
        ):
            continue
        parameter = Parameter(default)
        if isinstance(older, Parameter):  # gain = 3.0 in a derived class: its bounds stay
            parameter.range = older.range
            kinds[name] = "float"
        parameter.__set_name__(cls, name)
        setattr(cls, name, parameter)
    cls.__annotations__ = kinds


def _is_ours(thing: object) -> bool:
    return str(getattr(thing, "__module__", "")).startswith("bondloop.")


def entries(
    prefix: str, values: Mapping[str, float | NDArray[np.float64]]
) -> tuple[dict[str, Value], dict[str, list[tuple[Var, float]]]]:
    """Return traced values that stand for states, by name, and their variables with initial values.

    Parameters
    ----------
    prefix
        Before the names of the variables.
    values
        Initial values by name: floats, or arrays of floats.
    """
    traced: dict[str, Value] = {}
    variables: dict[str, list[tuple[Var, float]]] = {}
    for name, value in values.items():
        if not isinstance(value, np.ndarray):
            variable = Var(f"{prefix}{name}")
            traced[name], variables[name] = Traced(variable), [(variable, value)]
            continue
        array = np.empty(value.shape, dtype=object)
        variables[name] = []
        for place in np.ndindex(value.shape):
            variable = Var(f"{prefix}{name}{''.join(f'[{i}]' for i in place)}")
            array[place] = Traced(variable)
            variables[name].append((variable, float(value[place])))
        traced[name] = array.view(TracedArray)
    return traced, variables


def formulas(value: Value, what: str) -> list[Expr]:
    """Return a number, or the entries of an array, as expressions."""
    several = isinstance(value, (list, tuple, np.ndarray))
    parts = array_of(value).flat if several else [value]
    return [expression(x, what) for x in parts]
