"""Physical halves that are no part of a cut: a model mounted at a port or on a bracket, or an FMU."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bondloop.bondgraph import INTERFACE, Model, One, Port, Zero, bond, name_or_kind
from bondloop.bondgraph.elements import SS, C, I, R, Se, check_number
from bondloop.devices import OdeSpecimen
from bondloop.engine.data import describable
from bondloop.engine.ir import Const, Expr, Var
from bondloop.errors import InputError, ModelError

if TYPE_CHECKING:
    from bondloop.engine import System


def mounted(specimen: Model | OdeSpecimen, port: str | None = None) -> Model:
    """Return a model as a physical half, as if it had been cut off at one of its ports.

    Parameters
    ----------
    specimen
        Any model with a port, or a specimen written as a differential equation. The half is a copy of it, so
        its parameters keep their paths.
    port
        Name of the port that the transfer system moves; not needed where there is only one. Every port of an
        `OdeSpecimen` is moved.

    Examples
    --------
    >>> from bondloop.rigs import Emulated, OrificeDamper
    >>> from bondloop.transfer import ServoHydraulic
    >>> rig = Emulated(mounted(OrificeDamper.standard()), ServoHydraulic())
    >>> len(rig.system().system.states)
    10
    """
    if isinstance(specimen, OdeSpecimen):
        return _on_every_port(specimen.model())
    if not isinstance(specimen, Model):
        raise ModelError(
            f"mounted: expected a model with a port, or an OdeSpecimen(); found {specimen!r:.60}"
        )
    ports = list(specimen.ports)
    if port is None and len(ports) == 1:
        port = ports[0]
    if port not in ports:
        found = f"its ports are {', '.join(ports)}" if ports else "it has no ports"
        asked = "name the port at which to mount" if port is None else f"there is no port '{port}' at"
        raise ModelError(f"{asked} {name_or_kind(specimen)}; {found}")
    half = specimen.copy()
    setattr(half, INTERFACE, SS())
    bond(getattr(half, INTERFACE), half.ports[port])
    return half


def _on_every_port(half: Model) -> Model:
    ends = [SS() for _ in half.ports]
    setattr(half, INTERFACE, ends if len(ends) > 1 else ends[0])
    for end, port in zip(ends, half.ports.values(), strict=True):
        bond(end, port)
    return half


def nothing_mounted() -> Model:
    """Return the physical half of an empty rig: its force is zero.

    >>> nothing_mounted().compile().inputs
    ('interface.flow',)
    """
    free = Model("nothing")
    free.end, free.v = Port(), One()
    free.end >> free.v >> R(damping=0.0)
    return mounted(free, "end")


@describable("model")
class OnBracket(Model):
    """A specimen between the transfer system and a bracket that is a mass on a spring and a dashpot.

    The transfer system moves the port ``rod`` by v. The specimen is stretched by v - v_b, where v_b is the
    velocity of the bracket, and its force moves the bracket::

        m dv_b/dt + 2 ζ ω m v_b + m ω² ∫v_b dt = F(v - v_b)

    So the specimen is moved less than the displacement transducer of the transfer system says, and resonates
    with the frame. What the specimen has of inertia counts with its motion relative to the bracket.

    Parameters
    ----------
    specimen
        A model with one port, such as `OrificeDamper`.
    mass
        Of the frame, as far as it moves, kg.
    frequency
        Of the frame without a specimen, Hz.
    damping
        Its damping ratio.

    Examples
    --------
    >>> from bondloop.rigs import OrificeDamper, mounted
    >>> half = mounted(OnBracket(OrificeDamper.standard(), mass="500 kg", frequency="40 Hz"))
    >>> f = abs(half.compile().linearise().poles().imag).max() / 6.283185
    >>> print(f"{f:.0f} Hz with the damper")
    56 Hz with the damper
    """

    def __init__(
        self, specimen: Model, mass: float | str, frequency: float | str, damping: float | str = 0.03
    ) -> None:
        super().__init__("on_bracket")
        part: object = specimen
        ports = list(part.ports) if isinstance(part, Model) else []
        if len(ports) != 1:
            raise ModelError(
                "OnBracket(specimen): expected a model with one port; found "
                + (f"ports {', '.join(ports)}" if ports else f"{specimen!r:.60}, which has none")
            )
        m = check_number(mass, "OnBracket(mass)", units=("kg",))
        omega = 2 * math.pi * check_number(frequency, "OnBracket(frequency)", units=("Hz",))
        ratio = check_number(damping, "OnBracket(damping)", units=("1",))
        if m <= 0 or omega <= 0 or ratio < 0:
            raise ModelError(
                "OnBracket: mass and frequency must be positive, the damping ratio at least 0; found "
                f"{m:g} kg, {omega / (2 * math.pi):g} Hz, {ratio:g}"
            )
        self.rod, self.force, self.v = Port(), Zero(), One()
        self.specimen = specimen.copy()
        self.mass, self.spring = I(mass=m), C(stiffness=m * omega**2)
        self.damper = R(damping=2 * ratio * omega * m)
        self.rod >> self.force >> self.v >> [self.mass, self.spring, self.damper]
        bond(self.force, self.specimen.ports[ports[0]])


class FmuSpecimen(Model):
    """The physical half of an emulated rig as an FMU for co-simulation (FMI 2.0 or 3.0).

    In every step of the rig the motion of the transfer system is given to the FMU and its force is read, at
    one instant; the force is held over the step, and the FMU takes one. What the load cell shows is the force
    of the rig's last step, too. So the rig should take small steps (``substeps``); the FMU takes the same.

    An FMU is a program: making this reads it, running the test runs it, with your rights. The check cannot
    linearise it, and rehearses instead.

    Parameters
    ----------
    path
        Of the FMU.
    force
        Its output for the force that moves the specimen, in N, as a load cell shows it; one for each
        interface.
    displacement, velocity
        Its inputs for the motion, in m and m/s; as many, or none of one of them.
    parameters
        Values of its parameters by name, set before the initialisation.

    Examples
    --------
    >>> FmuSpecimen("nowhere.fmu", force="F", displacement="x")
    Traceback (most recent call last):
    bondloop.errors.InputError: there is no FMU nowhere.fmu
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        force: str | Sequence[str],
        displacement: str | Sequence[str] = (),
        velocity: str | Sequence[str] = (),
        parameters: Mapping[str, float] | None = None,
    ) -> None:
        from bondloop.fmu import ForeignStep, read_fmu

        super().__init__("fmu_specimen")
        forces, displacements, velocities = map(_names, (force, displacement, velocity))
        self._count = count = len(forces)
        if not count or {len(displacements), len(velocities)} not in ({count}, {count, 0}):
            raise InputError(
                "FmuSpecimen: expected one force for each interface, and as many displacements, velocities "
                f"or both; found {count}, {len(displacements)} and {len(velocities)}"
            )
        fmu = read_fmu(path)
        inputs = [fmu.find(name, "input", "m") for name in displacements]
        inputs += [fmu.find(name, "input", "m/s") for name in velocities]
        outputs = [fmu.find(name, "output", "N") for name in forces]
        self._step = ForeignStep(fmu, inputs, outputs, parameters)
        self._places, self._speeds = bool(displacements), bool(velocities)
        ends = [SS(domain="translation") for _ in forces]
        self.motion = [One() for _ in forces]
        self.push = [Se(f"force[{i}]") for i in range(count)]
        setattr(self, INTERFACE, ends[0] if count == 1 else ends)
        for end, motion, push in zip(ends, self.motion, self.push, strict=True):
            bond(end, motion)
            bond(motion, push)

    @property
    def opaque(self) -> str:
        """What cannot be looked into: the FMU, by its file."""
        return f"the FMU {self._step.fmu.path.name}"

    def sources(self, system: System, prefix: str) -> list[Var]:
        """Return the inputs of a rig's equations that stand for the FMU's forces.

        Parameters
        ----------
        system
            The rig's equations.
        prefix
            Of the specimen's names.
        """
        by_name = dict(zip(system.inputs, system.input_vars, strict=True))
        return [by_name[f"{prefix}force[{i}]"] for i in range(self._count)]

    def driven(
        self,
        system: System,
        sources: Sequence[Var],
        displacements: Sequence[Expr],
        velocities: Sequence[Expr],
    ) -> System:
        """Return a rig's equations with the forces that the FMU gives at the beginning of each step.

        Parameters
        ----------
        system
            The rig's equations.
        sources
            The inputs that the forces take the place of.
        displacements, velocities
            Of the interfaces.
        """
        given = [*(displacements if self._places else ()), *(velocities if self._speeds else ())]
        number, clock = Var("rig.specimen.fmu.step"), Var("rig.specimen.fmu.time")
        states = dict(zip(system.state_vars, system.rate_exprs, strict=True))
        states |= {**dict.fromkeys(sources, Const(0.0)), number: Const(0.0), clock: Const(1.0)}
        values = self._step.calls(number, clock, given)
        return system.replaced(
            states=states,
            inputs=[u for u in system.input_vars if u not in sources],
            memories={**system.memories, **dict(zip(sources, values, strict=True)), number: number + 1.0},
            remarks=[*system.remarks, f"the specimen's force is computed by {self.opaque}"],
        )


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
