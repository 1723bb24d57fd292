"""The serial PID controller of a servo-hydraulic actuator's inner loop (du Bois 2010, section 2.1)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph import Model
from bondloop.bondgraph.elements import Function, Integrator
from bondloop.engine.data import Described, Parameter, ranges_of
from bondloop.transfer.parts import clipped, unwound

if TYPE_CHECKING:
    from bondloop.bondgraph import Part


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
        self.filtered, self.integral = Integrator(), Integrator()
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
