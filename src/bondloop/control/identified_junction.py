"""Virtual junctions whose model is identified while the test runs, by a regression or by sensitivities."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bondloop.control.blocks.filters import state_variable_filter, weighted
from bondloop.control.blocks.least_squares import RecursiveLeastSquares
from bondloop.control.blocks.transfer_model import interpolated, substeps, with_displacement
from bondloop.control.virtual_junction import JunctionWithModel
from bondloop.engine.data import Parameter
from bondloop.engine.ir import (
    Channel,
    Const,
    Delay,
    Expr,
    Op,
    Repeat,
    Role,
    Var,
    substitute,
)
from bondloop.engine.passes import Applied, Context, Statements, prefixed
from bondloop.errors import InputError, unknown_name
from bondloop.integrate import RK4
from bondloop.transfer import Transfer, transfer_system

if TYPE_CHECKING:
    from bondloop.control.base import Design, Measured
    from bondloop.engine import System
    from bondloop.substructure import NumericalHalf
    from bondloop.transfer import TransferSystem


@dataclass(frozen=True, eq=False)
class AdaptiveVirtualJunction(JunctionWithModel):
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
        damper and spring (newton metres where it turns), or that of the motion.
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
    label: ClassVar[str] = "identified"

    parameters: tuple[str, ...] = ()
    uncertainty: Parameter = Parameter(0.5, above=0, unit="1")
    range: Parameter = Parameter(4.0, above=1, unit="1")
    memory: Parameter = Parameter(10.0, above=0, unit="s")
    noise: Parameter = Parameter(1.0, above=0, unit=("N", "N m", "m", "rad"))
    filter_frequency: Parameter = Parameter(20.0, above=0, unit="Hz")
    latency: Parameter = Parameter(0.0, least=0, unit="s")

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

    def names(self) -> list[str]:
        """Return with what the names of each model's statements begin."""
        return [f"controller.{self.label}[{i}]" for i in range(len(self.models()))]

    def transfers(self) -> list[Transfer]:
        """Return the equations of the models, each with the measured load as an input."""
        models = zip(self.models(), self.prefixes(), strict=True)
        return [transfer_system(m, prefix, to_invert=True) for m, prefix in models]

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
        names = [(t, self._names(t)) for t in self.transfers()]
        made = super().design(half, actuators)
        for t, own in names:
            self._refuse(t, own)
        by_name = {v.name: v for v in made.system.parameters_by_var}
        adapted = tuple(by_name[n] for t in self.transfers() for n in self._names(t))
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
        body = Statements(context.name)
        values: dict[Var, Expr] = {}
        forces = dict(zip(design.efforts, (m.force for m in measured), strict=True))
        loads = {v.name: e for v, e in design.system.definitions.items()}
        by_name = {v.name: v for v in design.adapted}
        at = zip(self.transfers(), measured, design.sent, strict=True)
        for i, (transfer, sensors, sent) in enumerate(at):
            inner = replace(context, name=f"{context.name}.identified[{i}]")
            load = substitute(loads[transfer.load.name], dict(forces))
            adapted = [by_name[n] for n in self._names(transfer)]
            first = [design.system.input_defaults[v.name] for v in adapted]
            applied, estimates = self._identify(design, transfer, sensors, sent, load, first, inner)
            body.add(applied)
            body.adapted += estimates
            for v, estimate in zip(adapted, estimates, strict=True):
                values[v] = estimate
                body.channels.append(Channel.of(f"{v.name}.estimate", estimate, v.quantity, Role.ESTIMATE, i))
        return body.applied(Const(0.0)), values

    def _refuse(self, transfer: Transfer, names: Sequence[str]) -> None:
        """Refuse parameters that cannot be identified."""
        regression(transfer, names)

    def _acting(self, sent: Var, context: Context) -> Applied:
        """Return the command that acted up to this sample, with the statements and states that keep it."""
        ticks = round(self.latency / context.period)
        if abs(ticks * context.period - self.latency) > 1e-6 * context.period:
            raise InputError(
                f"{type(self).__name__}: the latency of {self.latency:g} s is not a whole number of sample "
                f"periods of {context.period:g} s; choose {ticks * context.period:g} s"
            )
        if not ticks:
            return Applied([], sent, {sent: 0.0})
        acting = Var(f"{context.name}.acting")
        return Applied([Delay(acting, sent, ticks)], acting, {sent: 0.0})

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
        sent: Var,
        load: Expr,
        first: Sequence[float],
        context: Context,
    ) -> tuple[Applied, Sequence[Var]]:
        equation = regression(transfer, self._names(transfer))
        body = Statements(context.name)
        command = body.add(self._acting(sent, context))
        filtered: dict[str, list[Expr]] = {}
        for word, signal in (("motion", sensors.displacement), ("command", command), ("load", load)):
            low = state_variable_filter(equation.order, self.filter_frequency, held=word == "command")
            applied, filtered[word] = low.apply(signal, context, word)
            body.add(applied)

        def total(terms: Terms) -> Expr:
            return weighted(terms.values(), [filtered[word][power] for word, power in terms])

        value = body.put("value", total(equation.value))
        estimate = self._estimator(first).apply(
            [total(terms) for terms in equation.regressors], value, context, when=self._settled(context)
        )
        body.add(estimate.applied)
        return body.applied(value), estimate.parameters


