"""What bondloop raises, and the sentence that answers a misspelt name.

Every error meant for the user derives from `BondloopError`; the command line prints it as one sentence
without a traceback. An error says what was found, what was expected, and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Self

__all__ = [
    "AccuracyWarning",
    "BondloopError",
    "CausalityError",
    "CompileError",
    "FaultsError",
    "InputError",
    "ModeWarning",
    "ModelError",
    "SolveError",
    "StabilityWarning",
]


class BondloopError(Exception):
    """Base of every error that bondloop raises on purpose.

    Examples
    --------
    >>> import bondloop as bl
    >>> try:
    ...     bl.papers.find("no-such-test")
    ... except BondloopError as error:
    ...     print(type(error).__name__)
    InputError
    """


class ModelError(BondloopError):
    """The model as drawn is wrong: an unconnected port, a name used twice, incompatible bonds.

    Examples
    --------
    >>> from bondloop.bondgraph import C, Model
    >>> m = Model("loose")
    >>> m.spring = C(stiffness=1.0)
    >>> try:
    ...     m.compile()
    ... except ModelError as error:
    ...     print(type(error).__name__)
    ModelError
    """


class AbsentError(ModelError, AttributeError):
    """A part has no such attribute; ``hasattr`` is false, as for any that is missing.

    Examples
    --------
    >>> from bondloop.bondgraph import Model
    >>> hasattr(Model("empty"), "mass")
    False
    """


class CausalityError(ModelError):
    """No consistent causality exists; the message names the path along which the conflict arose.

    Attributes
    ----------
    nodes, bonds
        Where it arose, in the flat graph: junctions and bonds, for the drawing.
    to_head
        What had been assigned until then, as in ``Causality``.

    Examples
    --------
    >>> from bondloop.bondgraph import Model, One, Sf
    >>> m = Model("two winds")
    >>> m.v = One()
    >>> _ = Sf("a") >> m.v
    >>> _ = Sf("b") >> m.v
    >>> try:
    ...     m.compile()
    ... except CausalityError as error:
    ...     print(error.bonds is not None)
    True
    """

    nodes: tuple[int, ...] = ()
    bonds: tuple[int, ...] = ()
    to_head: tuple[int, ...] = ()


class ForceOutputError(ModelError):
    """A transfer system gives a force at its port and takes the velocity: it has no motion of its own.

    Whatever asks for its motion per command (poles, zeros, lags) raises this; a test with it can be built and
    run all the same.

    Examples
    --------
    >>> from bondloop.bondgraph import C, Model, Port, Sf, Zero
    >>> from bondloop.transfer import transfer_system
    >>> m = Model("spring")
    >>> m.drive, m.f, m.out = Sf("u"), Zero(), Port()
    >>> _ = m.drive >> m.f >> [C(stiffness=1e4), m.out]
    >>> try:
    ...     transfer_system(m)
    ... except ForceOutputError as error:
    ...     print(str(error).partition(" and takes")[0])
    the transfer system spring gives a force at its port 'out'
    """


class SolveError(BondloopError):
    """An algebraic loop, a steady state or an inverse cannot be solved.

    Examples
    --------
    >>> from bondloop.bondgraph import C, I, Model, One, Se
    >>> m = Model("free")
    >>> m.v = One()
    >>> _ = Se("F") >> m.v >> I(mass=1.0)
    >>> try:
    ...     m.compile().steady_state({"F": 1.0})
    ... except SolveError as error:
    ...     print("no steady state")
    no steady state
    """


class CompileError(BondloopError):
    """The machine's C compiler cannot be found, or refuses the generated code."""


class InputError(BondloopError):
    """A value, a name or a file given by the user cannot be used.

    Attributes
    ----------
    place
        Where it was given, as names of arguments and entries: ``("values", "rig.gain")``; empty if unknown.
    """

    place: tuple[str | int, ...] = ()

    def at(self, *place: str | int) -> Self:
        """Return it with its place.

        >>> InputError("expected a number").at("values", "rig.gain").place
        ('values', 'rig.gain')
        """
        self.place = place
        return self


