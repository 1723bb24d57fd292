"""The limits by which a check judges, each with its unit, its default and the reason for it."""

# ruff: noqa: RUF009 - the defaults of limits are descriptors, one for a class

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from bondloop.engine.data import Parameter, Whole, checked_format, parsed, text_of
from bondloop.errors import InputError

POLICY_FILE = "check.toml"
"""Name of the file with a laboratory's limits, in the folder of its tests."""


class Limit(Parameter):
    """A number that a check judges by.

    Parameters
    ----------
    default
        Its value where a laboratory has none of its own.
    reason
        Why it is that value, in a sentence or two.
    least, most, above
        Bounds of what a laboratory may choose.
    unit
        What it measures, as an SI unit; ``"1"`` for a plain number.
    """

    def __init__(
        self,
        default: float | str,
        reason: str,
        *,
        least: float | None = None,
        most: float | None = None,
        above: float | None = None,
        unit: str = "1",
    ) -> None:
        super().__init__(default, least=least, most=most, above=above, unit=unit)
        self.reason = reason
        self.unit = unit

    @property
    def words(self) -> str:
        """What a laboratory may choose."""
        return str(self.range)


class Count(Whole):
    """A whole number that a check judges by.

    Parameters
    ----------
    default
        Its value where a laboratory has none of its own.
    reason
        Why it is that value, in a sentence or two.
    least, most
        Bounds of what a laboratory may choose.
    """

    unit = "1"

    def __init__(self, default: int, reason: str, *, least: int, most: int) -> None:
        super().__init__(default, least=least, most=most)
        self.reason = reason

    @property
    def words(self) -> str:
        """What a laboratory may choose."""
        return f"a whole number from {self.least} to {self.most}"


