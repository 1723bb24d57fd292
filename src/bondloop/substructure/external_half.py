"""Numerical halves that are computed elsewhere: by a program that is given targets, or by an FMU."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from bondloop.bondgraph import INTERFACE, TRANSLATION, Model, One, bond
from bondloop.bondgraph.elements import SS, Function, MSf, Sf, SignalIntegrator
from bondloop.engine.data import NOT_NEGATIVE, POSITIVE, Range, describable, number
from bondloop.engine.ir import Const, Var
from bondloop.errors import InputError

if TYPE_CHECKING:
    from typing import Any

    from bondloop.bondgraph import Part
    from bondloop.engine import System


@describable("model")
class ExternalHalf(Model):
    """The numerical half of a test whose structure is computed elsewhere: OpenSees, a program of one's own.

    It stands where the numerical half of a cut stands. At each interface the desired motion x follows a
    *target*, which comes from outside, on a critically damped way that is never faster than ``speed``::

        x'' = ω² e - 2 ω x',    e = target - x, held within ±2 speed/ω

    It comes to rest at the target without passing it, however the target jumps, and nothing that comes from
    outside makes it faster, or leads it beyond ``stroke``: both are held in the tick itself. Actuator,
    controller, switches, interlock, limits and record are those of any test. `bondloop.interop` has what
    brings the targets and takes the forces away.

    Parameters
    ----------
    stroke
        Largest displacement that may be asked for, m. A target beyond it is refused.
    speed
        Largest speed of the way to a target, m/s.
    interfaces
        How many, at most four.
    frequency
        ω/2π of the way, Hz: the higher, the sooner it is there, and the more the actuator has to do. From
        rest to rest it is within a millionth after 2.7 of its periods.
    tolerance
        How near the measured displacement must come to the target, m; 1e-4 of the stroke if not given. What
        is missing, as where the specimen's force bends the rig, is added to the target.
    hold
        How long it rests before the force is read, as the mean over this time, s.
    patience
        How long a target may take to be reached, s; then the move has failed.
    stiffness
        Of the specimen as it is at first, N/m (a matrix for several interfaces): OpenSees' iterations want
        it. That of the emulated specimen if not given.

    Examples
    --------
    >>> import bondloop as bl
    >>> from bondloop.devices import GiuffreMenegottoPinto
    >>> from bondloop.rigs import Emulated, mounted
    >>> test = bl.HybridTest(
    ...     ExternalHalf(stroke="50 mm", speed="0.1 m/s"),
    ...     rig=Emulated(mounted(GiuffreMenegottoPinto()), bl.transfer.ServoHydraulic()),
    ...     controller=bl.control.Direct(),
    ...     excitation={},
    ...     rate="1 kHz",
    ... )
    >>> test.half.system.states
    ('numerical.displacement.value', 'numerical.velocity.value')
    """

    most_interfaces: ClassVar[int] = 4
    """Interfaces whose targets reach a loop on the clock within one cycle, as so many commands."""

    def __init__(
        self,
        stroke: float | str,
        speed: float | str,
        *,
        interfaces: int = 1,
        frequency: float | str = 10.0,
        tolerance: float | str | None = None,
        hold: float | str = 0.02,
        patience: float | str = 10.0,
        stiffness: float | str | Sequence[Sequence[float]] | None = None,
    ) -> None:
        super().__init__("external_half")
        if isinstance(interfaces, bool) or interfaces not in range(1, self.most_interfaces + 1):
            raise InputError(
                f"ExternalHalf(interfaces): expected a whole number from 1 to {self.most_interfaces}; "
                f"found {interfaces!r:.30}"
            )
        self._count = interfaces
        self.stroke = POSITIVE.check(stroke, "ExternalHalf(stroke)", "m")
        self.speed = POSITIVE.check(speed, "ExternalHalf(speed)", "m/s")
        self.frequency = POSITIVE.check(frequency, "ExternalHalf(frequency)", "Hz")
        near = 1e-4 * self.stroke if tolerance is None else tolerance
        self.tolerance = POSITIVE.check(near, "ExternalHalf(tolerance)", "m")
        self.hold = NOT_NEGATIVE.check(hold, "ExternalHalf(hold)", "s")
        self.patience = POSITIVE.check(patience, "ExternalHalf(patience)", "s")
        self.stiffness = _stiffness(stiffness, interfaces)
        parts = [self._way() for _ in range(interfaces)]
        for name, of in zip(
            ("target", "velocity", "displacement", "source", "motion"), zip(*parts, strict=True), strict=True
        ):
            setattr(self, name, of[0] if interfaces == 1 else list(of))
        ends = [SS(domain="translation") for _ in parts]
        setattr(self, INTERFACE, ends[0] if interfaces == 1 else ends)
        for (target, velocity, displacement, source, motion), end in zip(parts, ends, strict=True):
            bond(displacement, target)
            bond(velocity, target)
            bond(target, velocity)
            bond(velocity, displacement)
            bond(velocity, source)
            bond(source, motion)
            bond(motion, end)

    def _way(self) -> tuple[Part, ...]:
        """Return the parts of one interface; the target is a parameter, set while a test runs."""
        import sympy

        def acceleration(x: Any, v: Any, value: Any, omega: Any, speed: Any, stroke: Any) -> Any:
            wanted = sympy.Max(-stroke, sympy.Min(stroke, value))
            most = 2 * speed / omega
            return omega**2 * sympy.Max(-most, sympy.Min(most, wanted - x)) - 2 * omega * v

        omega = 2 * math.pi * self.frequency
        way = Function(
            acceleration,
            unit="m/s^2",
            ranges={"value": Range(least=-self.stroke, most=self.stroke, units=("m",))},
            value=0.0,
            omega=omega,
            speed=self.speed,
            stroke=self.stroke,
        )
        return way, SignalIntegrator(), SignalIntegrator(), MSf(), One()

    @property
    def targets(self) -> list[str]:
        """Paths of the targets in a test, one for each interface: parameters of its tick."""
        return [f"numerical.target{f'[{i}]' if self._count > 1 else ''}.value" for i in range(self._count)]


def _read(entry: float | str) -> float:
    return number(entry, "ExternalHalf(stiffness)", "N/m") if isinstance(entry, str) else entry


def _row(given: Sequence[float | str]) -> Sequence[float | str]:
    if isinstance(given, str):
        raise TypeError("a text is no row of numbers")
    return given


def _stiffness(given: float | str | Sequence[Sequence[float]] | None, count: int) -> list[list[float]] | None:
    """Return a stiffness as the rows of a matrix."""
    import numpy as np

    if given is None:
        return None
    if isinstance(given, (int, float, str)):
        given = [[POSITIVE.check(given, "ExternalHalf(stiffness)", "N/m")]]
    try:
        rows = np.array([[_read(k) for k in _row(row)] for row in given], dtype=float)
    except (TypeError, ValueError, OverflowError):
        rows = np.empty(0)
    if rows.shape != (count, count) or not np.isfinite(rows).all():
        raise InputError(
            f"ExternalHalf(stiffness): expected a matrix of {count} times {count} finite numbers, in N/m; "
            f"found {given!r:.60}"
        )
    answer: list[list[float]] = rows.tolist()
    return answer


class FmuHalf(Model):
    """The numerical half of a test as an FMU for co-simulation (FMI 2.0 or 3.0).

    It stands where the numerical half of a cut stands. In every tick the measured forces are given to the
    FMU, its motion is read, and it takes a step with the forces held. Between two ticks the velocity is held
    and the displacement goes on with it, as far as a controller looks into the step. Everything else of the
    test is as usual.

    An FMU is a program: making this reads it, running the test runs it, with your rights. The check cannot
    linearise it, and rehearses instead.

    Parameters
    ----------
    path
        Of the FMU.
    force
        Its input for the force that the structure exerts on the specimen, in N, as a load cell shows it; one
        for each interface.
    velocity, displacement
        Its outputs for the motion of the interface, in m/s and m; as many.
    excitations
        Further inputs of it, in SI units, which the test drives under the same names; they are held over a
        step.
    parameters
        Values of its parameters by name, set before the initialisation.

    Examples
    --------
    >>> FmuHalf("nowhere.fmu", force="F", velocity="v", displacement="x")
    Traceback (most recent call last):
    bondloop.errors.InputError: there is no FMU nowhere.fmu
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        force: str | Sequence[str],
        velocity: str | Sequence[str],
        displacement: str | Sequence[str],
        excitations: Sequence[str] = (),
        parameters: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__("fmu_half")
        forces, velocities, displacements = map(_names, (force, velocity, displacement))
        if not len(forces) == len(velocities) == len(displacements) > 0:
            raise InputError(
                "FmuHalf: expected one force, one velocity and one displacement for each interface; found "
                f"{len(forces)}, {len(velocities)} and {len(displacements)}"
            )
        from bondloop.fmu import ForeignStep, read_fmu

        fmu = read_fmu(path)
        inputs = [fmu.find(name, "input", "N") for name in forces]
        inputs += [fmu.find(name, "input", si=True) for name in _names(excitations)]
        outputs = [fmu.find(name, "output", "m/s") for name in velocities]
        outputs += [fmu.find(name, "output", "m") for name in displacements]
        self._step = ForeignStep(fmu, inputs, outputs, parameters)
        self._excitations = _names(excitations)
        self._count = count = len(forces)
        ends = [SS(domain="translation") for _ in forces]
        self.source = [Sf(f"velocity[{i}]") for i in range(count)]
        self.motion = [One() for _ in forces]
        setattr(self, INTERFACE, ends[0] if count == 1 else ends)
        for source, motion, end in zip(self.source, self.motion, ends, strict=True):
            bond(source, motion)
            bond(motion, end)

    @property
    def opaque(self) -> str:
        """What cannot be looked into: the FMU, by its file."""
        return f"the FMU {self._step.fmu.path.name}"

    def compile(self, *given: Any, **options: Any) -> System:
        """Return the equations: the motion is what the FMU says at the beginning of each tick.

        Parameters
        ----------
        *given, **options
            As of `Model.compile`.
        """
        system = super().compile(*given, **options)
        sources = [
            next(u for u in system.input_vars if u.name == f"velocity[{i}]") for i in range(self._count)
        ]
        efforts = [u for u in system.input_vars if u not in sources]
        driven = [Var(name) for name in self._excitations]
        number, clock = Var("fmu.tick"), Var("fmu.time")
        ends = getattr(self, INTERFACE)
        paths = [end.path for end in (ends if isinstance(ends, list) else [ends])]
        flows = [system.output_exprs[f"{path}.flow"] for path in paths]
        places = [Var(f"displacement[{i}]", quantity=TRANSLATION.displacement) for i in range(self._count)]
        values = self._step.calls(number, clock, [*efforts, *driven])
        zero = Const(0.0)
        return system.replaced(
            states={
                **dict.fromkeys(sources, zero),
                **dict(zip(places, flows, strict=True)),
                number: zero,
                clock: Const(1.0),
            },
            inputs=[*efforts, *driven],
            memories={**dict(zip([*sources, *places], values, strict=True)), number: number + 1.0},
            remarks=[*system.remarks, f"the motion is computed by {self.opaque}"],
        )


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
