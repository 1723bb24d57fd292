"""Parts of actuators: what clips a command, the friction of guides, the serial PID controller."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph import Model
from bondloop.bondgraph.elements import Function, R, SignalIntegrator
from bondloop.engine.data import NOT_NEGATIVE, POSITIVE, Described, Parameter, Range, ranges_of

if TYPE_CHECKING:
    from bondloop.bondgraph import Part


def clipped(value: Any, limit: Any = 1) -> Any:
    """Return a SymPy expression limited to ±limit."""
    import sympy as sp

    return sp.Max(sp.Min(value, limit), -limit)


def unwound(error: Any, total: Any, output: Any, limited: Any) -> Any:
    """Return what to integrate in a controller u = K (e + I/T) whose output may be limited.

    With total = e + I/T it is e - (u - limited)/K, the back-calculation of Fertik and Ross (1967): e while
    nothing is limited, otherwise what leads I to where the output leaves its limit. It is continuous, where
    stopping the integral would chatter, and it is written with the ratio of limited to output, so that the
    gain is not needed a second time.
    """
    import sympy as sp

    tiny = 1e-12
    return error - total * (1 - (sp.Abs(limited) + tiny) / (sp.Abs(output) + tiny))


def guide_friction(viscous: Any, coulomb: Any, width: Any) -> R:
    """Return viscous flow + coulomb tanh(flow/width).

    The width, a velocity, keeps the slope at rest finite: viscous + coulomb/width. Divided by the moving mass
    it is a rate that the integrator's step must resolve.
    """
    ranges = {
        "viscous": NOT_NEGATIVE & Range(units=("N s/m",)),
        "coulomb": NOT_NEGATIVE & Range(units=("N",)),
        "width": POSITIVE & Range(units=("m/s",)),
    }
    return R(_law, ranges=ranges, viscous=viscous, coulomb=coulomb, width=width)


def _law(flow: Any, viscous: Any, coulomb: Any, width: Any) -> Any:
    import sympy as sp

    return viscous * flow + coulomb * sp.tanh(flow / width)


@dataclass(frozen=True)
class _PID(Described, family="inner_loop"):
    """Base of inner-loop controllers."""


@dataclass(frozen=True)
class SerialPID(_PID):
    """Gains of u = K_P (1 + K_I/s) (1 + K_D s/(T_f s + 1)) e, as du Bois 2010 states them.

    The paper's Figure 2, the diagram of the controller, is not part of the text; this is the usual serial (or
    interacting) form, to which the units of the gains point: K_P in dB, K_I in 1/s, K_D in s. The error e is
    a fraction of the full stroke and the output u one of the full valve drive, limited to ±1; so K_P is a
    plain number, and 30 dB opens the valve fully at 1/31.6 of the stroke.

    Parameters
    ----------
    proportional
        K_P in dB. Here and below: the gains of du Bois 2010, section 3.1, tuned with the damper in place.
    integral
        K_I in 1/s. While the output is at its limit the integral does not wind up.
    derivative
        K_D in seconds.
    filter
        Time constant T_f of the derivative in seconds. Not in the paper; without one a step would be a pulse.

    Examples
    --------
    >>> SerialPID.untuned().derivative, round(SerialPID().gain, 2)
    (0.0, 31.62)
    """

    proportional: Parameter = Parameter(30.0, unit="1")
    integral: Parameter = Parameter(0.2, least=0, unit="1/s")
    derivative: Parameter = Parameter(3.6e-3, least=0, unit="s")
    filter: Parameter = Parameter(5e-4, above=0, unit="s")

    @classmethod
    def untuned(cls) -> SerialPID:
        """Return the gains of du Bois 2010, section 2.1: 30 dB, 0.5 1/s, no derivative."""
        return cls(30.0, 0.5, 0.0)

    @property
    def gain(self) -> float:
        """K_P as a plain number."""
        return float(10 ** (self.proportional / 20))


class PIDModel(Model):
    """The controller's signals: bond the error to ``slope`` and ``lead`` (first); take ``drive``.

    Parameters
    ----------
    gains
        Its gains.
    linear
        True leaves out the limit of the drive.
    """

    def __init__(self, gains: SerialPID, *, linear: bool = False) -> None:
        super().__init__("serial_pid")
        self.slope = Function(_slope, unit="1/s", ranges=ranges_of(SerialPID, "filter"), filter=gains.filter)
        self.filtered, self.integral = SignalIntegrator(), SignalIntegrator()
        ranges = ranges_of(SerialPID, "derivative")
        self.lead = Function(_lead, unit="", ranges=ranges, derivative=gains.derivative)
        ranges = ranges_of(SerialPID, "integral")
        self.total = Function(_total, unit="", ranges=ranges, integral=gains.integral)
        self.output = Function(_output, unit="", proportional=gains.proportional)
        self.gate, self.drive = (
            Function(_same if linear else unwound, unit=""),
            Function(_same if linear else clipped, unit=""),
        )
        self._linear = linear

    def take(self, error: Part) -> None:
        """Bond the error to the controller, and the controller's parts to each other."""
        error >> self.slope
        self.filtered >> self.slope >> self.filtered
        error >> self.lead
        self.slope >> self.lead >> self.total
        self.integral >> self.total >> self.output >> self.drive
        self.lead >> self.gate >> self.integral
        if not self._linear:
            [self.total, self.output, self.drive] >> self.gate


def _slope(error: Any, filtered: Any, filter: Any) -> Any:  # noqa: A002 - the parameter's name in the path
    return (error - filtered) / filter


def _lead(error: Any, slope: Any, derivative: Any) -> Any:
    return error + derivative * slope


def _total(lead: Any, integrated: Any, integral: Any) -> Any:
    return lead + integral * integrated


def _output(total: Any, proportional: Any) -> Any:
    return 10 ** (proportional / 20) * total


def _same(value: Any) -> Any:
    return value