@dataclass(frozen=True, eq=False)
class SensitivityVirtualJunction(AdaptiveVirtualJunction):
    """A virtual junction with parameters of its model identified on line by the sensitivity bond graph.

    The model of the transfer system runs beside it, with the estimates of the last sample, driven by the
    command that was sent and by the measured load; with it run the derivatives of its displacement with
    respect to the parameters (Gawthrop 2000). The error between measured and modelled displacement moves the
    estimates against these derivatives: a recursive prediction-error method (Ljung 1999, ch. 11). Where
    `AdaptiveVirtualJunction` needs an equation of motion that is linear in the parameters, this one takes
    any model that can be inverted, one with dry friction too; it has to come to rest by itself, since
    nothing but the estimates leads it back to the measured motion.

    Parameters
    ----------
    model, parameters, uncertainty, range, latency
        As for `AdaptiveVirtualJunction`.
    memory
        Time in s after which a sample counts 1/e. The derivatives of the first samples are those of a wrong
        model and should be forgotten soon: a few periods of the motion.
    noise
        Standard deviation of the error between measured and modelled displacement, in m (rad where it turns).
    filter_frequency
        Corner in Hz of the low pass through which error and derivatives go: above the motion's frequencies,
        below the noise's.

    References
    ----------
    Gawthrop (2000), Sensitivity bond graphs. Journal of the Franklin Institute 337, 907-922.
    Ljung (1999), System Identification, ch. 11.

    Examples
    --------
    >>> from bondloop.transfer import MassSpringDamper
    >>> actuator = MassSpringDamper(m=2.2, c=150, k=13.6e3, drive="position")
    >>> junction = SensitivityVirtualJunction(actuator, ["damper.damping", "spring.stiffness"])
    """

    memory: Parameter = Parameter(1.0, above=0, unit="s")
    noise: Parameter = Parameter(1e-5, above=0, unit=("m", "rad"))
    filter_frequency: Parameter = Parameter(100.0, above=0, unit="Hz")

    def _refuse(self, transfer: Transfer, names: Sequence[str]) -> None:
        system = transfer.system
        missing = [name for name, value in system.parameters.items() if value is None]
        if missing:
            raise InputError(f"no value for {', '.join(missing)}; give one in the model")
        poles = with_displacement(transfer, "model").linearise().poles()
        scale = max(1.0, float(abs(poles).max(initial=0.0)))
        free = [p for p in poles if p.real > -1e-9 * scale]
        if free:
            raise InputError(
                f"{system.name} does not come to rest by itself (pole at {free[0]:.4g} 1/s), so that it "
                "would drift away from the measured motion; use AdaptiveVirtualJunction, or a model with a "
                "spring and a damper"
            )
        at = [0.1 * scale, scale]
        known = system.linearise().frequency_response(at)
        for name in names:
            moved = {name: 1.1 * (system.parameters[name] or 1.0)}
            if np.allclose(system.linearise(values=moved).frequency_response(at), known, rtol=1e-9, atol=0):
                raise InputError(
                    f"{name} of {system.name} does not show in its motion; leave it out of the parameters"
                )

    def _identify(
        self,
        design: Design,
        transfer: Transfer,
        sensors: Measured,
        sent: Var,
        load: Expr,
        first: Sequence[float],
        context: Context,
    ) -> tuple[Applied, Sequence[Var]]:
        names = self._names(transfer)
        prefix = f"{context.name}.model."
        system = _with_sensitivities(transfer, names, prefix)
        displacement, *slopes = system.output_exprs.values()
        body = Statements(context.name)
        command = body.add(self._acting(sent, context))
        body.states.update({x: system.initial_by_var.get(x, 0.0) for x in system.state_vars})
        before = [body.state(f"before[{i}]", p) for i, p in enumerate(first)]
        # The load is measured at both ends of the period that the model runs through, and straight between.
        old, new = body.state("load_before"), body.put("load_now", load)
        # The estimates may make the model faster than it is at first.
        count = substeps(transfer.system, context.period, stretch=float(self.range) ** 0.5, reach=1.0)
        counter = body.var("substep")
        driven: dict[str, Expr] = {v.name: v for v in design.system.parameters_by_var}
        driven |= {transfer.command.name: command, **dict(zip(names, before, strict=True))}

        def at(fraction: float) -> dict[Var, Expr]:
            driven[transfer.load.name] = interpolated(old, new, counter, count, fraction)
            return {u: driven[u.name.removeprefix(prefix)] for u in system.input_vars}

        stepped = RK4().discretise(system, context.period / count, at, [])
        body.steps.append(Repeat(count, counter, (*stepped.first, *stepped.rest)))
        body.update({old: new})
        error = body.put("difference", sensors.displacement - displacement)
        passed: list[Expr] = []
        for word, signal in (("error", error), *((f"slope[{i}]", x) for i, x in enumerate(slopes))):
            low = state_variable_filter(0, self.filter_frequency)
            passed.append(body.add(low.apply(signal, context, word)[0]))
        value = passed[0]
        for slope, p in zip(passed[1:], before, strict=True):
            value = value + slope * p
        estimate = self._estimator(first).apply(passed[1:], value, context, when=self._settled(context))
        body.add(estimate.applied)
        body.update(dict(zip(before, estimate.parameters, strict=True)))
        return body.applied(error), estimate.parameters


