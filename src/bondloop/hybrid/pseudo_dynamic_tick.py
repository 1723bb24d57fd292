"""Wiring a pseudo-dynamic test into one tick, with the complete structure beside it for comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine import system_from_matrices
from bondloop.engine.analysis.spectrum import within
from bondloop.engine.data import NOT_NEGATIVE
from bondloop.engine.ir import (
    ZERO,
    Assign,
    Channel,
    Const,
    Expr,
    Quantity,
    Repeat,
    Role,
    Step,
    Tick,
    Var,
    identifier,
    reads,
)
from bondloop.engine.passes import placed
from bondloop.errors import InputError, UnknownNameError
from bondloop.hybrid.energies import ENERGIES, WORDS, Balance, Moving, inserted, names_energy, recoverable
from bondloop.hybrid.ground import GroundInTick
from bondloop.hybrid.structure_readings import StructureReadings, chosen, read_off
from bondloop.hybrid.wiring import bounds_of
from bondloop.integrate import Coupling, Exact
from bondloop.integrate.structural import EquationOfMotion, Motion, combination, spread, stepped_by
from bondloop.rehearsal import SCALE, limit_word
from bondloop.signals import Signals
from bondloop.structures import Matrices, dof_domain
from bondloop.substructure import ground_input, indexed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.hybrid.pseudo_dynamic import PseudoDynamicTest
    from bondloop.rigs import BuiltRig, Specimen
    from bondloop.signals import Signal


class PseudoDynamicTick:
    """All parts of a test joined: the tick, its parameters, and what to do when it passes a limit."""

    def __init__(self, test: PseudoDynamicTest) -> None:
        self.test = test
        self.time, self.count = Var("t"), Var("k")
        self.scale = Var(SCALE, range=NOT_NEGATIVE)
        self.signals = Signals(self.time, test.period, self.scale)
        half = test.numerical
        self.matrices = (half.M.toarray(), half.C.toarray(), half.K.toarray())
        self.motion = Motion.named(test.numerical.dofs)
        self.at = test.numerical.indices(test.interface)
        self.domains = [dof_domain(test.numerical.dofs[i]) for i in self.at]
        self.structure = StructureReadings(
            "numerical.", half, lambda word, i: getattr(self.motion, word)[i], self._moved_ground()
        )
        self.remedies: dict[str, str] = {}
        own = {k: v for k, v in test.overrides.items() if within(k, "rig")}
        self.built: BuiltRig = test.rig.build(test.time_scale * test.period / test.scheme.calls, "rig.", own)
        self.states: dict[Var, float] = dict(self.built.states)
        self.all_parameters: dict[Var, float] = {self.scale: test.scale, **self.built.parameters}
        self.first_force = np.array([self.built.states[v] for v in self.built.force])
        ground = test.ground
        self.ground = (
            GroundInTick(ground, self.signals) if ground and ground.coordinates == "absolute" else None
        )
        started = self._started()
        for v in (*self.motion.displacement, *self.motion.velocity):
            self.states[v] = 0.0
        self.states.update(zip(self.motion.acceleration, started.tolist(), strict=True))
        steps = [*self.built.before, *self._advance(started)]
        self.reference: list[Channel] = []
        if test.complete is not None:
            steps += self._complete()
        if self.ground is not None:
            self.states.update(self.ground.states)
            steps += self.ground.steps()
        self.tick = self._tick(steps)

    # ---------------------------------------------------------------- steps

    def _loads(self, fraction: float) -> list[Expr]:
        """Sum up the external forces on every degree of freedom at a fraction of the step."""
        totals: list[Expr] = [Const(0.0)] * len(self.test.numerical)
        for name, (signal, pattern) in self.test.excitation.items():
            for i in np.flatnonzero(pattern):
                totals[i] = totals[i] + float(pattern[i]) * self.signals.at(name, signal, fraction)
        return totals

    def _started(self) -> NDArray[np.float64]:
        """Return accelerations in balance with loads and specimen at t = 0; zero where there is no mass."""
        M = self.matrices[0]
        begin = ((signal(0.0), p) for signal, p in self.test.excitation.values())
        now = (self.test.scale * start * p for start, p in begin if start)
        load = sum(now, np.zeros(len(M)))
        load[self.at] += self.first_force
        return np.linalg.lstsq(M, load, rcond=None)[0] if np.any(load) else np.zeros(len(M))

    def _advance(self, started: NDArray[np.float64]) -> list[Step]:
        """Let the scheme write its step, with the rig at the interface."""
        test = self.test

        def impose(commands: Sequence[Expr], number: Expr) -> list[Step]:
            if self.ground is not None:
                commands = self.ground.carried(commands, test.rig.control, number, test.scheme.calls)
            return self.built.impose(commands, self.count * Const(test.scheme.calls) + number)

        coupling = Coupling(self.at, self.built.force, impose, started[self.at], self.first_force)
        scheme = spread(test.scheme, self.at, len(test.numerical))
        equation = EquationOfMotion(*self.matrices, test.period, self.motion, self._loads, coupling)
        made = stepped_by(scheme, equation)
        own = {v: self.states[v] for words in vars(self.motion).values() for v in words if v in self.states}
        self.states.update(made.initial(own))
        for v, value in made.parameters.items():
            self.all_parameters[v] = placed(v.name, test.overrides.get(v.name, value))
        self.command = [made.command[i] for i in self.at]
        self.error = [made.error[i] for i in self.at] if made.error else []
        return made.steps

    def _complete(self) -> list[Step]:
        test = self.test
        assert test.complete is not None
        whole = Complete(test.complete, test.numerical, test.interface, test.excitation, self._beyond())
        steps, forces = whole.steps(self.signals, test.period)
        self.states.update(dict.fromkeys(whole.system.state_vars, 0.0))
        for i, (suffix, f, x) in enumerate(
            zip(indexed("", len(self.at)), forces, whole.displacements, strict=True)
        ):
            for word, value, quantity, ours in (
                ("force", f, self.domains[i].effort, "force"),
                (
                    "displacement",
                    self._shifted(x, "displacement", i),
                    self.domains[i].displacement,
                    "desired.displacement",
                ),
            ):
                name, pair = f"reference.{word}{suffix}", f"{ours}{suffix}"
                self.reference.append(Channel.of(name, value, quantity, Role.REFERENCE, i, pair))
        return steps

    def _beyond(self) -> dict[str, NDArray[np.float64]]:
        test = self.test
        if test.ground is None or test.complete is None:
            return {}
        return test.ground.beyond(test.complete, test.numerical, test.rig.specimen, test.interface)

    def _moved_ground(self) -> dict[str, Expr]:
        """Return the ground's accelerations at the beginning of the step, by direction or by support."""
        moved = {} if self.test.ground is None else self.test.ground.signals
        return {where: self.signals.at(ground_input(where), s, 0.0) for where, s in moved.items()}

    def _shifted(self, value: Expr, word: str, interface: int) -> Expr:
        """Return a motion of the numerical half in the rig's coordinates."""
        return value if self.ground is None else value + self.ground.shift(word, interface)

    # ---------------------------------------------------------------- the tick

    def _channels(self) -> list[Channel]:
        m, built = self.motion, self.built
        channels = [
            Channel.of(n, self.signals.at(n, s, 0.0), None, Role.EXCITATION)
            for n, (s, _) in self.test.excitation.items()
        ]
        for j, (i, suffix) in enumerate(zip(self.at, indexed("", len(self.at)), strict=True)):
            d = self.domains[j]
            controlled = d.acceleration if self.test.rig.control == "acceleration" else d.displacement
            here: list[tuple[str, Expr, Quantity, Role]] = [
                (
                    "desired.displacement",
                    self._shifted(m.displacement[i], "displacement", j),
                    d.displacement,
                    Role.DESIRED,
                ),
                ("actual.displacement", built.motion["displacement"][j], d.displacement, Role.ACTUAL),
                ("desired.velocity", self._shifted(m.velocity[i], "velocity", j), d.flow, Role.DESIRED),
                ("actual.velocity", built.motion["velocity"][j], d.flow, Role.ACTUAL),
                ("force", built.force[j], d.effort, Role.ACTUAL),
                ("command", self.command[j], controlled, Role.COMMAND),
            ]
            if self.error:
                here.append(("error.force", self.error[j], d.effort, Role.ERROR))
            if built.peak:
                here.append(("peak.acceleration", built.peak[j], d.acceleration, Role.ACTUAL))
            channels += [Channel.of(f"{word}{suffix}", e, q, role, j) for word, e, q, role in here]
        for dof, u in zip(self.test.numerical.dofs, m.displacement, strict=True):
            channels.append(Channel.of(f"numerical.{dof}.displacement", u, u.quantity, Role.STATE))
        taken = {c.name for c in channels}
        channels += [c for c in self._read() if c.name not in taken]
        return [*channels, *self.reference]

    def _read(self) -> list[Channel]:
        """Return what is read off the structure, and its energies."""
        names = [n for n in self.record if n not in ENERGIES]
        own = {v.name: v for motion in vars(self.motion).values() for v in motion}
        channels = []
        for name in names:
            value: Expr | None = own.get(name)
            quantity = own[name].quantity if name in own else None
            if value is None:
                unknown = UnknownNameError("variable", name, own, "the test")
                value, quantity = read_off(name, [self.structure], unknown)
            channels.append(Channel.of(name, value, quantity, Role.STATE if name in own else Role.OTHER))
        return [*channels, *self.energies.channels(self.record)]

    def _balance(self) -> Balance:
        """Return what the energies are made of: forces on displacements, for steps are long."""
        test, m = self.test, self.motion
        if not any(names_energy(name) for name in test.record):
            return Balance("", self.count, test.period, missing=dict.fromkeys(WORDS, ""))
        loads = zip(self._loads(0.0), m.displacement, strict=True)
        taken = [(-f, m.displacement[i]) for f, i in zip(self.built.force, self.at, strict=True)]
        works = {"input": [pair for pair in loads if pair[0] != ZERO], "specimen": taken}
        flexible = recoverable(test.scheme, self.at, self.built.force)
        missing = {"devices": "a pseudo-dynamic test has no devices in the computer"}
        if flexible is None:
            missing["hysteretic"] = (
                "the scheme has no regular specimen_stiffness, by which the specimen would spring back"
            )
        return Balance(
            "", self.count, test.period,
            [Moving("numerical.", test.numerical, m.displacement, m.velocity)],
            by_work=True, works=works, recoverable=flexible,
            missing=missing,
        )  # fmt: skip

    def _bounds(self, channels: list[Channel]) -> dict[str, float]:
        bounds = bounds_of(channels, self.test.limits)
        rig = self.test.rig.bounds
        words = {"displacement": "stroke", "velocity": "velocity", "acceleration": "acceleration"}
        for c in channels:
            word = limit_word(c.meaning)
            if word in words and word in rig and rig[word] <= bounds[c.name]:
                bounds[c.name] = rig[word]
                more = words[word]
                self.remedies[c.name] = (
                    f"lower the excitation, check the stability of the test, or take a rig with more {more}"
                )
        return bounds

    def _tick(self, steps: list[Step]) -> Tick:
        self.energies = self._balance()
        known = [n for n, word in zip(ENERGIES, WORDS, strict=True) if word not in self.energies.missing]
        self.record = chosen(self.test.record, [self.structure], known)
        more = self.energies.write(self.energies.names(self.record))
        channels = self._channels()
        every = inserted([*self.signals.steps, *steps], more, self.states)
        self.states.update(self.energies.states)
        used = reads(every)
        return Tick(
            identifier(self.test.name, "test_"),
            self.test.period, self.time, self.count, self.signals.inputs, self.states,
            {v: x for v, x in self.all_parameters.items() if v in used or v == self.scale},
            tuple(every), tuple(channels), self._bounds(channels),
        )  # fmt: skip