@dataclass(frozen=True)
class CheckPolicy:
    """The limits of a check.

    Parameters
    ----------
    off
        Error of motion or force, against the exact reference, from which the result is in doubt.
    lost
        Error of motion or force from which the result says nothing of the structure that is meant.
    used
        Part of a limit from which it is near.
    specimen_error
        Part by which the specimen may differ from its model.
    actuator_error
        Part by which an actuator may answer differently than its model, and do more than its data sheet says.
    sensor_error
        Part by which the gain of a sensor may be off.
    latency_error
        Samples by which the latency of the rig may be off.
    gain_margin
        Factor on the measured force, and on the specimen, below which a margin needs care.
    no_margin
        Part of force, stiffness or mass below which a linear loop has no margin at all.
    delay_margin
        Extra delay below which a margin needs care.
    delay_samples
        Extra delay below which a margin needs care, in samples; the longer of the two counts.
    no_delay
        Extra delay below which a linear loop has no margin at all.
    coarse
        Growth from one sample to the next from which the integration is unstable, not the loop.
    observed
        Time for which a disturbance must have been followed for its decay to be evidence, after it has gone
        once round the loop.
    hidden
        Ratio of a disturbance's last part to its first from which a linear loop has grown after all.
    ensemble
        Most rehearsals of an ensemble.
    confidence
        Confidence of the intervals of shares and exponents that are compared with limits.
    standing
        Part of the rehearsals with drawn errors of the plant that must stay within their limits.
    refused
        Part of them below which a test is refused.
    held_back
        Part of the run in which a drive may hold the command back.
    impulse
        Size of an impulse perturbation, against the run's own force.
    growth
        What a perturbation may become by the end of a run, against the run's own motion.
    sustained
        Motion that is left when the excitation has been held, against the run's own.
    excitation_margin
        Times the excitation that a test must stand.
    chatter
        Part of a force's power that may lie above the band of the motion.

    Examples
    --------
    >>> CheckPolicy(delay_margin="3 ms").changes()
    {'delay_margin': 0.003}
    """

    off: Limit = Limit(
        0.1,
        "Response spectra and damage measures differ by about as much as the error; scaling, the specimen's "
        "scatter and the sensors leave 10 % anyhow.",
        above=0, most=1,
    )  # fmt: skip
    lost: Limit = Limit(
        0.5,
        "With half of the motion wrong in amplitude or phase, what is tested is another structure.",
        above=0, most=10,
    )  # fmt: skip
    used: Limit = Limit(
        0.8,
        "Noise, another specimen or a warm day take the rest: repeated tests of one specimen scatter by 10 "
        "to 20 % in their peaks.",
        above=0, most=1,
    )  # fmt: skip
    specimen_error: Limit = Limit(
        0.1,
        "Stiffness and mass of a specimen are known to some 10 % before it is tested, which is why it is.",
        least=0, most=0.9,
    )  # fmt: skip
    actuator_error: Limit = Limit(
        0.1,
        "An identified actuator answers to some per cent as its model, and changes by as much with the "
        "temperature of its oil and the specimen it holds; no data sheet is exact to the last tenth.",
        least=0, most=0.9,
    )  # fmt: skip
    sensor_error: Limit = Limit(
        0.02,
        "Load cells and displacement sensors with their amplifiers are calibrated to 1 to 2 % of reading.",
        least=0, most=0.5,
    )  # fmt: skip
    latency_error: Limit = Limit(
        0.5,
        "Converters, networks and valve electronics run on clocks of their own, so that a delay is known to "
        "half a sample at best.",
        least=0, most=10,
    )  # fmt: skip
    gain_margin: Limit = Limit(
        1.25,
        "Errors of load cell, actuator and specimen add up to a quarter of the loop's gain on a bad day.",
        above=1, most=10,
    )  # fmt: skip
    no_margin: Limit = Limit(
        0.002,
        "Nobody knows a specimen or a load cell to 0.2 %. Of a loop that is not linear, margins are those of "
        "tangents, and its motion decides.",
        least=0, most=0.1,
    )  # fmt: skip
    delay_margin: Limit = Limit(
        2e-3,
        "One or two milliseconds are soon lost in a driver, a filter or a valve that has warmed up.",
        least=0, most=1, unit="s",
    )  # fmt: skip
    delay_samples: Limit = Limit(
        2.0,
        "A loop that misses one tick sends its command one sample late; sensor and driver add one more.",
        least=0, most=100,
    )  # fmt: skip
    no_delay: Limit = Limit(
        1e-5,
        "The jitter of a real-time kernel is 5 to 50 µs: no computer is more punctual than this.",
        least=0, most=1, unit="s",
    )  # fmt: skip
    coarse: Limit = Limit(
        2.0,
        "No loop that a rig could close doubles its motion within one sample; an explicit step that is too "
        "long for a stiff law does.",
        above=1, most=100,
    )  # fmt: skip
    observed: Limit = Limit(
        5.0,
        "The modes of a structure that is tested have periods up to some seconds; in a shorter time a "
        "disturbance of the slowest shows neither growth nor decay.",
        above=0, most=1000, unit="s",
    )  # fmt: skip
    hidden: Limit = Limit(
        3.0,
        "Motions of nearby frequencies that beat with one another come to twice their size; more is a mode "
        "whose eigenvalue is too close to 1 to be told from a position that nothing returns.",
        above=1, most=100,
    )  # fmt: skip
    ensemble: Count = Count(
        64,
        "64 rehearsals tell a share of 95 % from one of 85 % at 95 % of confidence, and take less than a "
        "second.",
        least=8, most=65536,
    )  # fmt: skip
    confidence: Limit = Limit(
        0.95, "The usual level of engineering statistics: one statement in twenty may be wrong.",
        least=0.5, most=0.9999,
    )  # fmt: skip
    standing: Limit = Limit(
        0.95,
        "A laboratory that meets all stated errors at once should lose at most one day in twenty.",
        above=0, most=1,
    )  # fmt: skip
    refused: Limit = Limit(
        0.5,
        "A test that is more likely to fail than to stand, where everything is as wrong as it may be, is not "
        "begun.",
        least=0, most=1,
    )  # fmt: skip
    held_back: Limit = Limit(
        0.002,
        "In two samples of a thousand the largest peak of a record may be cut; more is a drive that is too "
        "small.",
        least=0, most=1,
    )  # fmt: skip
    impulse: Limit = Limit(
        0.01,
        "Small enough that the run stays on its course and growth is that of the linearised motion, large "
        "enough to stand above rounding and quantisation.",
        above=0, most=1,
    )  # fmt: skip
    growth: Limit = Limit(
        0.1,
        "A disturbance that comes to a tenth of the run's own motion decides the result as an error of "
        "that size does.",
        above=0, most=10,
    )  # fmt: skip
    sustained: Limit = Limit(
        0.05,
        "A velocity or a force that goes on at a twentieth of the run's own is a loop that drives itself; "
        "below that the steps of converters and the stick-slip of seals are usual.",
        above=0, most=10,
    )  # fmt: skip
    excitation_margin: Limit = Limit(
        1.2,
        "Drives overshoot and specimens scatter by some 20 %, and the next record is rarely the weaker one.",
        least=1, most=10,
    )  # fmt: skip
    chatter: Limit = Limit(
        0.1,
        "A force of which a tenth of the power lies above the band of the motion wears a valve and says "
        "nothing of the specimen.",
        above=0, most=1,
    )  # fmt: skip

    def to_dict(self) -> dict[str, float]:
        """Return all limits by name, in SI."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def changes(self) -> dict[str, float]:
        """Return the limits that differ from the defaults, by name."""
        usual = CheckPolicy().to_dict()
        return {name: value for name, value in self.to_dict().items() if value != usual[name]}

    def __str__(self) -> str:
        units = {name: "" if limit.unit == "1" else f" {limit.unit}" for name, limit in limits().items()}
        usual = CheckPolicy().to_dict()
        changed = (
            f"{name} {value:g}{units[name]} (default {usual[name]:g})"
            for name, value in self.changes().items()
        )
        return ", ".join(changed) or "the default limits"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "") -> CheckPolicy:
        """Return the policy with some limits of a laboratory.

        Parameters
        ----------
        values
            By name: numbers in SI, or texts with units.
        where
            What the values come from, for errors.

        Examples
        --------
        >>> CheckPolicy.from_dict({"of": 0.2})
        Traceback (most recent call last):
        bondloop.errors.InputError: the check has no limit 'of'; it has off, lost, used, ...
        """
        known = limits()
        lead = f"{where}: " if where else ""
        for name in values:
            if name not in known:
                raise InputError(f"{lead}the check has no limit {name!r}; it has {', '.join(known)}")
        try:
            return cls(**values)
        except InputError as error:
            raise InputError(f"{lead}{error}") from None


DEFAULT = CheckPolicy()
"""The limits where a laboratory has none of its own."""


def limits() -> dict[str, Limit | Count]:
    """Return the limits of a policy by name: with unit, default, range and reason.

    Examples
    --------
    >>> limits()["delay_margin"].reason
    'One or two milliseconds are soon lost in a driver, a filter or a valve that has warmed up.'
    """
    return {f.name: vars(CheckPolicy)[f.name] for f in fields(CheckPolicy)}


def read_policy(path: str | Path) -> CheckPolicy:
    """Return the limits of a laboratory from its file, ``check.toml``.

    The file has one line a limit, ``delay_margin = "3 ms"``; those that it leaves out have their defaults.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, POLICY_FILE)
    ...     _ = file.write_text("used = 0.7")
    ...     read_policy(file).changes()
    {'used': 0.7}
    """
    try:
        document = parsed(text_of(path))
        checked_format(document)
    except InputError as error:
        words = str(error)
        raise InputError(words if words.startswith(str(path)) else f"{path}: {words}") from None
    return CheckPolicy.from_dict(document, str(path))