def _with_sensitivities(transfer: Transfer, names: Sequence[str], prefix: str) -> System:
    """Return the model with the derivatives of its displacement, the first output, all named apart.

    Its parameters are inputs: some are estimates, the others are those of the inverse.
    """
    full = with_displacement(transfer, "model").sensitivity(names)
    return prefixed(full.replaced(inputs=[*full.input_vars, *full.parameters_by_var], parameters={}), prefix)


Terms = dict[tuple[str, int], float]
"""Coefficients by signal (``"motion"``, ``"command"``, ``"load"``) and order of its derivative."""


@dataclass(frozen=True)
class Regression:
    """``value = sum_i parameter_i regressor_i``, each a sum of derivatives of the measured signals.

    Attributes
    ----------
    value
        The part of the equation without the parameters, with its sign changed.
    regressors
        What stands by each parameter.
    order
        The highest derivative in it.
    """

    value: Terms
    regressors: tuple[Terms, ...]
    order: int


def regression(transfer: Transfer, parameters: Sequence[str]) -> Regression:
    """Derive the regression from a linear model, whatever its structure.

    With the model's transfer functions from command u and load F to the displacement x brought to a common
    denominator, ``a(s) x = b(s) u + c(s) F`` holds with polynomials whose coefficients depend on the
    parameters: m s^2 x + c s x + k x = k u - F for a mass with damper and a spring with a set point. It is a
    regression where the chosen parameters enter linearly.

    Parameters
    ----------
    transfer
        The model; linear.
    parameters
        Full names of the parameters to identify.
    """
    import sympy as sp

    system = transfer.system
    by_name = {v.name: value for v, value in system.parameters_by_var.items()}
    for name in parameters:
        if name not in by_name:
            raise InputError(unknown_name("parameter", name, by_name, system.name))
    missing = [n for n, value in by_name.items() if value is None]
    if missing:
        raise InputError(f"no value for {', '.join(missing)}; give one in the model")
    if not system.is_linear:
        raise InputError(
            f"{system.name} is not linear: its parameters cannot be identified on line from transfer "
            "functions; use a linear model"
        )
    symbols = [sp.Symbol(n) for n in parameters]
    equation = _equation_of_motion(transfer, symbols)
    known: Terms = {}
    regressors: list[Terms] = [{} for _ in parameters]
    for signal, coefficients in equation.items():
        for power, coefficient in enumerate(coefficients):
            _sort(coefficient, symbols, (signal, power), known, regressors, parameters)
    known = {at: -c for at, c in known.items()}
    if not known:
        raise InputError(
            f"{', '.join(parameters)} of {system.name} appear in every term of its equation, so only their "
            "ratios show in the motion; leave one of them out"
        )
    idle = [n for n, terms in zip(parameters, regressors, strict=True) if not terms]
    if idle:
        raise InputError(
            f"{', '.join(idle)} of {system.name} does not show in its motion; leave it out of the parameters"
        )
    order = max(power for terms in (known, *regressors) for _, power in terms)
    return Regression(known, tuple(regressors), order)