FINE = 2.5e-4
"""Longest step of the complete structure in seconds. Its loads are parabolas over a step, which leaves an
error of about 1e-7 at 19 Hz."""


def assembled(numerical: Matrices, specimen: Specimen, interface: tuple[str, ...]) -> Matrices:
    """Return the matrices of numerical half and specimen together.

    Parameters
    ----------
    numerical
        The numerical half.
    specimen
        Made from matrices.
    interface
        Degrees of freedom of the numerical half, in the order of the specimen's own interface.
    """
    own = specimen.matrices
    if own is None:
        raise InputError(
            "the complete structure can be assembled only from a specimen made with Specimen.from_matrices; "
            "give its matrices as reference"
        )
    rename = dict(zip(specimen.interface, interface, strict=True))
    inside = [d for d in own.dofs if d not in rename]
    clash = sorted(set(inside) & set(numerical.dofs))
    if clash:
        raise InputError(f"the numerical half and the specimen both have {', '.join(clash)}; rename one")
    dofs = (*numerical.dofs, *inside)
    place = {d: i for i, d in enumerate(dofs)}
    whole = []
    theirs = [place[rename.get(d, d)] for d in own.dofs]
    for mine, other in ((numerical.M, own.M), (numerical.C, own.C), (numerical.K, own.K)):
        X = np.zeros((len(dofs), len(dofs)))
        n = len(numerical)
        X[:n, :n] += mine.toarray()
        X[np.ix_(theirs, theirs)] += other.toarray()
        whole.append(X)
    M, C, K = whole
    return Matrices(M, C, K, dofs)


