"""Systems made of systems: renaming and connecting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from bondloop.engine.data import checked_values
from bondloop.engine.ir import Renaming, SystemData, SystemPart
from bondloop.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from bondloop.engine.ir import Expr, Var


S = TypeVar("S", bound=SystemData)
P = TypeVar("P", bound=SystemPart)


class _ElsewhereError(InputError):
    """A path that does not begin as the names of a part do, or of several."""

    def __init__(self, path: str, prefixes: tuple[str, ...]) -> None:
        self.prefixes = prefixes
        super().__init__(path, prefixes)

    def __str__(self) -> str:
        begin = " or ".join(f"'{p}'" for p in self.prefixes)
        part = "this part" if len(self.prefixes) == 1 else "these parts"
        return f"unknown variable '{self.args[0]}'; the names of {part} begin with {begin}"


def _nearest(path: str, errors: Sequence[InputError]) -> InputError:
    """Return what the part says of a path that has the names most like it."""
    inside = [e for e in errors if isinstance(e, UnknownNameError)]
    if inside:
        return max(inside, key=lambda e: max((_shared(path, name) for name in e.known), default=0))
    others = [e for e in errors if not isinstance(e, _ElsewhereError)]
    if others:
        return others[-1]
    prefixes = (p for e in errors if isinstance(e, _ElsewhereError) for p in e.prefixes)
    return _ElsewhereError(path, tuple(dict.fromkeys(prefixes)))


def _shared(path: str, name: str) -> int:
    """Return by how many characters two names begin alike."""
    pairs = zip(path, name, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(path), len(name)))


def prefixed(system: S, prefix: str) -> S:
    """Return a copy with every path name prefixed: ``rig.`` before ``m3.v.flow``."""
    if not prefix:
        return system
    rules = [rule for part in system.switching for rule in part.rules]
    rules += [held.rule for held in system.modes.held]
    renaming = Renaming(
        prefix,
        [
            *system.parameters_by_var,
            *system.state_vars,
            *system.input_vars,
            *system.input_rates.values(),
            *system.dots.values(),
            *system.definitions,
            *(v for part in system.switching for v in part.own_vars),
            *(v for rule in rules for v in (rule.mode, rule.rebound) if v is not None),
        ],
    )

    def lookup(path: str) -> Expr:
        if not path.startswith(prefix):
            raise _ElsewhereError(path, (prefix,))
        try:
            return renaming.expression(system.expression(path[len(prefix) :]))
        except UnknownNameError as error:
            raise error.within(prefix) from None

    renamed = renaming.of(system)
    return replace(renamed, annotations=replace(renamed.annotations, lookup=lookup))


def with_values(system: S, values: Mapping[str, float]) -> S:
    """Return the same system, over the same variables, with some parameter values replaced by name.

    A value outside the parameter's range is refused.
    """
    if not values:
        return system
    changed = checked_values(system.parameters_by_var, values, system.name)
    return system.replaced(parameters={**system.parameters_by_var, **changed})


def connect(
    name: str,
    systems: Sequence[S],
    links: Mapping[Var, Expr],
    outputs: Mapping[str, Expr],
    *,
    inputs: Iterable[Var] = (),
    states: Mapping[Var, Expr] | None = None,
    initial: Mapping[Var, float] | None = None,
    parameters: Mapping[Var, float | None] | None = None,
) -> S:
    """Connect systems: each linked input becomes an assignment.

    Parameters
    ----------
    name
        Name of the whole.
    systems
        The parts; their variables must be distinct objects.
    links
        Inputs of the parts with the expressions that drive them.
    outputs
        Outputs of the whole.
    inputs
        Inputs to put first; the unlinked inputs of the parts follow.
    states, initial
        Further states with their rates, and initial values.
    parameters
        Further parameters with their values.
    """
    _check_links(name, systems, links)
    first = list(inputs)
    free = [*first, *(u for s in systems for u in s.input_vars if u not in links and u not in first)]

    def lookup(path: str) -> Expr:
        errors: list[InputError] = []
        for s in systems:
            try:
                return s.expression(path)
            except InputError as e:
                errors.append(e)
        raise _nearest(path, errors)

    interface, program = _joined([s.interface for s in systems]), _joined([s.program for s in systems])
    storage = _joined([s.storage for s in systems])
    return replace(
        systems[0],
        name=name,
        interface=replace(
            interface,
            states={**interface.states, **(states or {})},
            inputs=free,
            outputs=outputs,
            parameters={**interface.parameters, **(parameters or {})},
            input_defaults={u: x for u, x in interface.input_defaults.items() if u not in links},
        ),
        program=replace(program, definitions={**program.definitions, **links}),
        storage=replace(storage, initial={**storage.initial, **(initial or {})}),
        modes=_joined([s.modes for s in systems]),
        annotations=replace(_joined([s.annotations for s in systems]), lookup=lookup),
        inversion=None,
    )


def _check_links(name: str, systems: Sequence[SystemData], links: Mapping[Var, Expr]) -> None:
    """Refuse a link to what is no input, or to an input whose rate is needed."""
    known = {u for s in systems for u in s.input_vars}
    for u in links:
        if u not in known:
            raise InputError(
                f"{u.name} is linked but is not an input of {', '.join(s.name for s in systems)}"
            )
    linked_rates = [u.name for s in systems for u in s.input_rates if u in links]
    if linked_rates:
        raise InputError(
            f"{name}: the rate of {', '.join(linked_rates)} is needed inside, so it cannot be driven by "
            "another part"
        )


def _joined(parts: Sequence[P]) -> P:
    """Return one part of several systems as that of the whole, field by field."""
    of_all = {f.name: [getattr(p, f.name) for p in parts] for f in fields(parts[0])}
    return replace(parts[0], **{name: _union(name, values) for name, values in of_all.items()})


def _union(name: str, values: Sequence[Any]) -> Any:
    """Return tables and rows one after the other, and of numbers the largest."""
    if all(isinstance(value, Mapping) for value in values):
        return {k: v for value in values for k, v in value.items()}
    if all(isinstance(value, tuple) for value in values):
        return tuple(v for value in values for v in value)
    if all(isinstance(value, int) for value in values):
        return max(values)
    if name == "lookup":
        return None  # the whole looks in each of its parts
    raise TypeError(f"{name}: expected tables, rows or whole numbers; found {type(values[0]).__name__}")
