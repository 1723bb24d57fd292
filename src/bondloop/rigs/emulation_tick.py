"""An emulated rig in a tick: what its sensors read, and how it goes on from there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from bondloop.engine.analysis.simulation import starting_states
from bondloop.engine.data import NOT_NEGATIVE
from bondloop.engine.ir import (
    Assign,
    Channel,
    Const,
    Delay,
    Expr,
    Repeat,
    Role,
    Step,
    Tick,
    Update,
    Var,
    identifier,
    instantiate,
    reads,
    substitute,
    variables,
)
from bondloop.engine.passes import Context
from bondloop.errors import InputError
from bondloop.rigs.imperfections.base import in_turn
from bondloop.rigs.sensor import Sensor

if TYPE_CHECKING:
    from bondloop.rigs.emulated import Emulated, RigSystem
    from bondloop.rigs.imperfections.base import Imperfection


MEASURED = {"force": "effort", "displacement": "displacement", "velocity": "flow"}
"""What the sensors of a rig read, with the kind of variable that it is on the cut bond."""

SEED = "rig.seed"
"""Parameter of a tick from which all noise of its sensors follows."""


def indexed(word: str, count: int) -> list[str]:
    """Return the names of a quantity at several interfaces; without an index where there is only one.

    >>> indexed("force", 2), indexed("force", 1)
    (['force[0]', 'force[1]'], ['force'])
    """
    return [f"{word}[{i}]" for i in range(count)] if count > 1 else [word]


class RigBlock:
    """An emulated rig as statements of a tick.

    Execute ``measure()`` first, then give the commands to ``advance()``: the rig runs on for one period while
    they are held.

    Parameters
    ----------
    emulated, rig
        The rig, and its equations.
    count
        Variable of the number of the tick.
    period
        Seconds between ticks.
    wanted
        Further expressions of the rig's variables that will be recorded.
    excited
        Gives what drives the rig beside its commands, at a part of the tick that has passed.

    Attributes
    ----------
    states, parameters
        What it keeps from tick to tick, with initial values; its constants.
    measured
        For each word of `MEASURED` a variable per interface.
    table
        What every variable of the rig is at the beginning of the tick.
    """

    def __init__(
        self,
        emulated: Emulated,
        rig: RigSystem,
        count: Var,
        period: float,
        wanted: Iterable[Expr] = (),
        excited: Callable[[Var, Expr], Expr] | None = None,
    ) -> None:
        if rig.excitations and excited is None:
            driven = ", ".join(u.name for u in rig.excitations)
            raise InputError(
                f"the ground acts on the specimen itself ({driven}), and a rig by itself has no ground: let "
                "the rig impose the motion in space (coordinates='absolute') of a specimen that does not "
                "stand on the ground, or the relative motion of one without mass"
            )
        self.emulated, self.rig, self.count, self.period = emulated, rig, count, period
        self.excited = excited
        self.wanted = list(wanted)
        system = rig.system
        self.states = starting_states(system)
        self.parameters: dict[Var, float] = dict(system.values())
        # A parameter: other draws of the noise are other values, not another tick to compile.
        self.seed = Var(SEED, range=NOT_NEGATIVE)
        names = indexed("command", len(rig.commands))
        self.held = {u: Var(f"{c}.held") for u, c in zip(rig.commands, names, strict=True)}
        self.measured: dict[str, list[Var]] = {}
        self.table: Mapping[Var, Expr] = {}

    def measure(self) -> list[Step]:
        """Return the statements that give what the sensors read at the beginning of the tick."""
        rig = self.rig
        goals = [*rig.forces, *rig.displacements, *rig.velocities, *self.wanted]
        program = rig.system.schedule(goals)
        needed = reads(program)
        given: dict[Var, Expr] = {v: v for v in rig.system.state_vars}
        for u, h in self.held.items():
            given[u] = h
            if u in needed or any(u in variables(g) for g in goals):
                self.states[h] = 0.0
            else:
                given[u] = Const(0.0)
        given.update(self._excited(Const(0.0)))
        copied, self.table = instantiate(program, given, "")
        steps: list[Step] = list(copied)
        for number, (word, exprs) in enumerate(
            (("force", rig.forces), ("displacement", rig.displacements), ("velocity", rig.velocities))
        ):
            sensor = self.emulated.sensors.get(word)
            chain = sensor.imperfections if isinstance(sensor, Sensor) else ()
            self.measured[word] = []
            for i, (name, e) in enumerate(zip(indexed(f"measured.{word}", len(exprs)), exprs, strict=True)):
                steps += self._through(chain, substitute(e, self.table), name, 16 * number, i)
                self.measured[word].append(Var(name, quantity=getattr(rig.domains[i], MEASURED[word])))
                steps.append(Assign(self.measured[word][-1], self._value))
        return steps

    def advance(self, commands: Sequence[Expr]) -> list[Step]:
        """Return the statements that carry the rig through one period with the commands held."""
        emulated, rig = self.emulated, self.rig
        fine = self.period / emulated.substeps
        whole, part = _whole_and_part(emulated.latency / fine)
        steps: list[Step] = []
        body: list[Step] = []
        inputs: dict[Var, Expr] = {}
        newest: dict[Var, Expr] = {}
        for i, (u, command) in enumerate(zip(rig.commands, commands, strict=True)):
            steps += self._through(emulated.drive, command, f"rig.drive[{i}]", 64, i)
            inputs[u] = newest[u] = self._value
            if whole:
                late = Var(f"{u.name}.late")
                body.append(Delay(late, self._value, whole))
                inputs[u] = newest[u] = late
            if part:
                # The old command acts for this part of the fine step, the new one for the rest of it: their
                # mean has the same integral over the step (see `Emulated`).
                older, mean = Var(f"{u.name}.later"), Var(f"{u.name}.mean")
                body += [
                    Delay(older, newest[u], 1),
                    Assign(mean, (1.0 - part) * newest[u] + part * older),
                ]
                inputs[u] = mean
        number = Var("substep")

        def at(fraction: float) -> dict[Var, Expr]:
            driven: dict[Var, Expr] = {}
            for u, value in self._excited((number + fraction) / Const(emulated.substeps)).items():
                key = (u, fraction)
                if key not in computed:
                    computed[key] = Var(f"{u.name}@{fraction:g}")
                    body.append(Assign(computed[key], value))
                driven[u] = computed[key]
            return {**inputs, **driven}

        computed: dict[tuple[Var, float], Var] = {}
        made = emulated.integrator.discretise(rig.system, fine, at, [])
        body += [*made.first, *made.rest]
        # At the end of a fine step the newest command acts alone, whatever part of the step it had.
        kept = [(h, newest[u]) for u, h in self.held.items() if h in self.states]
        if kept:
            body.append(Update(tuple(kept)))
        steps.append(Repeat(emulated.substeps, number, tuple(body)))
        return steps

    def _excited(self, passed: Expr) -> dict[Var, Expr]:
        """Return what drives the rig beside its commands, at a part of the tick that has passed."""
        return {u: self.excited(u, passed) for u in self.rig.excitations} if self.excited else {}

    def _through(
        self, chain: Sequence[Imperfection], value: Expr, name: str, first: int, i: int
    ) -> list[Step]:
        contexts = [
            Context(
                f"{name}.{k}",
                self.count,
                self.period,
                self.seed,
                (first + i) * 16 + k,
                common=first * 16 + k,
            )
            for k in range(len(chain))
        ]
        if any(part.streams for part in chain):
            self.parameters[self.seed] = float(self.emulated.seed)
        applied = in_turn(chain, value, contexts)
        self.states.update(applied.states)
        self.parameters.update(applied.parameters)
        self._value = applied.value
        return applied.steps


def _whole_and_part(steps: float) -> tuple[int, float]:
    """Return a number of fine steps as a whole number and a part; a part below 1e-6 is rounding.

    >>> _whole_and_part(3.0000001), _whole_and_part(2.25)
    ((3, 0.0), (2, 0.25))
    """
    nearest = round(steps)
    if abs(steps - nearest) <= 1e-6:
        return nearest, 0.0
    whole = math.floor(steps)
    return whole, steps - whole


def rig_tick(emulated: Emulated, rig: RigSystem, period: float, name: str = "rig") -> Tick:
    """Return the rig alone as a tick: commands in, what its sensors read out.

    The channels are the measurements at the beginning of the tick; then the rig goes on for one period with
    the commands.

    Parameters
    ----------
    emulated, rig
        The rig, and its equations (``emulated.system()``).
    period
        Seconds between ticks.
    name
        Name of the tick.
    """
    time, count = Var("t"), Var("k")
    block = RigBlock(emulated, rig, count, period)
    names = indexed("command", len(rig.commands))
    commands = [Var(n, quantity=u.quantity) for n, u in zip(names, rig.commands, strict=True)]
    steps = [*block.measure(), *block.advance(commands)]
    channels = [
        Channel.of(v.name, v, v.quantity, Role.MEASURED, i)
        for measured in block.measured.values()
        for i, v in enumerate(measured)
    ]
    return Tick(
        *(identifier(name, "rig_"), period, time, count, tuple(commands)),
        *(block.states, block.parameters, tuple(steps), tuple(channels)),
    )
