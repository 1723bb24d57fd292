"""Rigs of pseudo-dynamic tests: the specimen, and actuators that ramp to a displacement and hold it."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bondloop.bondgraph import interfaces
from bondloop.display import brief
from bondloop.engine import System, system_from_matrices
from bondloop.engine.data import (
    FAMILIES,
    POSITIVE,
    Described,
    Kind,
    Parameter,
    Range,
    family_word,
    register,
    stamp,
)
from bondloop.engine.ir import (
    Assign,
    Const,
    Expr,
    Interface,
    Product,
    Repeat,
    Step,
    Update,
    Var,
    instantiate,
    substitute,
)
from bondloop.engine.passes import Applied, Context, connect, prefixed, with_values
from bondloop.errors import InputError, ModelError, unknown_name
from bondloop.integrate import RK4, Exact, worked_in
from bondloop.rigs.sensor import checked_sensor
from bondloop.substructure import orientation

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.engine.ir import Switching
    from bondloop.rigs.sensor import Sensor
    from bondloop.structures import Matrices


WORDS = ("displacement", "velocity", "acceleration")


@dataclass(frozen=True)
class Specimen:
    """A system whose interface motion is imposed.

    Attributes
    ----------
    system
        Its equations.
    motions
        For each interface the inputs ``"displacement"``, ``"velocity"``, ``"acceleration"`` that it has.
    forces
        Expressions of the coupling forces on the numerical half, one per interface, in N.
    matrices
        The matrices it was made from, if it was: with them the complete structure can be assembled.
    interface
        Names of the interface's degrees of freedom, or paths in the bond graph.
    """

    system: System
    motions: tuple[dict[str, Var], ...]
    forces: tuple[Expr, ...]
    matrices: Matrices | None = None
    interface: tuple[str, ...] = ()

    __repr__ = brief

    @classmethod
    def from_matrices(cls, matrices: Matrices, interface: str | Sequence[str]) -> Specimen:
        """Return the specimen of M ü + C u̇ + K u = F with some degrees of freedom moved by the rig.

        With b for the interface and i for the inside, M_ii ü_i + C_ii u̇_i + K_ii u_i = -(M_ib ü_b + C_ib
        u̇_b + K_ib u_b), and the force on the numerical half is -(M_b ü + C_b u̇ + K_b u). Where the
        interface itself has a mass, the force follows the imposed acceleration at once.

        Parameters
        ----------
        matrices
            Of the specimen alone, the interface's degrees of freedom among them.
        interface
            Their names.

        Examples
        --------
        >>> from bondloop.structures import Matrices
        >>> spring = [[100.0, -100.0], [-100.0, 100.0]]
        >>> one = Matrices(np.diag([0.0, 2.0]), None, spring, ("base.ux", "top.ux"))
        >>> specimen = Specimen.from_matrices(one, "base.ux")
        >>> specimen.system.inputs, specimen.system.states
        (('base.ux.displacement',), ('top.ux.displacement', 'top.ux.velocity'))
        """
        names = [interface] if isinstance(interface, str) else list(interface)
        b = matrices.indices(names)
        if not b or len(set(b)) < len(b):
            raise InputError(f"the interface must name each of its degrees of freedom once; found {names}")
        i = [j for j in range(len(matrices)) if j not in b]
        M, C, K = (x.toarray() for x in (matrices.M, matrices.C, matrices.K))
        inside = [matrices.dofs[j] for j in i]
        try:
            inverse = np.linalg.inv(M[np.ix_(i, i)])
        except np.linalg.LinAlgError:
            raise InputError(
                "the specimen has a degree of freedom without mass inside; condense it, or give it a mass"
            ) from None
        n, m = len(i), len(b)
        rows, columns = np.ix_(i, b), np.ix_(b, i)
        A = np.block(
            [[np.zeros((n, n)), np.eye(n)], [-inverse @ K[np.ix_(i, i)], -inverse @ C[np.ix_(i, i)]]]
        )
        imposed = [K, C, M]
        into = np.hstack([-inverse @ x[rows] for x in imposed])
        B = np.vstack([np.zeros((n, 3 * m)), into])
        out = -np.hstack([K[columns], C[columns]]) - M[columns] @ A[n:, :]
        D = -np.hstack([x[np.ix_(b, b)] for x in imposed]) - M[columns] @ into
        inputs = [f"{d}.{word}" for word in WORDS for d in names]
        needed = [j for j in range(3 * m) if np.any(B[:, j]) or np.any(D[:, j])]
        states = [f"{d}.{word}" for word in WORDS[:2] for d in inside]
        system = system_from_matrices(
            A, B[:, needed], out, D[:, needed], states=states, inputs=[inputs[j] for j in needed],
            outputs=[f"{d}.force" for d in names], name="specimen",
        )  # fmt: skip
        made = cls._of(system, names, [system.output_exprs[f"{d}.force"] for d in names], matrices)
        stamp(made, FAMILIES["specimen"]["from_matrices"], {"matrices": matrices, "interface": names})
        return made

    @classmethod
    def from_model(cls, physical: Model) -> Specimen:
        """Return the specimen of a bond graph: the physical half of a cut, which takes velocities there."""
        system = physical.compile()
        ends = [end.path for end in interfaces(physical)]
        by_name = dict(zip(system.inputs, system.input_vars, strict=True))
        others = [u.name for u in system.input_vars if u.name not in {f"{e}.flow" for e in ends}]
        if others:
            raise ModelError(
                f"the specimen takes {', '.join(others)}: at its interface it must take a velocity "
                "(begin with a spring or damper), and it must have no source of its own; cut elsewhere"
            )
        if system.input_rates:
            names = ", ".join(u.name for u in system.input_rates)
            raise ModelError(
                f"the specimen would need the rate of {names}: it begins with a mass; cut elsewhere"
            )
        motions = tuple({"velocity": by_name[f"{e}.flow"]} for e in ends)
        forces = []
        for e, direction in zip(ends, orientation(physical), strict=True):
            effort = system.output_exprs[f"{e}.effort"]
            forces.append(-effort if direction < 0 else effort)
        made = cls(system, motions, tuple(forces), None, tuple(ends))
        stamp(made, FAMILIES["specimen"]["from_model"], {"physical": physical})
        return made

    @classmethod
    def _of(cls, system: System, names: list[str], forces: list[Expr], matrices: Matrices) -> Specimen:
        by_name = dict(zip(system.inputs, system.input_vars, strict=True))
        motions = tuple({w: by_name[f"{d}.{w}"] for w in WORDS if f"{d}.{w}" in by_name} for d in names)
        return cls(system, motions, tuple(forces), matrices, tuple(names))

    def prefixed(self, prefix: str) -> Specimen:
        """Return a copy with ``prefix`` before every path name."""
        outputs = {f"force[{i}]": f for i, f in enumerate(self.forces)}
        whole = connect(self.system.name, [self.system], {}, {**self.system.output_exprs, **outputs})
        copy = prefixed(whole, prefix)
        new = dict(zip(self.system.input_vars, copy.input_vars, strict=True))
        return Specimen(
            copy,
            tuple({w: new[u] for w, u in m.items()} for m in self.motions),
            tuple(copy.output_exprs[f"{prefix}force[{i}]"] for i in range(len(self.forces))),
            self.matrices,
            self.interface,
        )


family_word("Specimen", "specimen", __name__)
register(Kind("specimen", "from_matrices", Specimen.from_matrices))
register(Kind("specimen", "from_model", Specimen.from_model))


OVERSHOOT = Range(above=-1.0, below=10.0, units=("%",))
"""At -1 nothing moves; ten times what was told is a mistake."""

Impose = Callable[[Sequence[Expr], Expr], list[Step]]
"""``impose(commands, number)``: the statements of one sub-step."""


@dataclass
class BuiltRig:
    """A rig as statements of a tick.

    Attributes
    ----------
    states, parameters
        With initial values, and values.
    force
        States: the newest measured coupling forces on the numerical half.
    motion
        ``"displacement"`` and ``"velocity"`` at each interface, as expressions of the states, or of what a
        sub-step computes.
    impose
        ``impose(commands, number)``: statements of one sub-step; ``number`` counts them through the test.
    before
        Statements before the first sub-step of a tick.
    peak
        Largest magnitude of the acceleration asked of the machine in the sub-steps of a tick, if it is known.
    switching
        What switches in the specimen.
    """

    states: dict[Var, float]
    parameters: dict[Var, float]
    force: list[Var]
    motion: dict[str, list[Expr]]
    impose: Impose
    before: list[Step] = field(default_factory=list)
    peak: list[Var] = field(default_factory=list)
    switching: tuple[Switching, ...] = ()


@dataclass(frozen=True, eq=False)
class SubSteppedRig(Described, ABC, family="rig"):
    """A specimen on a machine that takes one command per interface and sub-step.

    Parameters
    ----------
    specimen
        A `Specimen`.
    overshoot
        The machine moves 1 + overshoot times what it is told (or text, ``"10 %"``); negative for undershoot.
    sensor
        Of the coupling forces, with its imperfections; none: exact.
    seed
        Of the sensor's noise.
    integration_steps
        RK4 steps in a sub-step of a nonlinear specimen; a linear one is integrated exactly in one.
    """

    control: ClassVar[str]
    """What it is commanded: ``"acceleration"`` or ``"displacement"``."""

    specimen: Specimen
    overshoot: float | str = 0.0
    sensor: Sensor | None = None
    seed: int = 0
    integration_steps: int = 4

    __repr__ = brief

    def __post_init__(self) -> None:
        if not isinstance(self.specimen, Specimen):
            raise InputError(
                f"the specimen is of type {type(self.specimen).__name__}; make one with "
                "Specimen.from_matrices(...) or Specimen.from_model(...)"
            )
        if self.sensor is not None:
            checked_sensor(self.sensor, f"{type(self).__name__}(sensor)")
        overshoot = OVERSHOOT.check(self.overshoot, f"{type(self).__name__}(overshoot)")
        object.__setattr__(self, "overshoot", overshoot)
        steps = self.integration_steps
        if isinstance(steps, bool) or not steps >= 1 or steps % 1:
            raise InputError(
                f"integration_steps must be a whole number from 1 up; found {self.integration_steps}"
            )

    @abstractmethod
    def build(
        self, period: float, prefix: str = "rig.", values: Mapping[str, float] | None = None
    ) -> BuiltRig:
        """Write the rig for sub-steps of a given length, with parameter values replaced by path.

        Parameters
        ----------
        period
            Length of a sub-step in s.
        prefix
            Put before all names.
        values
            New values of parameters by path; those not named stay.
        """

    @property
    def bounds(self) -> dict[str, float]:
        """Largest magnitudes of its own motion, by word."""
        return {}

    limited: ClassVar[tuple[str, ...]] = ()
    """Names of its fields that limit its motion."""

    def unlimited(self) -> Self:
        """Return the same machine without limits of its own."""
        none: dict[str, Any] = dict.fromkeys(self.limited)
        return replace(self, **none)


class Machine:
    """Equations of machine and specimen together, driven by inputs that are held for a while.

    Parameters
    ----------
    rig
        What it belongs to.
    system
        The equations.
    inputs
        Those that are held.
    forces
        Coupling forces on the numerical half.
    prefix
        Of names.
    watched
        Further states of the tick that are renewed together with the forces, with what they are: a velocity
        that is none of the states of the equations.
    """

    def __init__(
        self,
        rig: SubSteppedRig,
        system: System,
        inputs: Sequence[Var],
        forces: Sequence[Expr],
        prefix: str,
        watched: Mapping[Var, Expr],
    ) -> None:
        self.watched = dict(watched)
        self.rig, self.system, self.inputs, self.forces = rig, system, tuple(inputs), tuple(forces)
        self.prefix = prefix
        indices = [f"[{i}]" if len(forces) > 1 else "" for i in range(len(forces))]
        self.force = [Var(f"{prefix}force{i}") for i in indices]
        self.raw = [Var(f"{prefix}raw_force{i}") for i in indices]
        self.newest = [Var(f"{v.name}_now") for v in self.watched]
        self.sample = Var(f"{prefix}sample")

    def advance(self, held: Sequence[Expr], period: float) -> list[Step]:
        """Statements that carry all states on by a period, the inputs held."""
        given: dict[Var, Expr] = dict(zip(self.inputs, held, strict=True))
        if self.system.is_linear:
            return list(Exact().discretise(self.system, period, lambda _: given, []).rest)
        count = self.rig.integration_steps
        made = RK4().discretise(self.system, period / count, lambda _: given, [])
        return [Repeat(count, Var(f"{self.prefix}fine"), (*made.first, *made.rest))]

    def measure(self, held: Sequence[Expr], number: Expr, applied: Sequence[Applied]) -> list[Step]:
        """Statements that renew the measured forces, through the sensor where there is one."""
        steps = self._forces(held)
        values: list[Expr] = list(self.raw)
        if applied:
            steps.append(Assign(self.sample, number))
            values = []
            for part in applied:
                steps += part.steps
                values.append(part.value)
        pairs = zip((*self.force, *self.watched), (*values, *self.newest), strict=True)
        return [*steps, Update(tuple(pairs))]

    def _forces(self, held: Sequence[Expr]) -> list[Step]:
        """Statements of what is read at the present state; of a linear system, one product."""
        targets, read = (*self.raw, *self.newest), (*self.forces, *self.watched.values())
        if self.system.is_linear:
            named = {f"force[{i}]": f for i, f in enumerate(read)}
            space = connect("rig", [self.system], {}, named).numeric().explicit()
            matrix = np.hstack([space.C.toarray(), space.D.toarray()])
            return [Product(targets, matrix, (*self.system.state_vars, *held), worked_in(self.system, read))]
        given: dict[Var, Expr] = {v: v for v in self.system.state_vars}
        given.update(zip(self.inputs, held, strict=True))
        program, table = instantiate(self.system.schedule(list(read)), given, "@measured")
        return [*program, *(Assign(r, substitute(e, table)) for r, e in zip(targets, read, strict=True))]

    def sensors(self, period: float) -> list[Applied]:
        """Write the sensor of every force; nothing where it is exact."""
        sensor = self.rig.sensor
        if sensor is None:
            return []
        contexts = (
            Context(f"{self.prefix}sensor[{i}]", self.sample, period, self.rig.seed, 16 * i)
            for i in range(len(self.raw))
        )
        return [sensor.apply(raw, context) for raw, context in zip(self.raw, contexts, strict=True)]

    def built(
        self, motion: Mapping[str, Sequence[Expr]], applied: Sequence[Applied], impose: Impose
    ) -> BuiltRig:
        """Finish: all states with their values at the start, the measured forces among them."""
        system = self.system
        x, u = system.initial().tolist(), [0.0] * len(system.input_vars)
        read = [*self.forces, *self.watched.values()]
        first = system.function(read)(x, u, [], list(system.values().values()))
        states = dict(zip(system.state_vars, x, strict=True))
        states.update(zip((*self.force, *self.watched), first, strict=True))
        parameters = dict(system.values())
        for part in applied:
            states.update(part.states)
            parameters.update(part.parameters)
        offered = {word: list(exprs) for word, exprs in motion.items()}
        return BuiltRig(states, parameters, self.force, offered, impose, switching=system.switching)


def machine(
    rig: SubSteppedRig,
    specimen: Specimen,
    own: System,
    motions: Sequence[Mapping[str, Expr]],
    prefix: str,
    values: Mapping[str, float] | None,
    loads: Sequence[Var] = (),
    watched: Mapping[Var, Expr] | None = None,
) -> Machine:
    """Join a machine's own equations to the specimen that it moves.

    All of its inputs are held, but for the ``loads`` of one that feels what the specimen takes, one per
    interface. ``watched`` are states of the tick for what is none of the equations.
    """
    # The force on the numerical half is the one on the machine; a load is what is taken from the machine.
    links: dict[Var, Expr] = {load: -f for load, f in zip(loads, specimen.forces, strict=bool(loads))}
    for wanted, offered in zip(specimen.motions, motions, strict=True):
        for word, u in wanted.items():
            if word not in offered:
                raise InputError(
                    f"the specimen has a mass at its interface and answers to its {word} ({u.name}), which a "
                    f"{type(rig).__name__}{' with a drive' if loads else ''} does not impose; put that mass "
                    "into the numerical half"
                )
            links[u] = offered[word]
    whole = connect("rig", [specimen.system, own], links, {})
    for path in values or {}:
        if path not in whole.parameters:
            raise InputError(unknown_name("parameter", path, whole.parameters, where="the rig"))
    held = [u for u in own.input_vars if u not in links]
    return Machine(rig, with_values(whole, values or {}), held, specimen.forces, prefix, watched or {})


@dataclass(frozen=True, eq=False)
class RampHold(SubSteppedRig):
    """Each sub-step the actuators move to the commanded displacements at a steady speed, then stand still.

    The force is read at the end. With ``ramp=1`` the motion never stops (a continuous test); with a shorter
    ramp rate effects of the specimen relax during the hold.

    Parameters
    ----------
    specimen, overshoot, sensor, seed, integration_steps
        As for every rig in sub-steps.
    ramp
        Part of the sub-step in which it moves, above 0, at most 1.
    stroke
        Limit of the displacement in m (or text); beyond it a run is stopped.
    """

    control: ClassVar[str] = "displacement"
    limited: ClassVar[tuple[str, ...]] = ("stroke",)

    ramp: Parameter = Parameter(1.0, above=0, most=1, unit="1")
    stroke: float | str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stroke is not None:
            object.__setattr__(self, "stroke", POSITIVE.check(self.stroke, "RampHold(stroke)", "m"))

    @property
    def bounds(self) -> dict[str, float]:
        """The stroke, where it is limited."""
        return {} if self.stroke is None else {"displacement": float(self.stroke)}

    def build(
        self, period: float, prefix: str = "rig.", values: Mapping[str, float] | None = None
    ) -> BuiltRig:
        """Write actuators and specimen for sub-steps of a given length."""
        specimen = self.specimen.prefixed(f"{prefix}specimen.")
        count = len(specimen.motions)
        names = [f"{prefix}actuator[{i}]." if count > 1 else f"{prefix}actuator." for i in range(count)]
        overshoot = Var(f"{prefix}overshoot", OVERSHOOT)
        position = [Var(f"{n}displacement") for n in names]
        speeds = [Var(f"{n}velocity") for n in names]
        own = System(
            "actuators",
            Interface(
                dict(zip(position, speeds, strict=True)),
                speeds,
                parameters={overshoot: float(self.overshoot)},
            ),
        )
        motions = [{"displacement": x, "velocity": v} for x, v in zip(position, speeds, strict=True)]
        joined = machine(self, specimen, own, motions, prefix, values)
        applied = joined.sensors(period)
        rates = [Var(f"{n}rate") for n in names]
        moving, resting = self.ramp * period, (1 - self.ramp) * period

        def impose(commands: Sequence[Expr], number: Expr) -> list[Step]:
            steps: list[Step] = [
                Assign(r, ((1 + overshoot) * d - x) / Const(moving))
                for r, d, x in zip(rates, commands, position, strict=True)
            ]
            steps += joined.advance(rates, moving)
            if not resting:
                return [*steps, *joined.measure(rates, number, applied)]
            still = [Const(0.0)] * count
            return [*steps, *joined.advance(still, resting), *joined.measure(still, number, applied)]

        # Its speed is that of the last ramp: what the machine has to do, though it rests in between.
        return joined.built({"displacement": position, "velocity": rates}, applied, impose)
