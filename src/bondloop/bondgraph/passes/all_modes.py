"""All modes of a model that switches, merged into one system.

What the storages hold after a change into a mode, derived from the mode's own equations.

With the contents s of independent storages, the contents d = g(s) of dependent ones and rates
``ds/dt = f(s) + N dd/dt`` an impulse leaves s - N d as it was. So ``s⁺ = s⁻ + N (g(s⁺) - d⁻)``: an
algebraic loop like any other. N is never formed: every assignment through which an impulse passes is
differentiated along it. What is finite (springs, resistors, sources) gives no impulse, and so plays no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.bondgraph.elements.one_ports import Clutch, Diode, Stop, Switch
from bondloop.bondgraph.elements.one_ports import Switching as Element
from bondloop.bondgraph.passes.derivation import Outputs, output_paths, variable_at, wanted
from bondloop.bondgraph.passes.derivation import remarks as shared_remarks
from bondloop.bondgraph.passes.measures import by_path
from bondloop.engine import System
from bondloop.engine.ir import (
    NEWTON_ITERATIONS,
    Annotations,
    Bits,
    ClutchRule,
    Const,
    DiodeRule,
    Expr,
    Interface,
    Program,
    Rule,
    StopRule,
    Storage,
    SwitchedModes,
    Switching,
    SwitchRule,
    Var,
    substitute,
    tangent,
    variables,
)
from bondloop.engine.passes import Merge
from bondloop.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bondloop.bondgraph.parts import Part
    from bondloop.bondgraph.passes.equations import Derivation
    from bondloop.engine.ir import Quantity


RULES: dict[type[Element], type[Rule]] = {
    Switch: SwitchRule,
    Diode: DiodeRule,
    Stop: StopRule,
    Clutch: ClutchRule,
}
"""Which rule says when an element switches."""


class AllModes:
    """All modes of a model together, as one system.

    Parameters
    ----------
    elements
        Those that switch.
    derivations
        The equations in each mode that has a causality; the first one is the mode in which it starts.
    refused
        The other modes, with the reason.
    """

    def __init__(
        self,
        elements: Sequence[Element],
        derivations: Mapping[Bits, Derivation],
        refused: Mapping[Bits, str],
    ) -> None:
        self.elements, self.refused = elements, refused
        self.modes, self.derivations = tuple(derivations), list(derivations.values())
        self.jumps: list[Jump] = [jump(d) for d in self.derivations]
        self.contents = [_contents(d) for d in self.derivations]
        self.leaves: dict[str, Var] = {}
        self.quantities = _quantities(self.derivations)
        names = dict.fromkeys(name for j in self.jumps for name in j.after)
        states = {s.name for d in self.derivations for s in d.states}
        self.states = self._leaves(name for name in names if name in states)
        # What follows from other storages in every mode is no state; only a jump asks what it was before.
        self.carried = self._leaves(name for name in names if name not in states)
        self.inputs = self._leaves(v.name for d in self.derivations for v in d.inputs)
        self._leaves(v.name for d in self.derivations for v in d.input_rates.values())
        self._leaves(v.name for d in self.derivations for v in d.held)
        self.parameters = self._parameters()
        ports = self.derivations[0].switching_ports
        self.mode_vars = [self.leaves[ports[e].mode.name] for e in elements]
        rebounds = [p.rebound for d in self.derivations for p in d.switching_ports.values()]
        # A stop that holds imposes no flow; only a blow sends it back.
        self.still: dict[Var, Expr] = {v: Const(0.0) for v in rebounds if v is not None}
        programs = [
            {**{v: substitute(e, self.still) for v, e in d.definitions.items()}, **j.definitions}
            for d, j in zip(self.derivations, self.jumps, strict=True)
        ]
        self.merge = Merge(self.modes, programs, self.leaves, self.mode_vars)

    def _leaves(self, names: Iterable[str]) -> list[Var]:
        fresh = []
        for name in names:
            if name not in self.leaves:
                self.leaves[name] = Var(name, quantity=self.quantities.get(name))
                fresh.append(self.leaves[name])
        return fresh

    def _parameters(self) -> dict[Var, float | None]:
        """Return the parameters of all modes, of each name the first."""
        parameters: dict[Var, float | None] = {}
        for d in self.derivations:
            for v, value in d.parameters.items():
                if v.name not in self.leaves:
                    self.leaves[v.name] = Var(v.name, v.range, v.quantity)
                    parameters[self.leaves[v.name]] = value
        return parameters

    def value(self, exprs: Sequence[Expr]) -> Expr:
        """Return what is one expression in each mode as one of all, with stops that hold."""
        return self.merge.value([substitute(e, self.still) for e in exprs])

    def variable(self, path: str) -> Expr:
        """Return a variable by its path."""
        for v in (*self.states, *self.mode_vars):
            if v.name == path:
                return v
        if path in {v.name for v in self.carried}:
            return self._content(path)
        return self.value([variable_at(d, path) for d in self.derivations])

    def _content(self, name: str) -> Expr:
        """Return what a storage holds in the present mode: a state there, or what follows from others."""
        return self.value([of_mode[name][0] for of_mode in self.contents])

    def system(self, outputs: Outputs, iterations: int | None) -> System:
        """Return the system; arguments as for `Model.compile`."""
        rates: dict[Var, Expr] = {}
        for state in self.states:
            rates[state] = self.value([of_mode[state.name][1] for of_mode in self.contents])
        rates.update({mode: Const(0.0) for mode in self.mode_vars})
        if outputs is None:
            names = list(wanted(self.derivations[0], None))
        else:
            names = output_paths(self.derivations[0], outputs)
        merge = self.merge
        tears = [
            table[t]
            for d, table in zip(self.derivations, merge.tables, strict=True)
            for t in d.tears
            if t in table
        ]
        defaults = {self.leaves[v.name]: x for d in self.derivations for v, x in d.inputs.items()}
        return System(
            self.derivations[0].flat.title or "model",
            Interface(
                rates,
                self.inputs,
                {n: self.variable(n) for n in names},
                self.parameters,
                input_defaults=defaults,
                quantities=by_path(self.derivations[0]),
            ),
            Program(
                merge.definitions,
                [t for t in tears if isinstance(t, Var)],
                NEWTON_ITERATIONS if iterations is None else iterations,
                input_rates={
                    self.leaves[u.name]: self.leaves[r.name]
                    for d in self.derivations
                    for u, r in d.input_rates.items()
                },
            ),
            Storage(self._initial(), self._memories()),
            SwitchedModes((self._switching(),)),
            Annotations(remarks=self._remarks(), lookup=self.variable),
        )

    def _memories(self) -> dict[Var, Expr]:
        """Return what laws remember, with what it becomes in the next step: in each mode by other flows."""
        renewed = [{v.name: e for v, e in d.memories.items()} for d in self.derivations]
        return {self.leaves[name]: self.value([r[name] for r in renewed]) for name in renewed[0]}

    def _switching(self) -> Switching:
        merge, jumps = self.merge, self.jumps
        rules = []
        for element, mode in zip(self.elements, self.mode_vars, strict=True):
            ports = [d.switching_ports[element] for d in self.derivations]
            rebound = ports[0].rebound
            rules.append(
                RULES[type(element)](
                    path=self.derivations[0].flat.paths[element],
                    words=element.words,
                    mode=mode,
                    effort=self.value([p.effort for p in ports]),
                    flow=self.value([p.flow for p in ports]),
                    effort_impulse=merge.value([j.effort_impulses[element] for j in jumps]),
                    flow_impulse=merge.value([j.flow_impulses[element] for j in jumps]),
                    terms=tuple(self.value([p.terms[i] for p in ports]) for i in range(len(ports[0].terms))),
                    rebound=None if rebound is None else self.leaves[rebound.name],
                )
            )
        contents = [*self.states, *self.carried]
        after = {s: merge.value([j.after[s.name] for j in jumps]) for s in contents}
        after = {s: e for s, e in after.items() if e is not s}
        own = {
            v for j, table in zip(jumps, merge.tables, strict=True) for v in (table[w] for w in j.definitions)
        }
        definitions = {v: merge.definitions.pop(v) for v in list(merge.definitions) if v in own}
        tears = [table[t] for j, table in zip(jumps, merge.tables, strict=True) for t in j.tears]
        return Switching(
            tuple(rules),
            after,
            {s: self._content(s.name) for s in after},
            tuple(self.carried),
            definitions,
            tuple(t for t in dict.fromkeys(tears) if isinstance(t, Var)),
            self.modes,
            self.refused,
        )

    def _initial(self) -> dict[Var, float]:
        initial = {self.leaves[s.name]: x for d in self.derivations for s, x in d.initial.items()}
        always = set.intersection(*(set(d.unstarted) for d in self.derivations))
        if always:
            raise ModelError(
                f"{', '.join(sorted(always))}: in derivative causality in every mode, so the content "
                "follows from other storages; set their initial values instead"
            )
        for element, mode, bit in zip(self.elements, self.mode_vars, self.modes[0], strict=True):
            initial[mode] = float((element.start_mode or 1) if bit else 0)
        return initial

    def _remarks(self, most: int = 8) -> list[str]:
        """Return what is worth a note, of at most so many modes."""
        remarks = shared_remarks(self.derivations[0])
        names = [self.derivations[0].flat.paths[e] for e in self.elements]

        def told(bits: Bits) -> str:
            words = (f"{n} {e.words[bit]}" for n, e, bit in zip(names, self.elements, bits, strict=True))
            return ", ".join(words)

        count = "one mode" if len(self.modes) == 1 else f"{len(self.modes)} modes"
        remarks.append(f"it switches: {', '.join(names)}; {count}")
        for bits, d in list(zip(self.modes, self.derivations, strict=True))[:most]:
            following = [d.flat.path[n] for n in d.graph.derivative]
            if following:
                remarks.append(f"derivative causality with {told(bits)}: {', '.join(following)}")
        remarks += [
            f"no causality with {told(bits)}: {why}" for bits, why in list(self.refused.items())[:most]
        ]
        return remarks


def _quantities(derivations: Sequence[Derivation]) -> dict[str, Quantity]:
    """Return what states, inputs and contents measure, by name, as far as some mode tells it."""
    return {
        v.name: v.quantity
        for d in derivations
        for v in (*d.states, *d.inputs, *d.input_rates.values(), *d.variables.contents.values())
        if v.quantity is not None
    }


def _contents(d: Derivation) -> dict[str, tuple[Expr, Expr]]:
    """Return by name what every storage holds in one mode, and its rate, whichever causality it has there."""
    contents: dict[str, tuple[Expr, Expr]] = {s.name: (s, rate) for s, rate in d.states.items()}
    contents.update({v.name.removesuffix(DEPENDENT): (v, rate) for v, rate in d.rate_goals.items()})
    return contents


DEPENDENT = ".dependent"
"""Follows the name of a content where it is assigned: by its own name it is a state of the whole."""


@dataclass(frozen=True)
class Jump:
    """A change into one mode.

    Attributes
    ----------
    after
        By name of a state, what it is afterwards, in terms of all states before.
    effort_impulses, flow_impulses
        Those at the elements that switch, counted into them.
    definitions
        The assignments that these need, besides those of the mode.
    tears
        Where its loops are best cut.
    """

    after: dict[str, Expr]
    effort_impulses: dict[Part, Expr]
    flow_impulses: dict[Part, Expr]
    definitions: dict[Var, Expr]
    tears: list[Var]


def jump(d: Derivation) -> Jump:
    """Write down the change into the mode of a derivation that is finished.

    Its dependent contents are renamed: by their own names they are states of the whole.
    """
    contents = {dependent: Var(dependent.name) for dependent in d.rate_goals}
    for dependent in d.rate_goals:
        dependent.name += DEPENDENT
    program = {v: e for v, e in d.definitions.items() if v not in set(d.rate_goals.values())}
    impulses: dict[Var, Expr] = {
        rate: Var(f"impulse of {contents[dependent].name}") for dependent, rate in d.rate_goals.items()
    }
    reached = _reached(program, impulses)
    impulses.update({v: Var(f"impulse through {v.name}") for v in reached})
    # Where the change is looked at: states with an impulse, and stops, are not what they were.
    after: dict[Var, Expr] = {}
    for s, rate in d.states.items():
        if any(v in impulses for v in variables(rate)):
            after[s] = Var(f"{s.name}.after")
    rebounds = {p.rebound for p in d.switching_ports.values() if p.rebound is not None}
    moved = _reached(program, {*after, *rebounds})
    table: dict[Var, Expr] = {**after, **{v: Var(f"{v.name}.after") for v in moved}}
    definitions: dict[Var, Expr] = {}

    def define(target: Expr, expr: Expr) -> None:
        assert isinstance(target, Var)
        definitions[target] = expr

    def through(expr: Expr) -> Expr:
        return substitute(tangent(expr, impulses), table)

    for v in moved:
        define(table[v], substitute(program[v], table))
    for v in reached:
        define(impulses[v], through(program[v]))
    for s, new in after.items():
        define(new, s + through(d.states[s]))
    for dependent, rate in d.rate_goals.items():
        define(impulses[rate], table.get(dependent, dependent) - contents[dependent])
    ends: dict[str, Expr] = {s.name: after.get(s, s) for s in d.states}
    ends.update({contents[v].name: table.get(v, v) for v in d.rate_goals})
    return Jump(
        ends,
        {part: through(p.effort) for part, p in d.switching_ports.items()},
        {part: through(p.flow) for part, p in d.switching_ports.items()},
        definitions,
        [v for v in (impulses[r] for r in d.rate_goals.values()) if isinstance(v, Var)],
    )


def _reached(program: Mapping[Var, Expr], seeds: Iterable[Var]) -> list[Var]:
    """Return the assigned variables that depend on some others, in the order of the program."""
    readers: dict[Var, list[Var]] = {}
    for v, e in program.items():
        for w in variables(e):
            readers.setdefault(w, []).append(v)
    seen = set(seeds)
    work = list(seen)
    while work:
        for v in readers.get(work.pop(), ()):
            if v not in seen:
                seen.add(v)
                work.append(v)
    return [v for v in program if v in seen]
