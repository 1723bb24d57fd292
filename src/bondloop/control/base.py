"""What every controller offers, and the base of the compensators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from bondloop.bondgraph import TRANSLATION, Domain, domain_of
from bondloop.display import brief
from bondloop.engine.data import Described
from bondloop.engine.ir import Const, Expr, Var, quantity_of, substitute
from bondloop.engine.laws import Readings
from bondloop.engine.passes import Applied, Context, applied_of, at_interface, connect
from bondloop.errors import InputError
from bondloop.substructure import indexed
from bondloop.transfer import expect_set_point, width

if TYPE_CHECKING:
    from bondloop.engine import System
    from bondloop.engine.ir import Channel
    from bondloop.engine.laws import Value
    from bondloop.signals import Signal
    from bondloop.substructure import NumericalHalf
    from bondloop.transfer import TransferSystem


@dataclass(frozen=True)
class Measured(Readings):
    """What the sensors of one transfer system read at a sample.

    Expressions where a tick is made; in a `ControlLaw` what it computes with: numbers, or arrays with an
    entry for each transfer system.

    Attributes
    ----------
    force, displacement, velocity
        In N, m and m/s.
    """

    force: Value = 0.0
    displacement: Value = 0.0
    velocity: Value = 0.0


@dataclass(frozen=True)
class Design:
    """A controller wired to the numerical half: what the computer runs.

    Attributes
    ----------
    system
        Numerical half and controller together.
    commands
        One expression per transfer system.
    efforts
        Inputs for the measured forces, one per interface.
    displacements, velocities
        Inputs for measured motions of the transfer systems; empty where the controller needs none.
    desired_displacements, desired_velocities
        What the transfer systems should follow.
    channels
        Further expressions worth recording: adaptive gains, each with the unit that it would have if the
        command had none.
    signals
        Inputs that follow signals of the controller's own.
    adapted
        Inputs that `Controller.observe` gives at every sample: parameters identified on line.
    gains
        States that are adapted as the test runs.
    sensed
        Further expressions that the controller reads at every sample: virtual sensors.
    loads
        What the transfer systems carry, of ``efforts``, where the controller runs models of them.
    sent
        States that keep the commands from sample to sample, where `Controller.observe` reads them.

    Examples
    --------
    >>> from bondloop.control import Direct
    >>> from bondloop.papers import gawthrop_three_mass
    >>> from bondloop.substructure import numerical_half
    >>> from bondloop.transfer import MassSpringDamper
    >>> half = numerical_half(gawthrop_three_mass.model().cut("m2.right >> m3.left")[0])
    >>> design = Direct().design(half, [MassSpringDamper(1, 1, 1)])
    >>> design.efforts, design.commands
    ((<Var interface.effort>,), (<Op controller.desired.displacement*controller.gain>,))
    """

    system: System
    commands: tuple[Expr, ...]
    efforts: tuple[Var, ...]
    desired_displacements: tuple[Expr, ...]
    desired_velocities: tuple[Expr, ...]
    displacements: tuple[Var, ...] = ()
    velocities: tuple[Var, ...] = ()
    channels: tuple[Channel, ...] = ()
    signals: Mapping[Var, Signal] = field(default_factory=dict)
    adapted: tuple[Var, ...] = ()
    gains: tuple[Var, ...] = ()
    sensed: tuple[Expr, ...] = ()
    loads: tuple[Expr, ...] = ()
    sent: tuple[Var, ...] = ()

    __repr__ = brief


class Controller(Described, ABC, family="controller"):
    """Makes the transfer systems follow the numerical half.

    Examples
    --------
    >>> from bondloop.control import Controller, Direct, VirtualJunction
    >>> [issubclass(kind, Controller) for kind in (Direct, VirtualJunction)]
    [True, True]
    >>> Direct.inverts, VirtualJunction.inverts
    (False, True)
    """

    inverts: ClassVar[bool] = False
    """Whether it needs the transfer systems' inverse (Gawthrop 2005, assumption 5)."""

    sampled: ClassVar[bool] = False
    """Whether it works sample by sample, by `observe` or `compensate`."""

    adapts: ClassVar[bool] = False
    """Whether it changes while it runs, so that its loop has no fixed poles."""

    __repr__ = brief

    @property
    def opaque(self) -> str:
        """The Python function that it calls, of which nothing is known but what it returns; "" for none.

        It can be rehearsed, but neither compiled nor analysed.
        """
        return ""

    @abstractmethod
    def design(self, half: NumericalHalf, actuators: Sequence[TransferSystem]) -> Design:
        """Wire the controller to a numerical half.

        Parameters
        ----------
        half
            The numerical half.
        actuators
            The transfer systems of the rig; controllers that need a model use their own.
        """

    def observe(
        self,
        design: Design,  # noqa: ARG002 - the base does nothing
        measured: Sequence[Measured],  # noqa: ARG002
        context: Context,  # noqa: ARG002
    ) -> tuple[Applied, Mapping[Var, Expr]]:
        """Return statements that are executed before anything else of the computer's at every sample.

        They give the values of the design's adapted inputs, by input; the base has none.

        Parameters
        ----------
        design
            What `design` returned.
        measured
            What the sensors of each transfer system read.
        context
            Where it stands in the tick: names, tick number, period.
        """
        return Applied([], Const(0.0)), {}

    def compensate(
        self,
        desired: Expr,
        measured: Measured,  # noqa: ARG002 - the base does nothing
        context: Context,  # noqa: ARG002
    ) -> Applied:
        """Return the statements that make the command from the design's; the base leaves it as it is.

        Parameters
        ----------
        desired
            The design's command to this transfer system.
        measured
            What its sensors read.
        context
            Where it stands in the tick: names, tick number, period.
        """
        return Applied([], desired)

    def commands(
        self,
        design: Design,
        values: Mapping[Var, Expr],
        measured: Sequence[Measured],
        contexts: Sequence[Context],
    ) -> list[Applied]:
        """Return the statements that make the commands from the design's, one block for each; in turn.

        Parameters
        ----------
        design
            The controller as it is wired.
        values
            What every variable of the design is at this sample.
        measured, contexts
            Of each transfer system.
        """
        table, known = dict(values), zip(design.desired_velocities, contexts, strict=True)
        contexts = [replace(context, velocity=substitute(v, table)) for v, context in known]
        return [
            at_interface(applied_of(self, "compensate", substitute(c, table), sensor, context), i)
            for i, (c, sensor, context) in enumerate(zip(design.commands, measured, contexts, strict=True))
        ]


