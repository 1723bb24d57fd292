"""Sensors: chains of imperfections with a unit, and ready-made ones with numbers from data sheets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.engine.data import Range, describable, number
from bondloop.errors import InputError
from bondloop.rigs.imperfections import (
    Chain,
    Imperfection,
    LowPass,
    Nonlinearity,
    Quantisation,
    WhiteNoise,
    checked,
)
from bondloop.units import known_unit

if TYPE_CHECKING:
    from bondloop.engine.ir import Expr
    from bondloop.engine.passes import Applied, Context


@dataclass(frozen=True)
class Sensor(Imperfection):
    """What stands between a quantity and the number that the controller reads.

    Parameters
    ----------
    imperfections
        In the order in which the signal passes them; none for an ideal sensor.
    unit
        Of the quantity: ``"N"``, ``"m"``. What it measures on a rig must be of that kind.

    Examples
    --------
    >>> sensor = Sensor((WhiteNoise("0.1 N"), Quantisation(16, range="500 N")), unit="N")
    >>> Sensor.from_description(sensor.describe()) == sensor
    True
    """

    imperfections: tuple[Imperfection, ...] = ()
    unit: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "imperfections", checked(self.imperfections, "Sensor(imperfections)"))
        if not isinstance(self.unit, str):
            raise InputError(f"Sensor(unit): expected a text, such as 'N'; found {self.unit!r}")
        known_unit(self.unit, "Sensor(unit)")
        super().__post_init__()

    def _value_units(self) -> dict[str, str]:
        parts = {f"imperfections[{i}]": part.value_unit for i, part in enumerate(self.imperfections)}
        return {name: unit for name, unit in {"unit": self.unit, **parts}.items() if unit}

    @property
    def last_event(self) -> float:
        """The last of its parts' events."""
        return Chain(self.imperfections).last_event

    @property
    def streams(self) -> int:
        """How many streams of random numbers its parts draw from."""
        return Chain(self.imperfections).streams

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the reading."""
        return Chain(self.imperfections).apply(value, context)


def checked_sensor(sensor: object, what: str) -> Sensor:
    """Return a sensor; refuse what is none, and say how to make one of it.

    >>> checked_sensor(WhiteNoise("1 N"), "sensor")
    Traceback (most recent call last):
    bondloop.errors.InputError: sensor: put imperfections into a sensor, Sensor((WhiteNoise(rms=1.0, ...
    """
    if isinstance(sensor, Sensor):
        return sensor
    parts = sensor if isinstance(sensor, (list, tuple)) else (sensor,)
    if parts and all(isinstance(part, Imperfection) for part in parts):
        words = f"put imperfections into a sensor, Sensor({tuple(parts)!r:.60})"
    else:
        words = f"expected a sensor, such as LoadCell() or Sensor((WhiteNoise('1 N'),)); found {sensor!r:.60}"
    raise InputError(f"{what}: {words}")


@describable("imperfection", remembered=False)
def LoadCell(
    range: float | str = "500 N",  # noqa: A002 - the word of data sheets
    noise: float | str | None = None,
    bits: int = 16,
    linearity: float | str = "0.15 %",
    bandwidth: float | str | None = None,
) -> Sensor:
    """Return a load cell with its amplifier and converter.

    The linearity of ±0.15 % of full scale is that of the RDP model 31 cells of Gawthrop et al. (2005),
    section 5, who also state hysteresis of ±0.15 % and non-repeatability of ±0.1 %; those are left out here.
    The noise is our assumption for a strain-gauge amplifier, not theirs.

    Parameters
    ----------
    range
        Full scale, N: it measures from -range to range.
    noise
        Rms noise, N; by default 0.02 % of full scale.
    bits
        Of the converter.
    linearity
        Largest deviation from a straight line, as a fraction of full scale.
    bandwidth
        Corner frequency of the amplifier, Hz; none by default.

    Examples
    --------
    >>> cell = LoadCell(range="1 kN", bits=12)
    >>> cell.unit, cell.imperfections[-1].resolution
    ('N', 0.48828125)
    """
    return _transducer("N", range, noise, 2e-4, bits, linearity, bandwidth)


@describable("imperfection", remembered=False)
def LVDT(
    range: float | str = "50 mm",  # noqa: A002 - the word of data sheets
    noise: float | str | None = None,
    bits: int = 16,
    linearity: float | str = "0.11 %",
    bandwidth: float | str | None = None,
) -> Sensor:
    """Return a displacement transducer with built-in conditioning, and its converter.

    The linearity of ±0.11 % of a full scale of 50 mm is that of the RDP DCT transducers of Gawthrop et al.
    (2005), section 5. The noise is our assumption, not theirs.

    Parameters
    ----------
    range
        Full scale, m: it measures from -range to range.
    noise
        Rms noise, m; by default 0.01 % of full scale.
    bits
        Of the converter.
    linearity
        Largest deviation from a straight line, as a fraction of full scale.
    bandwidth
        Corner frequency of the conditioning, Hz; none by default.

    Examples
    --------
    >>> LVDT().imperfections[0]
    Nonlinearity(error=0.0011, range=0.05)
    """
    return _transducer("m", range, noise, 1e-4, bits, linearity, bandwidth)


for _make, _unit in ((LoadCell, "N"), (LVDT, "m")):  # so that every fault of a file is told at once
    _measured = Range(units=(_unit,))
    _rules = {"range": _measured, "noise": _measured, "linearity": Range(units=("1",))}
    vars(_make)["_allowed"] = {**_rules, "bandwidth": Range(units=("Hz",))}


def _transducer(
    unit: str,
    span: float | str,
    noise: float | str | None,
    typical: float,
    bits: int,
    linearity: float | str,
    bandwidth: float | str | None,
) -> Sensor:
    full = number(span, "range", unit)
    noise = None if noise is None else number(noise, "noise", unit)
    parts: list[Imperfection] = [Nonlinearity(number(linearity, "linearity", "1"), full)]
    if bandwidth is not None:
        parts.append(LowPass(bandwidth))
    parts += [WhiteNoise(typical * full if noise is None else noise), Quantisation(bits, full)]
    return Sensor(tuple(parts), unit)
