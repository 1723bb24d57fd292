"""Inverse of a system as a system of its own: motions in, the inputs that cause them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from bondloop.engine.ir import Expr, Interface, Inversion, SystemData, Var, quantity_of, substitute
from bondloop.engine.passes.generic_point import reach
from bondloop.engine.passes.inversion import Inverse, invert, merged
from bondloop.errors import InputError, SolveError, unknown_name

S = TypeVar("S", bound=SystemData)


def inverse_system(system: S, outputs: Sequence[str], inputs: Sequence[str]) -> S:
    """Return the system whose inputs are the named outputs, and whose outputs are the named inputs.

    Parameters
    ----------
    system
        What to invert.
    outputs
        Paths of the variables that are to follow given motions.
    inputs
        As many inputs, which are to be found.
    """
    system.refuse_switching("an inverse")
    system.refuse_memory("an inverse")
    outputs, inputs = _names("output", outputs), _names("input", inputs)
    by_name = {u.name: u for u in system.input_vars}
    for name in inputs:
        if name not in by_name:
            raise InputError(unknown_name("input", name, by_name, where=system.name))
    commands = [by_name[name] for name in inputs]
    imposed = {path: system.expression(path) for path in outputs}
    others = {n: e for n, e in system.output_exprs.items() if n not in imposed and n not in by_name}
    return invert_for(system, imposed, commands, {**dict(zip(inputs, commands, strict=True)), **others})


def _names(kind: str, given: str | Sequence[str]) -> list[str]:
    names = [given] if isinstance(given, str) else list(given)
    if not names or len(set(names)) < len(names):
        raise InputError(f"inverse: expected the name of at least one {kind}, each once; found {names}")
    return names


def invert_for(
    system: S, imposed: Mapping[str, Expr], commands: Sequence[Var], outputs: Mapping[str, Expr]
) -> S:
    """Invert for expressions by name.

    Parameters
    ----------
    system
        What to invert.
    imposed
        What is to follow given motions, by the names that these get.
    commands
        The inputs that are to be found.
    outputs
        The outputs of the inverse.
    """
    if len(imposed) != len(commands):
        raise SolveError(
            f"{system.name} cannot be inverted: {len(imposed)} outputs ({', '.join(imposed)}) are to be "
            f"imposed by {len(commands)} inputs ({', '.join(u.name for u in commands)}); it takes one input "
            "for each output"
        )
    # An input whose rate acts (it drives a storage in derivative causality) is found through its rate.
    rated = {u: r for u, r in system.input_rates.items() if u in commands}
    plant = system
    if rated:
        states: dict[Var, Expr] = dict(zip(system.state_vars, system.rate_exprs, strict=True))
        plant = system.replaced(
            states=states | dict(rated),
            inputs=[*(u for u in system.input_vars if u not in rated), *rated.values()],
            initial={**system.initial_by_var, **{u: system.input_defaults.get(u.name, 0.0) for u in rated}},
            input_rates={u: r for u, r in system.input_rates.items() if u not in rated},
        )
    sought = [rated.get(u, u) for u in commands]
    _check_paths(plant, imposed, sought)
    motions = {name: Var(name, quantity=quantity_of(e)) for name, e in imposed.items()}
    imposing = SystemData("motions", Interface(inputs=list(motions.values())))
    result = invert(
        plant, sought, list(imposed.values()), list(motions.values()), imposing, {},
        all_rates=True, what=system.name,
    )  # fmt: skip
    return _finished(plant, result, imposed, motions, sought, outputs)


def _check_paths(system: SystemData, imposed: Mapping[str, Expr], commands: Sequence[Var]) -> None:
    """Refuse an output that no input acts on, and an input that acts on none of the outputs."""
    flows = {**system.definitions, **dict(zip(system.state_vars, system.rate_exprs, strict=True))}
    reached = {name: reach([expr], flows) for name, expr in imposed.items()}
    for name, behind in reached.items():
        if not any(u in behind for u in commands):
            raise SolveError(
                f"{system.name} cannot be inverted: there is no path from "
                f"{', '.join(u.name for u in commands)} to {name}; choose an input that acts on it"
            )
    for u in commands:
        if not any(u in behind for behind in reached.values()):
            raise SolveError(
                f"{system.name} cannot be inverted: there is no path from {u.name} to "
                f"{', '.join(imposed)}; choose an output that it acts on"
            )


def _finished(
    system: S,
    result: Inverse,
    imposed: Mapping[str, Expr],
    motions: Mapping[str, Var],
    sought: Sequence[Var],
    outputs: Mapping[str, Expr],
) -> S:
    """Assemble the inverse; all rates that it needs are inputs."""
    others = [u for u in system.input_vars if u not in sought]
    # A variable that is imposed under its own name is the input itself.
    same: dict[Var, Expr] = {
        motion: v for motion, v in zip(motions.values(), imposed.values(), strict=True)
        if isinstance(v, Var) and v.name == motion.name and result.definitions[v] is motion
    }  # fmt: skip
    original = {*system.definitions, *system.state_vars, *sought}
    needed = reach([*result.states.values(), *outputs.values(), *original], result.definitions)
    definitions, copies = merged(
        {
            v: substitute(e, same)
            for v, e in result.definitions.items()
            if v in needed and v not in same.values()
        },
        original,
    )
    same |= copies
    sources = [*motions.values(), *others]
    rates = _rates(sources, result.input_rates)
    motion_inputs = [same.get(m, m) for m in motions.values()]
    return system.replaced(
        name=f"{system.name}.inverse",
        states={s: substitute(e, same) for s, e in result.states.items()},
        inputs=[v for v in (*motion_inputs, *others, *(r for r, _ in rates)) if isinstance(v, Var)],
        outputs={name: substitute(e, same) for name, e in outputs.items()},
        definitions=definitions,
        tears=[*system.tears, *result.dependent],
        initial={s: x for s, x in system.initial_by_var.items() if s in result.states},
        memories={},
        dots={},
        input_rates={},
        input_defaults={u: system.input_defaults.get(u.name, 0.0) for u in others},
        dependent=[*system.dependent, *(s.name.rpartition(".")[0] for s in result.dependent)],
        remarks=[*system.remarks, *_singular(result)],
        divisors=(),  # what was divided by may be what the inverse multiplies by
        switching=(),
        held=(),  # what would switch there is not what is imposed here
        inversion=Inversion(
            {u.name: sum(of is u for _, of in rates) for u in sources},
            result.turns,
            result.singular,
            tuple(held.rule for held in system.modes.held),
        ),
    )


def _singular(result: Inverse) -> list[str]:
    if not result.singular:
        return []
    names = ", ".join(result.singular)
    return [f"at the start the inverse is singular: {names} cannot be found there; start it elsewhere"]


def _rates(sources: Sequence[Var], rates: Mapping[Var, Var]) -> list[tuple[Var, Var]]:
    """Return the rates of inputs, first ones first, each with the input."""
    result: list[tuple[Var, Var]] = []
    level = [(u, u) for u in sources]
    while level:
        level = [(rates[at], u) for at, u in level if at in rates]
        result += level
    return result
