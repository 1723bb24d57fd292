"""A virtual junction whose model is identified while the test runs."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from bondloop.control.linear_filter import state_variable_filter
from bondloop.control.recursive_least_squares import RecursiveLeastSquares
from bondloop.control.regression import Terms, regression
from bondloop.control.virtual_junction import VirtualJunction
from bondloop.errors import InputError, ModelError, unknown_name
from bondloop.program.block import Applied, Context
from bondloop.program.described import Parameter
from bondloop.program.expr import Const, Expr, Op, Var, substitute
from bondloop.program.quantity import Role
from bondloop.program.schedule import Assign
from bondloop.program.tick import Channel, Delay, Step, Update
from bondloop.transfer.base import Transfer, transfer_system

if TYPE_CHECKING:
    from bondloop.control.base import Design, Measured
    from bondloop.substructure.half import NumericalHalf
    from bondloop.transfer.base import TransferSystem

__all__ = ["AdaptiveVirtualJunction"]


@dataclass(frozen=True, eq=False)
class AdaptiveVirtualJunction(VirtualJunction):
    """A virtual junction with parameters of its model identified on line, as Gawthrop 2005 (5.2) suggests.

    The named parameters of the transfer system's model become inputs of the controller. At every sample they
    are estimated by recursive least squares from the equation of motion, in which command, load and
    displacement stand with their derivatives; all three go through the same low-pass filter, whose states are
    the derivatives, so nothing measured is differentiated. Between samples they are held.

    The command that is taken to have acted is the controller's; where a switch or an interlock changes it on
    its way to the rig, the estimates are wrong as long as it does.

    Parameters
    ----------
    model
        Model of the transfer system, one per interface; its own values are the first estimates.
    parameters
        Paths of the parameters in the model, such as ``"damper.damping"``; the equation of motion must be
        linear in them.
    uncertainty
        Standard deviation of the first values, as a share of them.
    range
        Estimates stay between 1/range and range times the first values.
    memory
        Time in s after which a sample counts 1/e.
    noise
        Standard deviation of the error in the equation of motion, in its own unit: newtons, for a mass with
        damper and spring.
    filter_frequency
        Corner of the filter in Hz: above the motion's frequencies, below the noise's.
    latency
        Known time in s from command to actuator, a whole number of sample periods.

    Examples
    --------
    >>> from bondloop.transfer import MassSpringDamper
    >>> actuator = MassSpringDamper(m=2.2, c=150, k=13.6e3, drive="position")
    >>> junction = AdaptiveVirtualJunction(actuator, ["damper.damping", "spring.stiffness"])
    """

    adapts: ClassVar[bool] = True
    sampled: ClassVar[bool] = True

    parameters: tuple[str, ...] = ()
    uncertainty: Parameter = Parameter(0.5, above=0, unit="1")
    range: Parameter = Parameter(4.0, above=1, unit="1")
    memory: Parameter = Parameter(10.0, above=0, unit="s")
    noise: Parameter = Parameter(1.0, above=0)
    filter_frequency: Parameter = Parameter(20.0, above=0, unit="Hz")
    latency: Parameter = Parameter(0.0, least=0, unit="s")
    _sent: dict[Expr, Var] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        given: str | Sequence[str] = self.parameters  # one name alone will do
        names = (given,) if isinstance(given, str) else tuple(given)
        object.__setattr__(self, "parameters", names)
        if not names:
            raise InputError(
                f"{type(self).__name__}: no parameters to identify; name some, such as 'damper.damping', or "
                "use VirtualJunction"
            )
        twice = [name for i, name in enumerate(names) if name in names[:i]]
        if twice:
            raise InputError(f"{type(self).__name__}(parameters): '{twice[0]}' is named twice; name it once")

    def _transfers(self) -> list[Transfer]:
        models = self.models()
        several = len(models) > 1
        return [
            transfer_system(
                m, f"controller.transfer[{i}]." if several else "controller.transfer.", to_invert=True
            )
            for i, m in enumerate(models)
        ]

    def _names(self, transfer: Transfer) -> list[str]:
        prefix = transfer.command.name[: transfer.command.name.index(".", len("controller.")) + 1]
        known = [n.removeprefix(prefix) for n in transfer.system.parameters]
        for name in self.parameters:
            if name not in known:
                model = transfer.system.name.removeprefix(prefix)
                raise InputError(
                    unknown_name("parameter", name, known, f"the model {model}")
                    + f"; {type(self).__name__} takes paths within the model"
                )
        return [prefix + name for name in self.parameters]

    def design(self, half: NumericalHalf, actuators: Sequence[TransferSystem]) -> Design:
        """Join the inverse to the numerical half; the identified parameters become inputs."""
        names = [(t, self._names(t)) for t in self._transfers()]
        made = super().design(half, actuators)
        for t, own in names:
            self._refuse(t, own)
        by_name = {v.name: v for v in made.system.parameters_by_var}
        adapted = tuple(by_name[n] for t in self._transfers() for n in self._names(t))
        values = {v: made.system.parameters_by_var[v] for v in adapted}
        missing = [v.name for v, value in values.items() if not value]
        if missing:
            raise InputError(
                f"{type(self).__name__}: {', '.join(missing)} needs a first value, not zero; give the "
                "model one"
            )
        system = made.system.replaced(
            inputs=[*made.system.input_vars, *adapted],
            parameters={v: x for v, x in made.system.parameters_by_var.items() if v not in values},
            input_defaults=values,
        )
        return replace(made, system=system, adapted=adapted)

    def observe(
        self, design: Design, measured: Sequence[Measured], context: Context
    ) -> tuple[Applied, Mapping[Var, Expr]]:
        """Return the statements that identify the parameters."""
        steps: list[Step] = []
        states: dict[Var, float] = {}
        channels: list[Channel] = []
        values: dict[Var, Expr] = {}
        found: list[Var] = []
        forces = dict(zip(design.efforts, (m.force for m in measured), strict=True))
        loads = {v.name: e for v, e in design.system.definitions.items()}
        by_name = {v.name: v for v in design.adapted}
        for i, (transfer, sensors) in enumerate(zip(self._transfers(), measured, strict=True)):
            inner = replace(context, name=f"{context.name}.identified[{i}]")
            load = substitute(loads[transfer.load.name], dict(forces))
            adapted = [by_name[n] for n in self._names(transfer)]
            first = [design.system.input_defaults[v.name] for v in adapted]
            applied, estimates = self._identify(design, transfer, sensors, load, first, inner)
            steps += applied.steps
            states.update(applied.states)
            found += estimates
            for v, estimate in zip(adapted, estimates, strict=True):
                values[v] = estimate
                channels.append(Channel.of(f"{v.name}.estimate", estimate, v.quantity, Role.ESTIMATE, i))
        return Applied(steps, Const(0.0), states, channels=tuple(channels), adapted=tuple(found)), values

    def _refuse(self, transfer: Transfer, names: Sequence[str]) -> None:
        """Refuse parameters that cannot be identified."""
        regression(transfer, names)

    def _acting(self, sensors: Measured, context: Context) -> tuple[list[Step], dict[Var, float], Expr]:
        """Return the command that acted up to this sample, with the statements and states that keep it."""
        sent = self._sent.setdefault(sensors.displacement, Var(f"{context.name}.sent"))
        ticks = round(self.latency / context.period)
        if abs(ticks * context.period - self.latency) > 1e-6 * context.period:
            raise InputError(
                f"{type(self).__name__}: the latency of {self.latency:g} s is not a whole number of sample "
                f"periods of {context.period:g} s; choose {ticks * context.period:g} s"
            )
        if not ticks:
            return [], {sent: 0.0}, sent
        acting = Var(f"{context.name}.acting")
        return [Delay(acting, sent, ticks)], {sent: 0.0}, acting

    def _estimator(self, first: Sequence[float]) -> RecursiveLeastSquares:
        return RecursiveLeastSquares(
            tuple(first),
            uncertainty=tuple(self.uncertainty * abs(p) for p in first),
            noise=self.noise,
            memory=self.memory,
            least=tuple(min(p * self.range, p / self.range) for p in first),
            most=tuple(max(p * self.range, p / self.range) for p in first),
        )

    def _settled(self, context: Context) -> Expr:
        """Whether the filters have forgotten the beginning, where the test does not begin at rest."""
        return Op("ge", (context.count, Const(2.0 / self.filter_frequency / context.period)))

    def _identify(
        self,
        design: Design,  # noqa: ARG002 - for those that run the model
        transfer: Transfer,
        sensors: Measured,
        load: Expr,
        first: Sequence[float],
        context: Context,
    ) -> tuple[Applied, Sequence[Var]]:
        equation = regression(transfer, self._names(transfer))
        steps, states, command = self._acting(sensors, context)
        filtered: dict[str, list[Expr]] = {}
        for word, signal in (("motion", sensors.displacement), ("command", command), ("load", load)):
            low = state_variable_filter(equation.order, self.filter_frequency, held=word == "command")
            applied, filtered[word] = low.apply(signal, context, word)
            steps += applied.steps
            states.update(applied.states)

        def total(terms: Terms) -> Expr:
            result: Expr = Const(0.0)
            for (word, power), c in terms.items():
                result = result + c * filtered[word][power]
            return result

        value = Var(f"{context.name}.value")
        steps.append(Assign(value, total(equation.value)))
        estimate = self._estimator(first).apply(
            [total(terms) for terms in equation.regressors], value, context, when=self._settled(context)
        )
        steps += estimate.applied.steps
        states.update(estimate.applied.states)
        return Applied(steps, value, states), estimate.parameters

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:  # noqa: ARG002
        """Leave the command as it is, and remember it for the next sample."""
        sent = self._sent.get(measured.displacement)
        if sent is None:
            raise ModelError(
                f"{type(self).__name__}: `compensate` was called for a sensor that `observe` has not seen"
            )
        return Applied([Update(((sent, desired),))], desired)