def desired_motion(half: NumericalHalf) -> tuple[list[Expr], list[Expr], dict[Var, Expr]]:
    """Return what the transfer systems should do: displacements, velocities, and states that this needs.

    Where a coupler stands between the interfaces and the transfer systems, both are those of the latter.

    Parameters
    ----------
    half
        The numerical half.
    """
    states = dict(zip(half.system.state_vars, half.system.rate_exprs, strict=True))
    extra: dict[Var, Expr] = {}
    desired: list[Expr] = []
    for index, flow, domain in zip(indexed("", len(half.flows)), half.flows, half.domains, strict=True):
        z, new = displacement_state(
            {**states, **extra}, flow, f"controller.desired{index}.displacement", domain
        )
        extra.update(new)
        desired.append(z)
    if half.coupler is None:
        return desired, list(half.flows), extra
    return half.coupler.strokes(desired), half.coupler.velocities(desired, half.flows), extra


def displacement_state(
    system_states: Mapping[Var, Expr], flow: Expr, name: str, domain: Domain | None = None
) -> tuple[Var, dict[Var, Expr]]:
    """Return a state that is the integral of a flow: an existing one, or a new one with its rate.

    What it measures follows from the domain, or from what the flow measures where none is given.
    """
    for state, rate in system_states.items():
        if rate is flow:
            return state, {}
    known = quantity_of(flow)
    if domain is None and known is not None:
        domain = domain_of(None, known)
    state = Var(name, quantity=None if domain is None else domain.displacement)
    return state, {state: flow}


class Compensator(Controller, family="controller"):
    """Base of the compensators: a frozen dataclass with one pure step, `compensate`.

    The numerical half gives the desired displacement; the compensator makes of it, at every sample, the
    command that a transfer system with a position set point is to be given.
    """

    sampled: ClassVar[bool] = True

    set_point: ClassVar[bool] = False
    """Whether its command is a displacement whatever the transfer system; others have a model that says."""

    __repr__ = brief

    @property
    def _members(self) -> Sequence[Compensator]:
        """The compensators that it is made of."""
        return ()

    @property
    def opaque(self) -> str:
        """The first Python function that one of its members calls; "" for none."""
        return next((member.opaque for member in self._members if member.opaque), "")

    def design(self, half: NumericalHalf, actuators: Sequence[TransferSystem]) -> Design:
        """Hand on the desired displacements; `compensate` does the rest at every sample."""
        if self.set_point:
            domains = half.domains if half.coupler is None else (TRANSLATION,) * half.coupler.size
            ports = [(actuator, port) for actuator in actuators for port in range(width(actuator))]
            for (actuator, port), domain in zip(ports, domains, strict=False):
                expect_set_point(actuator, type(self).__name__, domain.displacement.unit, port)
        desired, velocities, extra = desired_motion(half)
        # A coupler's strokes need not be linear; what is integrated is, so they are no part of the system.
        outputs = {} if half.coupler else {f"command[{i}]": z for i, z in enumerate(desired)}
        system = connect("computer", [half.system], {}, outputs, inputs=half.efforts, states=extra)
        return Design(system, tuple(desired), half.efforts, tuple(desired), tuple(velocities))

    @abstractmethod
    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the statements that make the command of one transfer system.

        Parameters
        ----------
        desired
            The desired displacement at this sample, in m.
        measured
            What the sensors of this transfer system read at this sample.
        context
            Names and period.
        """


class LearnsRemainder(Compensator, family="controller"):
    """Base of the adaptive compensators that can act on another signal than that of which they learn."""

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command."""
        return self._adapted(desired, None, measured, context)

    def remainder(self, desired: Expr, sent: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command: the law on ``sent``, adapted as if it stood before what made it of the demand.

        Parameters
        ----------
        desired
            The desired displacement at this sample.
        sent
            What the fixed part of an `AdaptiveRemainder` makes of it.
        measured
            What the sensors read.
        context
            Names and period.
        """
        return self._adapted(desired, sent, measured, context)

    @abstractmethod
    def _adapted(self, desired: Expr, sent: Expr | None, measured: Measured, context: Context) -> Applied:
        """Return the command of the demand itself, or of what is sent in its place."""


def expect_compensator(given: object, what: str) -> Compensator:
    """Return a compensator; refuse what is none."""
    if not isinstance(given, Compensator):
        raise InputError(f"{what}: expected a compensator, such as InverseModel(...); found {given!r:.60}")
    return given


def channel(context: Context, word: str) -> str:
    """Return the name under which a compensator records something: it always begins with ``controller``."""
    name = context.name if context.name.startswith("controller") else f"controller.{context.name}"
    return f"{name}.{word}"