class Complete:
    """The complete structure in a tick, in steps of its own, and the coupling force in it.

    Parameters
    ----------
    whole
        Matrices of the complete structure; the numerical half's degrees of freedom among them, by name.
    numerical
        Matrices of the numerical half.
    interface
        Names of the interface's degrees of freedom.
    loads
        Signals by name, each with its pattern over the numerical half.
    beyond
        By the same names, forces per unit on the complete structure beside the numerical half: the ground's
        on the specimen.
    """

    def __init__(
        self,
        whole: Matrices,
        numerical: Matrices,
        interface: tuple[str, ...],
        loads: Mapping[str, tuple[Signal, NDArray[np.float64]]],
        beyond: Mapping[str, NDArray[np.float64]] | None = None,
    ) -> None:
        self.interface = interface
        beyond = beyond or {}
        self.loads = {k: x for k, x in loads.items() if np.any(x[1]) or np.any(beyond.get(k, 0.0))}
        n = len(whole)
        at = whole.indices(numerical.dofs)
        M, C, K = (x.toarray() for x in (whole.M, whole.C, whole.K))
        try:
            inverse = np.linalg.inv(M)
        except np.linalg.LinAlgError:
            raise InputError(
                "the complete structure has a degree of freedom without mass; give it one"
            ) from None
        self.patterns = np.zeros((n, len(self.loads)))
        specimen = np.zeros((n, len(self.loads)))
        for j, (name, (_, pattern)) in enumerate(self.loads.items()):
            self.patterns[at, j] = pattern
            specimen[:, j] = beyond.get(name, 0.0)
        self.patterns += specimen
        A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ K, -inverse @ C]])
        B = np.vstack([np.zeros_like(self.patterns), inverse @ self.patterns])
        states = [f"{d}.{word}" for word in ("displacement", "velocity") for d in whole.dofs]
        names = [f"reference.{s}" for s in states]
        inputs = [f"reference.{k}" for k in self.loads]
        self.system = system_from_matrices(
            A,
            B,
            np.zeros((0, 2 * n)),
            np.zeros((0, len(inputs))),
            states=names,
            inputs=inputs,
            name="reference",
        )
        # What the complete structure has beyond the numerical half is the specimen: its force on the latter.
        for X, own in ((M, numerical.M), (C, numerical.C), (K, numerical.K)):
            X[np.ix_(at, at)] -= own.toarray()
        rows = whole.indices(interface)
        self.force_matrix = -np.hstack([K[rows], C[rows]]) - M[rows] @ A[n:]
        self.force_loads = -M[rows] @ inverse @ self.patterns + specimen[rows]
        self.displacements = [self.system.state_vars[r] for r in rows]

    def steps(self, signals: Signals, period: float) -> tuple[list[Step], list[Var]]:
        """Statements of one tick, and the variables of the coupling forces at its beginning."""
        force = [Var(name) for name in indexed("reference.force", len(self.interface))]
        now = [signals.at(k, s, 0.0) for k, (s, _) in self.loads.items()]
        terms: list[tuple[NDArray[np.float64], Sequence[Expr]]] = [
            (self.force_matrix, self.system.state_vars)
        ]
        if np.any(self.force_loads):
            terms.append((self.force_loads, now))
        steps = combination(force, terms)
        count = max(1, math.ceil(period / FINE - 1e-9))
        fine = period / count
        number = Var("reference.fine_step")
        body: list[Step] = []
        made: dict[float, dict[Var, Expr]] = {}

        def inputs(fraction: float) -> dict[Var, Expr]:
            if fraction not in made:
                made[fraction] = {}
                for u, (name, (signal, _)) in zip(self.system.input_vars, self.loads.items(), strict=True):
                    passed = (number + fraction) / Const(count)
                    var = Var(f"{u.name}@{fraction:g}")
                    body.append(Assign(var, signals.within(name, signal, passed)))
                    made[fraction][u] = var
            return made[fraction]

        rest = Exact("second").discretise(self.system, fine, inputs, []).rest
        return [*steps, Repeat(count, number, (*body, *rest))], force