def _equation_of_motion(transfer: Transfer, symbols: Sequence[Any]) -> dict[str, list[Any]]:
    """Return a, -b and -c of a(s) x = b(s) u + c(s) F by power of s, polynomials in the symbols.

    All parameters but the symbols are numbers: with letters for all of them, solving s I - A takes SymPy
    minutes for eight states. With χ(A) = det(s I - A) the response of the velocity to one input is
    (χ(A - b c) - χ(A))/χ(A) + d, so that no system of equations is solved at all; χ is had without divisions
    (Berkowitz). The equation is scaled so that the load stands in it as a force, with the values in force.

    Parameters
    ----------
    transfer
        The model; linear.
    symbols
        Of the parameters that stay letters.
    """
    import sympy as sp
    from sympy.polys.matrices import DomainMatrix
    from sympy.polys.polyerrors import CoercionFailed

    system = transfer.system
    values = {
        sp.Symbol(v.name): sp.Rational(repr(float(x or 0.0))) for v, x in system.parameters_by_var.items()
    }
    numbers = {p: x for p, x in values.items() if p not in symbols}
    field = sp.QQ.frac_field(*symbols)

    def over_field(X: Any) -> Any:
        # A root of numbers (a valve's) becomes a rational number of thirty digits.
        X = sp.nsimplify(X.subs(numbers), rational=True).replace(
            lambda e: e.is_Pow and e.is_number and not e.is_rational, lambda e: sp.Rational(str(e.evalf(30)))
        )
        try:
            return DomainMatrix.from_Matrix(X).convert_to(field)
        except (ValueError, CoercionFailed):
            raise InputError(
                f"the equation of motion is not linear in {', '.join(map(str, symbols))}; identify others"
            ) from None

    A, B, C, D = (over_field(X) for X in (system.A, system.B, system.C, system.D))
    n = A.shape[0]
    chi = A.charpoly()
    names = [v.name for v in system.input_vars]
    parts = [[*chi, field.zero]]  # the displacement is the velocity's integral: one power of s more
    for source in (transfer.command, transfer.load):
        j = names.index(source.name)
        b, c, d = B.extract(range(n), [j]), C.extract([0], range(n)), D.extract([0], [j]).to_Matrix()[0]
        direct = field.from_sympy(sp.sympify(d))
        changed = (A - b * c).charpoly()
        parts.append([y - x + direct * x for x, y in zip(chi, changed, strict=True)])
    s = sp.Symbol("s")
    rows = [sum(sp.sympify(field.to_sympy(x)) * s**k for k, x in enumerate(reversed(row))) for row in parts]
    below = sp.lcm_list([sp.fraction(sp.together(row))[1] for row in rows])
    polynomials = [sp.Poly(sp.cancel(row * below), s, *symbols) for row in rows]
    common = polynomials[0]
    for other in polynomials[1:]:
        common = sp.gcd(common, other)
    motion, command, load = (sp.Poly((x.quo(common)).as_expr(), s) for x in polynomials)
    felt = next(
        (x for x in reversed((load if load.as_expr() != 0 else command).all_coeffs()) if x != 0), sp.S.One
    )
    scale = abs(felt.subs(values)) or sp.S.One
    signs = {"motion": (motion, 1), "command": (command, -1), "load": (load, -1)}
    return {
        word: [sp.expand(sign * x / scale) for x in reversed(poly.all_coeffs())]
        for word, (poly, sign) in signs.items()
    }


def _sort(
    coefficient: Any,
    symbols: Sequence[Any],
    at: tuple[str, int],
    known: Terms,
    regressors: Sequence[Terms],
    names: Sequence[str],
) -> None:
    """Put what stands by each parameter, and what by none, in its place."""
    import sympy as sp

    poly = sp.Poly(coefficient, *symbols)
    if poly.total_degree() > 1:
        raise InputError(
            f"the equation of motion is not linear in {', '.join(names)} together (it contains "
            f"{poly.as_expr()}); identify fewer of them on line"
        )
    for powers, c in poly.terms():
        if c == 0:
            continue
        where = regressors[powers.index(1)] if 1 in powers else known
        where[at] = float(c)
