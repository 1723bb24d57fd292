"""Systems made of systems: renaming and connecting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bondloop.errors import InputError, UnknownNameError
from bondloop.program.expr import Expr, Var, substitute
from bondloop.program.matrix_rows import MatrixRow
from bondloop.program.ranges import checked_values
from bondloop.program.system import System

__all__ = ["connect", "prefixed", "with_values"]


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


def prefixed(system: System, prefix: str) -> System:
    """Return a copy with every path name prefixed: ``rig.`` before ``m3.v.flow``."""
    if not prefix:
        return system
    table: dict[Var, Expr] = {}

    def new(v: Var) -> Var:
        found = table.get(v)
        if found is None:
            name = f"d/dt {prefix}{v.name[5:]}" if v.name.startswith("d/dt ") else prefix + v.name
            found = table[v] = Var(name, v.range, v.quantity)
        assert isinstance(found, Var)
        return found

    for v in (
        *system.parameters_by_var,
        *system.state_vars,
        *system.input_vars,
        *system.input_rates.values(),
        *system.definitions,
    ):
        new(v)

    vectors: dict[int, tuple[Expr, ...]] = {}  # the rows of a product share one

    def put(e: Expr) -> Expr:
        if isinstance(e, MatrixRow):
            if id(e.args) not in vectors:
                vectors[id(e.args)] = tuple(substitute(a, table) for a in e.args)
            return e.with_args(vectors[id(e.args)])
        return substitute(e, table)

    def lookup(path: str) -> Expr:
        if not path.startswith(prefix):
            raise _ElsewhereError(path, (prefix,))
        try:
            return put(system.expression(path[len(prefix) :]))
        except UnknownNameError as error:
            raise error.within(prefix) from None

    switching = [part.mapped(put, new, prefix) for part in system.switching]
    return System(
        prefix + system.name,
        {new(s): put(r) for s, r in zip(system.state_vars, system.rate_exprs, strict=True)},
        [new(u) for u in system.input_vars],
        {prefix + name: put(e) for name, e in system.output_exprs.items()},
        {new(p): value for p, value in system.parameters_by_var.items()},
        {new(v): put(e) for v, e in system.definitions.items()},
        tears=[new(t) for t in system.tears if t in table],
        initial={new(s): x for s, x in system.initial_by_var.items()},
        dots={new(s): new(d) for s, d in system.dots.items()},
        input_rates={new(u): new(r) for u, r in system.input_rates.items()},
        input_defaults={new(u): system.input_defaults.get(u.name, 0.0) for u in system.input_vars},
        lookup=lookup,
        dependent=[prefix + d for d in system.dependent],
        remarks=system.remarks,
        iterations=system.iterations,
        switching=switching,
        memories={new(v): put(e) for v, e in system.memories.items()},
        quantities={prefix + path: q for path, q in system.quantities.items()},
    )


def with_values(system: System, values: Mapping[str, float]) -> System:
    """Return the same system, over the same variables, with some parameter values replaced by name.

    A value outside the parameter's range is refused.
    """
    if not values:
        return system
    changed = checked_values(system.parameters_by_var, values, system.name)
    return system.replaced(parameters={**system.parameters_by_var, **changed})


def connect(
    name: str,
    systems: Sequence[System],
    links: Mapping[Var, Expr],
    outputs: Mapping[str, Expr],
    *,
    inputs: Iterable[Var] = (),
    states: Mapping[Var, Expr] | None = None,
    initial: Mapping[Var, float] | None = None,
    parameters: Mapping[Var, float | None] | None = None,
) -> System:
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
    known = {u for s in systems for u in s.input_vars}
    for u in links:
        if u not in known:
            raise InputError(
                f"{u.name} is linked but is not an input of {', '.join(s.name for s in systems)}"
            )
    first = list(inputs)
    free = [*first, *(u for s in systems for u in s.input_vars if u not in links and u not in first)]
    merged_states = {v: r for s in systems for v, r in zip(s.state_vars, s.rate_exprs, strict=True)}
    merged_states.update(states or {})
    rates = {u: r for s in systems for u, r in s.input_rates.items()}
    linked_rates = [u.name for u in rates if u in links]
    if linked_rates:
        raise InputError(
            f"{name}: the rate of {', '.join(linked_rates)} is needed inside, so it cannot be driven by "
            "another part"
        )

    def lookup(path: str) -> Expr:
        errors: list[InputError] = []
        for s in systems:
            try:
                return s.expression(path)
            except InputError as e:
                errors.append(e)
        raise _nearest(path, errors)

    return System(
        name,
        merged_states,
        free,
        outputs,
        {**{p: v for s in systems for p, v in s.parameters_by_var.items()}, **(parameters or {})},
        {**{v: e for s in systems for v, e in s.definitions.items()}, **links},
        tears=[t for s in systems for t in s.tears],
        initial={**{v: x for s in systems for v, x in s.initial_by_var.items()}, **(initial or {})},
        dots={v: d for s in systems for v, d in s.dots.items()},
        input_rates=rates,
        input_defaults={
            u: d for s in systems for u in s.input_vars if (d := s.input_defaults.get(u.name, 0.0))
        },
        lookup=lookup,
        dependent=[d for s in systems for d in s.dependent],
        remarks=[r for s in systems for r in s.remarks],
        iterations=max((s.iterations for s in systems), default=12),
        switching=[part for s in systems for part in s.switching],
        memories={v: e for s in systems for v, e in s.memories.items()},
        quantities={path: q for s in systems for path, q in s.quantities.items()},
    )