class UnknownNameError(InputError):
    """There is no variable of this name; the text suggests near ones.

    Attributes
    ----------
    kind, name, known, where
        As for `unknown_name`.

    Examples
    --------
    >>> print(UnknownNameError("variable", "m3.flwo", ["m3.flow"], "rig").within("rig."))
    unknown variable 'rig.m3.flwo' of rig; did you mean 'rig.m3.flow'? known: rig.m3.flow
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], where: str = "") -> None:
        self.kind, self.name, self.known, self.where = kind, name, tuple(known), where
        super().__init__(kind, name, self.known, where)  # these make it again in another process

    def __str__(self) -> str:
        return unknown_name(self.kind, self.name, self.known, self.where)

    def within(self, prefix: str) -> UnknownNameError:
        """Return it as it is in something larger, whose names begin with a prefix."""
        known = [f"{prefix}{name}" for name in self.known]
        return UnknownNameError(self.kind, f"{prefix}{self.name}", known, self.where)


class LinesError(InputError):
    r"""An error whose text has lines that must stay apart, such as a template to be pasted.

    Examples
    --------
    >>> raise LinesError("fill in:\nlimits = ...")
    Traceback (most recent call last):
    bondloop.errors.LinesError: fill in:
    limits = ...
    """


class FaultsError(LinesError):
    """Several faults of one thing, such as a file; the text has a line for each.

    Attributes
    ----------
    faults
        A sentence for each.
    """

    def __init__(self, what: str, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n  ".join([f"{what}: {len(self.faults)} faults:", *self.faults]))

    def __reduce__(self) -> tuple[type[FaultsError], tuple[str, tuple[str, ...]]]:
        return type(self), (str(self).partition(f": {len(self.faults)} faults:")[0], self.faults)


def one_or_all(what: str, faults: Sequence[str]) -> InputError:
    """Return an `InputError` for one fault of a thing, a `FaultsError` for several.

    Parameters
    ----------
    what
        What has them.
    faults
        A sentence for each; at least one.

    Examples
    --------
    >>> one_or_all("Sine", ["Sine(frequency): expected a number"])
    InputError('Sine(frequency): expected a number')
    """
    return InputError(faults[0]) if len(faults) == 1 else FaultsError(what, faults)


class AccuracyWarning(UserWarning):
    """What was computed is less accurate than asked for; the message says why, and what to do.

    Examples
    --------
    A coil in a field that turns away: where it stands across, any current is as good as another.

    >>> import warnings
    >>> from bondloop.bondgraph import MGY, I, Input, Model, One, R, Se
    >>> m = Model("coil")
    >>> m.field, m.coil, m.v, m.shaft = Input("field"), MGY(), One(), One()
    >>> _ = m.field >> m.coil
    >>> _ = Se("voltage") >> m.coil >> m.v >> [R(conductance=1.0)]
    >>> _ = m.shaft >> I(inertia=1.0)
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     run = m.compile().simulate(2.0, {"voltage": 1.0, "field": lambda t: 1 - t})
    >>> told[0].category is AccuracyWarning
    True
    """


class StabilityWarning(UserWarning):
    """What was computed is right, but the motion leads away from it.

    Examples
    --------
    Van der Pol's oscillator could stand still, but does not:

    >>> import warnings
    >>> from bondloop.bondgraph import C, I, Model, One, R
    >>> m = Model("oscillator")
    >>> m.v = One()
    >>> _ = m.v >> [I(mass=1.0), C(stiffness=2.0), R(law=lambda f: f**3 - f)]
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     rest = m.compile().steady_state()
    >>> told[0].category is StabilityWarning, str(told[0].message)[:38]
    (True, 'oscillator: the steady state is unstab')
    """


class ModeWarning(UserWarning):
    """What was computed is right for the mode that was asked for, but that mode does not hold there."""


def unknown_name(kind: str, given: object, known: Iterable[str], where: str = "", shown: int = 12) -> str:
    """Return the sentence for a name that does not exist, with the nearest known names.

    Parameters
    ----------
    kind
        What the name stands for, in the singular: ``"parameter"``, ``"output"``.
    given
        The name as the user wrote it; something else than text is shown as Python writes it.
    known
        The names that exist.
    where
        The path of the thing that has the names; empty when there is none.
    shown
        How many names are listed at most, the nearest first; the others are counted.

    Returns
    -------
    str
        One sentence without a full stop.

    Examples
    --------
    >>> unknown_name("parameter", "mas", ["mass", "damping"], where="m1.I")
    "unknown parameter 'mas' of m1.I; did you mean 'mass'? known: damping, mass"
    >>> unknown_name("output", "q", [])
    "unknown output 'q'; none are known"
    >>> unknown_name("channel", 0, ["force"])
    'unknown channel 0, which is no text; known: force'
    """
    names = sorted(set(known))
    sentence = f"unknown {kind} " + (
        f"'{given}'" if isinstance(given, str) else f"{given!r}, which is no text"
    )
    sentence += f" of {where}" if where else ""
    given = str(given)
    if not names:
        return f"{sentence}; none are known"
    near = nearest(given, names)
    if near:
        sentence += "; did you mean " + " or ".join(f"'{name}'" for name in near) + "?"
    else:
        sentence += ";"
    if len(names) <= shown:
        return f"{sentence} known: {', '.join(names)}"
    # What begins like it is nearer than the rest: for 'rig.substeps' all that belongs to the rig.
    words = given.split(".")
    shared = {n: sum(a == b for a, b in zip(n.split("."), words, strict=False)) for n in names}
    rest = sorted((n for n in names if n not in near), key=lambda n: -shared[n])
    return f"{sentence} known: {', '.join((near + rest)[:shown])} and {len(names) - shown} more"


def nearest(given: str, names: Iterable[str], count: int = 3) -> list[str]:
    """Return the known names that look like `given` or contain it, ignoring case, the nearest first.

    Parameters
    ----------
    given
        The name as it was written.
    names
        The names that are known.
    count
        How many to return at most.

    Examples
    --------
    >>> nearest("Stifness", ["stiffness", "mass"])
    ['stiffness']
    >>> nearest("three-mass", ["gawthrop-three-mass", "wagg-two-mass"])
    ['gawthrop-three-mass']
    """
    spelt: dict[str, list[str]] = {}
    for name in names:
        spelt.setdefault(name.lower(), []).append(name)
    wanted = given.lower()
    containing = [low for low in spelt if len(wanted) >= 3 and wanted in low]
    close = difflib.get_close_matches(wanted, spelt, n=count, cutoff=0.6)
    ranked = dict.fromkeys(containing + close)
    return [name for low in ranked for name in spelt[low]][:count]
