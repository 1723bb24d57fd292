"""A mass with damper and spring, driven by a force or by a set point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bondloop.bondgraph import Model, One, Part, Port, units_of
from bondloop.bondgraph.elements import MC, C, I, Input, R, Se
from bondloop.engine.data import Range, describable, family_word, number
from bondloop.errors import InputError

family_word("R", "part", __name__)  # what stands for its friction in a file: a part


def _from_demand(q: Any, x_d: Any, stiffness: Any) -> Any:
    """Return the force of a spring whose far end is moved."""
    return stiffness * (q - x_d)


@describable("transfer")
class MassSpringDamper(Model):
    """Mass m with damper c and spring k to ground.

    With ``drive="force"`` the command is a force on the mass (Gawthrop 2005, Figure 5; Wagg 2001, Figure 4):
    ``m dv/dt + c v + k x = u - F``. With ``drive="position"`` it is the set point of the spring's far end
    (Gawthrop 2005, Figure 11): ``m dv/dt + c v + k x = k x_d - F``, so X/X_d = k / (m s^2 + c s + k).

    Parameters
    ----------
    m, c, k
        Mass in kg, damping in Ns/m, stiffness in N/m; numbers, texts with units or SymPy symbols.
    drive
        ``"force"`` or ``"position"``.
    velocity
        Initial velocity in m/s.
    friction
        A further resistor element beside the damper, such as ``bondloop.rigs.coulomb(...)``.
    """

    _allowed: ClassVar[Mapping[str, Any]] = {
        "m": Range(above=0, units=("kg",)),
        "c": Range(units=units_of("damping")),
        "k": Range(units=units_of("stiffness")),
        "velocity": Range(units=("m/s",)),
        "drive": ("force", "position"),
    }

    def __init__(
        self,
        m: Any,
        c: Any,
        k: Any,
        *,
        drive: str = "force",
        velocity: float | str = 0.0,
        friction: R | None = None,
    ) -> None:
        super().__init__("mass_spring_damper")
        self.v, self.out = One(), Port()
        mass = number(m, "MassSpringDamper(m)", "kg") if isinstance(m, str) else m
        speed = number(velocity, "MassSpringDamper(velocity)", "m/s")
        self.mass = I(mass=mass, initial=mass * speed if speed else 0.0)
        self.damper = R(damping=self._coefficient(c, "c"))
        if drive == "force":
            self.command: Part = Se("u")
            self.spring: Part = C(stiffness=self._coefficient(k, "k"))
            self.command >> self.v
        elif drive == "position":
            self.command = Input("x_d", unit="m")
            stiffness = number(k, "MassSpringDamper(k)", "N/m") if isinstance(k, str) else k
            self.spring = MC(
                _from_demand,
                ranges={"stiffness": Range(units=("N/m",))},
                stiffness=stiffness,
            )
            self.command >> self.spring
        else:
            raise InputError(f"drive must be 'force' or 'position'; found {drive!r}")
        self.v >> [self.mass, self.damper, self.spring, self.out]
        if friction is not None:
            self.friction = friction
            self.v >> self.friction

    def _coefficient(self, value: Any, name: str) -> Any:
        """Return a text with a unit as a number; what is refused is told by its name here."""
        what = f"MassSpringDamper({name})"
        return self._allowed[name].check(value, what) if isinstance(value, str) else value
