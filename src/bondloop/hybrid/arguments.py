"""The arguments of a test: whether they are of the right kind, and the cut that stands for both halves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from bondloop.bondgraph import TRANSLATION, Model, unit_fits_domain
from bondloop.control import Compensator, Direct
from bondloop.engine.data import number, origin_of, stated_kinds, stated_units
from bondloop.engine.ir import quantity_of
from bondloop.errors import InputError, ModelError
from bondloop.signals import Constant, Signal
from bondloop.units import is_of_kind, multiplied, unit_in

if TYPE_CHECKING:
    from bondloop.bondgraph import Domain
    from bondloop.control import Controller
    from bondloop.engine.data import Origin
    from bondloop.engine.ir import Expr, Quantity, Var
    from bondloop.hybrid.ground import Ground
    from bondloop.rigs import Emulated
    from bondloop.safety import Interlock, Limits


def expect(value: object, kinds: type | tuple[type, ...], what: str, example: str) -> None:
    """Refuse a part of the wrong kind, in words.

    Parameters
    ----------
    value
        The part.
    kinds
        Classes, one of which it must be of.
    what
        The argument's name.
    example
        What to give, for the message.

    Examples
    --------
    >>> expect("direct", dict, "controller", "control.Direct()")
    Traceback (most recent call last):
    bondloop.errors.InputError: controller: expected control.Direct(), or another of its kind; found 'direct'
    """
    if isinstance(value, kinds):
        return
    if isinstance(value, type) and issubclass(value, kinds):
        raise InputError(f"{what}: found the class {value.__name__}; make one of it: {value.__name__}(...)")
    raise InputError(f"{what}: expected {example}, or another of its kind; found {value!r:.60}")


def expect_kind_of_signal(name: str, signal: Signal | None, quantity: Quantity | None) -> None:
    """Refuse a signal that measures something else than what it drives: an acceleration for a velocity.

    Parameters
    ----------
    name
        Of the input.
    signal
        What drives it, if anything does.
    quantity
        What the input measures, where that is known.

    Examples
    --------
    >>> from bondloop.engine.ir.quantity import Quantity
    >>> from bondloop.signals import Earthquake
    >>> expect_kind_of_signal("wall", Earthquake("0.3 gn", duration=20), Quantity("velocity", "m/s"))
    Traceback (most recent call last):
    bondloop.errors.InputError: the excitation of 'wall' is in m/s^2; expected a signal in m/s, or in another
    unit of its kind; of a ground motion take .velocity()
    """
    unit = "" if signal is None else signal.unit
    if not unit or quantity is None or not quantity.unit or is_of_kind(f"1 {unit}", quantity.unit):
        return
    motions = {"m": "displacement", "m/s": "velocity", "m/s^2": "acceleration"}
    word = next((w for u, w in motions.items() if is_of_kind(f"1 {u}", quantity.unit)), "")
    moved = any(is_of_kind(f"1 {unit}", u) for u in motions)
    hint = f"; of a ground motion take .{word}()" if word and moved else ""
    raise InputError(
        f"the excitation of '{name}' is in {unit}; expected a signal in {quantity.unit}, or in another "
        f"unit of its kind{hint}"
    ).at("excitation", name)


def expect_limits_of(domains: Sequence[Domain], limits: Limits | None, where: str = "limits") -> None:
    """Refuse limits in a unit that not every interface has: millimetres where one turns.

    Parameters
    ----------
    domains
        Of the interfaces.
    limits
        Those of the test, or of its interlock; plain numbers are in SI, whatever they measure.
    where
        Which ones, for the message.
    """
    for name, text in (limits.texts if limits is not None else {}).items():
        units = {
            "displacement": [d.displacement.unit for d in domains],
            "tracking_error": [d.displacement.unit for d in domains],
            "velocity": [d.flow.unit for d in domains],
            "force": [d.effort.unit for d in domains],
        }.get(name)
        if units and not all(not unit or is_of_kind(text, unit) for unit in units):
            kinds = dict.fromkeys(d.name for d in domains)
            one = f"a limit in {_either(units)}, or in another unit of that kind"
            many = "a plain number, which holds for each interface in its own SI unit"
            raise InputError(
                f"{where}.{name}: found '{text}', but what is tested is in {' and in '.join(kinds)}; "
                f"expected {many if len(set(units)) > 1 else one}"
            )


def expect_units_of_controller(domains: Sequence[Domain], part: object, where: str = "controller") -> None:
    """Refuse what a controller, or a part of it, was given in a unit of another domain than the interface's.

    Parameters
    ----------
    domains
        Of the interfaces.
    part
        The controller, or what it is made of.
    where
        Its path, for the message.

    Examples
    --------
    >>> from bondloop.bondgraph.domain import TRANSLATION
    >>> from bondloop.control import AdaptivePrediction
    >>> expect_units_of_controller([TRANSLATION], AdaptivePrediction("5 ms", threshold="1 deg"))
    Traceback (most recent call last):
    bondloop.errors.InputError: controller.threshold: found a value in deg, but what is tested is in ...
    """
    if isinstance(part, (list, tuple)):
        for i, one in enumerate(part):
            expect_units_of_controller(domains, one, f"{where}[{i}]")
    if not is_dataclass(part):
        return
    for name, unit in stated_units(part).items():
        units = stated_kinds(part)[name]
        for domain in domains:
            if not unit_fits_domain(unit, units, domain):
                raise InputError(
                    f"{where}.{name}: found a value in {unit}, but what is tested is in {domain}; expected "
                    f"one in {_either([u for u in units if unit_fits_domain(u, units, domain)])}"
                )
    for f in fields(part):
        expect_units_of_controller(domains, getattr(part, f.name), f"{where}.{f.name}")


def expect_one_domain(ours: Sequence[Domain | None], theirs: Sequence[Domain | None]) -> None:
    """Refuse a rig whose interfaces are in other domains than the numerical half's: one turns, one slides.

    Parameters
    ----------
    ours, theirs
        Domains of the interfaces of numerical half and specimen; None where one cannot be told.

    Examples
    --------
    >>> from bondloop.bondgraph.domain import ROTATION, TRANSLATION
    >>> expect_one_domain([ROTATION], [TRANSLATION])
    Traceback (most recent call last):
    bondloop.errors.ModelError: two domains meet at interface 1: the numerical half is in rotation ...
    """
    for i, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        if mine is None or other is None:
            continue
        pairs = [(mine.effort.unit, other.effort.unit), (mine.flow.unit, other.flow.unit)]
        if not all(is_of_kind(f"1 {a}", b) for a, b in pairs if a and b):
            raise ModelError(
                f"two domains meet at interface {i + 1}: the numerical half is in {mine} ({mine.flow.unit}) "
                f"there, the specimen on the rig in {other} ({other.flow.unit}); take the two halves of one "
                "cut"
            )


def expect_same_command(made: Sequence[Expr], taken: Sequence[Var], domains: Sequence[Domain]) -> None:
    """Refuse a controller that commands something else than the rig takes: a force where it is a position.

    Parameters
    ----------
    made
        What the controller commands.
    taken
        The rig's commands; where the unit of either cannot be told, nothing is said. A process, as a model
        or as the emulated rig, tells how far it moves per unit of command, whatever that is.
    domains
        Of the rig's interfaces. Where one turns, a model of its drive alone may not know, and be in N.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import Var
    >>> from bondloop.engine.ir.quantity import Quantity
    >>> x, u = (Var("x", quantity=Quantity("set point", "m")), Var("u", quantity=Quantity("voltage", "V")))
    >>> expect_same_command([x + x], [x], [TRANSLATION])
    >>> expect_same_command([x], [u], [TRANSLATION])
    Traceback (most recent call last):
    bondloop.errors.InputError: controller: its model is commanded in m, but the rig in V; give it a model ...
    """
    for mine, theirs, domain in zip(made, taken, domains, strict=True):
        quantity, rig = quantity_of(mine), theirs.quantity
        if quantity is None or rig is None or "displacement" in (quantity.kind, rig.kind):
            continue
        assumed = {TRANSLATION.effort: domain.effort, TRANSLATION.flow: domain.flow}.get(quantity)
        unit = quantity.unit if assumed is None or theirs.unit != assumed.unit else theirs.unit
        if unit and theirs.unit and not is_of_kind(f"1 {unit}", theirs.unit):
            raise InputError(
                f"controller: its model is commanded in {unit}, but the rig in {theirs.unit}; give it a "
                f"model that is commanded in {theirs.unit}, as the rig's own transfer system is"
            )


class CommandUnit(NamedTuple):
    """In which unit something is said of the command.

    Attributes
    ----------
    path
        What is said: ``"limits.command_rate"``.
    unit
        As the user wrote it.
    per_second
        Whether it is said of how fast the command changes.
    """

    path: str
    unit: str
    per_second: bool = False


def command_units(limits: Limits | None, interlock: Interlock | None = None) -> list[CommandUnit]:
    """Return the units in which something is said of the command: limits, and the safe position.

    Parameters
    ----------
    limits, interlock
        Of a test; what they have as plain numbers is in SI, whatever it measures.
    """
    units: list[CommandUnit] = []
    for where, some in (
        ("limits", limits),
        ("interlock.limits", None if interlock is None else interlock.limits),
    ):
        texts = {} if some is None else some.texts
        for name, per_second in (("command", False), ("command_rate", True)):
            if name in texts:
                units.append(CommandUnit(f"{where}.{name}", unit_in(texts[name]), per_second))
    stated = {} if interlock is None else stated_units(interlock)
    units.append(CommandUnit("interlock.safe_position", stated.get("safe_position", "")))
    return [said for said in units if said.unit]


def expect_units_of_command(commanded: Sequence[str], units: Sequence[CommandUnit]) -> None:
    """Refuse what is said of commands in a unit that not each has: a limit in V where one is a position.

    Parameters
    ----------
    commanded
        Units of the commands; empty where one is not known.
    units
        From `command_units`.

    Examples
    --------
    >>> expect_units_of_command(["m"], [CommandUnit("interlock.limits.command_rate", "mm", per_second=True)])
    Traceback (most recent call last):
    bondloop.errors.InputError: interlock.limits.command_rate: found a value in mm, but the rig is ...
    """
    for path, unit, per_second in units:
        kinds = [multiplied(u, "s", -1) if u and per_second else u for u in commanded]
        if not all(not kind or is_of_kind(f"1 {unit}", kind) for kind in kinds):
            one = f"one in {_either(kinds)}, or in another unit of that kind"
            many = "a plain number, which holds for each command in its own unit"
            raise InputError(
                f"{path}: found a value in {unit}, but the rig is commanded in {_either(commanded)}; "
                f"expected {many if len(set(kinds)) > 1 else one}"
            )


def _either(units: Sequence[str]) -> str:
    return " or ".join(dict.fromkeys(units))


def refuse_arguments_of_parts(paths: Mapping[str, object], parts: Mapping[str, object]) -> None:
    """Refuse paths that name arguments of a part, such as ``rig.substeps``: these change what is built.

    Parameters
    ----------
    paths
        Values by path.
    parts
        The parts of the test, by the word that begins their paths.
    """
    for path in paths:
        head, _, rest = path.partition(".")
        part = parts.get(head)
        if is_dataclass(part) and rest in {f.name for f in fields(part)}:
            kind = type(part).__name__
            raise InputError(
                f"'{path}' is not a parameter, which could be changed as the test runs, but decides how it "
                f"is built: give it where the test is made, {kind}(..., {rest}={paths[path]})"
            ).at("values", path)


def as_signal(name: str, given: object, unit: str = "") -> Signal:
    """Return what a test is given as the excitation of an input as a signal; a number is a constant."""
    if isinstance(given, Signal):
        return given
    if isinstance(given, (int, float, str)):
        try:
            return Constant(number(given, f"the excitation of '{name}'", *((unit,) if unit else ())))
        except InputError as error:
            raise error.at("excitation", name) from None
    raise InputError(
        f"the excitation of '{name}' is of type {type(given).__name__}; expected a signal such as "
        "bondloop.signals.Sine(...), a number or a text with a unit"
    )


def fold_halves(arguments: dict[str, Any]) -> None:
    """Put the structure and its cut in the place of the halves.

    Parameters
    ----------
    arguments
        Of the test's constructor, by name; changed.
    """
    origin = origin_of(arguments["numerical"])
    whole: Model | None = None
    rig: Emulated = arguments["rig"]
    if origin is not None and origin.kind.name == "numerical_half":
        whole = origin.arguments["of"]
        del arguments["numerical"]
        rest = {"structure": whole, "cut": _cut(origin), **arguments}
        arguments.clear()
        arguments.update(rest)
        own = origin_of(rig.physical)
        if own is not None and own.kind.name == "physical_half" and own.arguments == origin.arguments:
            arguments["rig"] = {k: v for k, v in rig.describe().items() if k != "physical"}
    reference = arguments.get("reference")
    if reference is not None:
        model, outputs = reference if isinstance(reference, tuple) else (reference, None)
        arguments["reference"] = {
            **({} if model is whole else {"of": model}),
            **({} if outputs is None else {"outputs": list(outputs)}),
        }


def _cut(origin: Origin) -> list[str] | dict[str, object]:
    bonds, physical = list(origin.arguments["cut"]), origin.arguments["physical"]
    return bonds if physical is None else {"bonds": bonds, "physical": physical}


def cut_structure(numerical: Model) -> Model:
    """Return the structure from which a numerical half was cut; where it was not, the half itself.

    Parameters
    ----------
    numerical
        The numerical half of a test.
    """
    origin = origin_of(numerical)
    whole: Model = numerical if origin is None or "of" not in origin.arguments else origin.arguments["of"]
    return whole


def refuse_opaque(numerical: Model, controller: Controller, ground: Ground) -> None:
    """Refuse what needs the equations of a numerical half that has none to show."""
    opaque = getattr(numerical, "opaque", "")
    if opaque and not isinstance(controller, (Direct, Compensator)):
        raise InputError(
            f"controller: {type(controller).__name__} needs the equations of the numerical half, and "
            f"{opaque} has none to show; take Direct() or a compensator"
        )
    if opaque and ground is not None:
        raise InputError(f"ground: {opaque} has no masses that the ground could load; drive an input of it")


def names_of(given: Iterable[str] | str) -> tuple[str, ...]:
    """Return names; a text alone is one of them, not its letters."""
    return (given,) if isinstance(given, str) else tuple(given)


def checked_reference(reference: Any) -> Any:
    """Return the complete model, or it and names of its outputs; refuse all else."""
    example = "the complete model, or (model, ['a.v.flow'])"
    if not isinstance(reference, (tuple, list)):
        expect(reference, (Model, type(None)), "reference", example)
        return reference
    if len(reference) != 2 or not isinstance(reference[1], Iterable):
        raise InputError(f"reference: expected {example}; found {reference!r:.60}")
    expect(reference[0], Model, "reference", example)
    return reference[0], names_of(reference[1])
