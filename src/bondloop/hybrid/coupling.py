"""How the halves are coupled: forces carried on over a step, demands ahead of it, and the two switches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import Model, interfaces
from bondloop.control import Compensator, Direct, earlier, fit_weights, from_first, weighted
from bondloop.engine.data import Described, Parameter, Whole
from bondloop.engine.ir import Assign, Const, Expr, Quantity, Var, substitute
from bondloop.engine.passes import Applied, connect, prefixed
from bondloop.errors import InputError, ModelError
from bondloop.hybrid.arguments import expect
from bondloop.integrate import Exact, ForwardEuler
from bondloop.safety import FORCE_SWITCH, RampedSwitch
from bondloop.signals import Signal
from bondloop.substructure import orientation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bondloop.control import Controller, Design
    from bondloop.engine import System
    from bondloop.engine.passes import Context
    from bondloop.integrate import Integrator
    from bondloop.substructure import NumericalHalf


# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class


Carried = Callable[[float], Expr]
"""Gives a force at a fraction of the step."""


@dataclass(frozen=True)
class Extrapolation(Described, family="extrapolation", alone=True):
    """How a test makes up for what sampling makes late, so that it behaves as one at a higher rate.

    A measured force is held over the step that it drives, half a sample late on the average, and may come
    some samples late besides. Here it is carried on instead: a polynomial through its newest samples gives it
    at every instant of the step. The command is held, too, half a sample late; a demand that is given to the
    controller ``command`` samples early, by displacement and velocity of the numerical half, makes up for it.

    What is left is of second order in the sample period with ``order=1``, where a held force leaves the
    first. The price is noise: `amplification`.

    Parameters
    ----------
    late
        By how many samples the measured force comes late.
    command
        By how many samples the demand is given early: 0.5 makes up for the hold, for a controller that does
        not know of it. Those that compare with the measured displacement do (adaptive ones, LQG, loop
        shaping), and take 0.
    order
        Of the polynomial: 1 is a straight line, 0 holds the force.
    points
        Samples that it is fitted to, more than ``order``: more of them are calmer and less exact.

    Examples
    --------
    >>> Extrapolation().weights(0.5).round(9).tolist()  # in the middle of the step
    [1.5, -0.5]
    >>> [round(Extrapolation(late=1, points=n).amplification(), 2) for n in (2, 4, 8)]
    [2.92, 1.43, 0.85]
    """

    late: Parameter = Parameter(0.0, least=0, most=20, unit="1")
    command: Parameter = Parameter(0.0, least=0, most=20, unit="1")
    order: Whole = Whole(1, least=0, most=3)
    points: Whole = Whole(2, least=1, most=64)

    def __post_init__(self) -> None:
        if self.points <= self.order:
            raise InputError(
                f"Extrapolation: a polynomial of order {self.order} needs at least {self.order + 1} points; "
                f"found {self.points}"
            )

    def weights(self, fraction: float, derivative: int = 0) -> NDArray[np.float64]:
        """Return the weights of the newest samples, newest first, at a fraction of the step.

        Parameters
        ----------
        fraction
            0 at the beginning of the step, 1 at its end.
        derivative
            Of the force by the fraction.
        """
        times = [-i - self.late for i in range(self.points)]
        return fit_weights(times, self.order, fraction, derivative)

    def amplification(self) -> float:
        """Return by how much it makes white noise of the force larger (rms, in the middle of the step)."""
        return float(np.linalg.norm(self.weights(0.5)))

    def carried(self, force: Expr, context: Context) -> tuple[Applied, Carried]:
        """Return statements, and the force at every fraction of the step.

        Parameters
        ----------
        force
            The measured force at this sample.
        context
            Names and period.
        """
        applied, origin = from_first(force, context)
        more, past = earlier(applied.value, range(self.points), context, "force")
        terms = [Var(f"{context.name}.term[{j}]") for j in range(self.order + 1)]
        values = [
            weighted((self.weights(0.0, j) / math.factorial(j)).tolist(), past) for j in range(len(terms))
        ]
        values[0] = origin + values[0]
        steps = [*applied.steps, *more, *(Assign(t, v) for t, v in zip(terms, values, strict=True))]

        def at(fraction: float) -> Expr:
            total: Expr = terms[0]
            for j, term in enumerate(terms[1:], start=1):
                if fraction:
                    total = total + Const(fraction**j) * term
            return total

        return Applied(steps, terms[0], applied.states), at

    def early(
        self, design: Design, values: Mapping[Var, Expr], contexts: Sequence[Context]
    ) -> tuple[list[Applied], Design]:
        """Return statements, and the design with its demands so many samples early.

        Parameters
        ----------
        design
            The controller as it is wired.
        values
            What every variable of the design is at this sample.
        contexts
            Of each transfer system.
        """
        blocks, ahead, rates = [], {}, []
        for x, flow, context in zip(
            design.desired_displacements, design.desired_velocities, contexts, strict=True
        ):
            assert isinstance(x, Var)  # compensators and direct command have a state for it
            v, T = substitute(flow, dict(values)), context.period
            time = self.command * T
            applied, origin = from_first(v, context)
            more, (now, before) = earlier(applied.value, range(2), context, "velocity")
            gain = (now - before) * Const(1 / T)  # the acceleration, to the first order
            sooner, faster = (Var(f"{context.name}.{word}") for word in ("displacement", "rate"))
            steps = [
                *applied.steps,
                *more,
                Assign(
                    sooner,
                    substitute(x, dict(values)) + Const(time) * (origin + now + Const(time / 2) * gain),
                ),
                Assign(faster, origin + now + Const(time) * gain),
            ]
            blocks.append(Applied(steps, sooner, applied.states))
            ahead[x] = sooner
            rates.append(faster)
        commands = tuple(substitute(c, dict(ahead)) for c in design.commands)
        return blocks, replace(design, commands=commands, desired_velocities=tuple(rates))


def usable(
    given: Extrapolation | None, controller: Controller, coupling: str, integrator: Integrator
) -> Extrapolation | None:
    """Return what a test was given, or say why it cannot have it.

    Parameters
    ----------
    given
        What it was given.
    controller, coupling, integrator
        Of the test.
    """
    if given is None:
        return None
    expect(given, Extrapolation, "extrapolation", "bondloop.hybrid.Extrapolation(late=1)")
    if coupling == "continuous":
        raise InputError("a continuous coupling holds nothing, so that there is nothing to extrapolate")
    if isinstance(integrator, ForwardEuler) or (isinstance(integrator, Exact) and integrator.hold == "zero"):
        better = 'Exact(hold="first")' if isinstance(integrator, Exact) else "RK4()"
        raise InputError(
            f"extrapolation: {type(integrator).__name__} takes its inputs at the beginning of a step alone, "
            f"so that what goes on over it changes nothing; use integrator={better}"
        )
    if given.command and not isinstance(controller, (Compensator, Direct)):
        raise InputError(
            f"Extrapolation(command): {type(controller).__name__} integrates its command together with the "
            "numerical half, and cannot be given the demand early; use command=0, or a compensator"
        )
    return given


@dataclass(frozen=True, eq=False)
class Switches(Described, family="switches", alone=True):
    """How the halves are coupled: each switch goes continuously from 0 to 1.

    At 0 the displacement switch leaves the rig at rest and the force switch feeds back the force of the
    simulated specimen; at 1 the rig follows the numerical half and its measured force is fed back:
    f = gamma f_p + (1 - gamma) f_n (du Bois 2010, eq. 25).

    Parameters
    ----------
    displacement, force
        The switches.
    simulated
        A model of the physical half that runs alongside in the computer; without one f_n is zero.

    Examples
    --------
    >>> from bondloop.safety import RampedSwitch
    >>> switches = Switches(force=RampedSwitch(1.0, ramp=0.5))
    >>> switches.force.ramp, switches.simulated
    (0.5, None)
    """

    displacement: RampedSwitch = field(default_factory=RampedSwitch)
    force: RampedSwitch = field(default_factory=RampedSwitch)
    simulated: Model | None = None

    def __post_init__(self) -> None:
        for word in ("displacement", "force"):
            expect(getattr(self, word), RampedSwitch, f"Switches({word})", "bondloop.safety.RampedSwitch()")
        expect(self.simulated, (Model, type(None)), "Switches(simulated)", "a model of the physical half")

    def closed(self) -> Switches:
        """Return the same with both switches at 1 from the start: fully coupled."""
        return replace(self, displacement=RampedSwitch(1.0), force=RampedSwitch(1.0))

    def settled(self) -> Switches:
        """Return the same with each switch from the start where its schedule leads: at 1, or at a number."""
        displacement, force = (
            RampedSwitch(1.0 if isinstance(s.schedule, Signal) else s.schedule) if s.scheduled else s
            for s in (self.displacement, self.force)
        )
        return replace(self, displacement=displacement, force=force)


def blended(
    half: NumericalHalf, switches: Switches, shared: Mapping[str, Var] | None = None
) -> NumericalHalf:
    """Return the numerical half with the simulated specimen beside it and the force switch before it.

    Its efforts are the measured forces; the switch is one further input, the last of its excitations. Inputs
    of the simulated specimen that are the half's own, the ground's accelerations, are `shared` by name.
    """
    gamma = Var(FORCE_SWITCH, quantity=Quantity("switch"))
    measured = tuple(Var(f"measured {e.name}", quantity=e.quantity) for e in half.efforts)
    links: dict[Var, Expr] = {}
    parts = [half.system]
    simulated: list[Expr] = [Const(0.0)] * len(half.efforts)
    if switches.simulated is not None:
        simulated = _beside(half, switches.simulated, parts, links)
        for u in parts[-1].input_vars:
            own = (shared or {}).get(u.name)
            if own is not None:
                links[u] = own
    for effort, f_p, f_n in zip(half.efforts, measured, simulated, strict=True):
        links[effort] = gamma * f_p + (1.0 - gamma) * f_n
    system = connect(
        half.system.name, parts, links, half.system.output_exprs, inputs=[*measured, *half.excitations, gamma]
    )
    return replace(half, system=system, efforts=measured, excitations=(*half.excitations, gamma))


def _beside(half: NumericalHalf, model: Model, parts: list[System], links: dict[Var, Expr]) -> list[Expr]:
    """Join the simulated specimen to the numerical half; return its forces."""
    ends = interfaces(model)
    if len(ends) != len(half.flows):
        raise ModelError(
            f"the simulated specimen has {len(ends)} interfaces, the numerical half {len(half.flows)}; "
            "give a model of the same physical half"
        )
    system = prefixed(model.compile(), "simulated.")
    by_name = dict(zip(system.inputs, system.input_vars, strict=True))
    forces: list[Expr] = []
    for end, ours, theirs, flow in zip(ends, half.signs, orientation(model), half.flows, strict=True):
        path = f"simulated.{end.path}"
        if f"{path}.flow" not in by_name:
            raise ModelError(
                f"{path}: the simulated specimen begins with a mass, so it cannot take the numerical half's "
                "velocity; move that mass into the numerical half"
            )
        if ours == theirs:
            raise InputError(
                f"{path}: the bond of the simulated specimen points the wrong way; take the half of a cut"
            )
        links[by_name[f"{path}.flow"]] = flow
        forces.append(system.output_exprs[f"{path}.effort"])
    parts.append(system)
    return forces
