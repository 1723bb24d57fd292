"""A numerical half that is an FMU: forces in, velocities and displacements out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bondloop.bondgraph import INTERFACE, TRANSLATION, Model, One, bond
from bondloop.bondgraph.elements import SS, Sf
from bondloop.engine.ir import Const, Var
from bondloop.errors import InputError
from bondloop.fmu import ForeignStep, read_fmu

if TYPE_CHECKING:
    from typing import Any

    from bondloop.engine import System


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
