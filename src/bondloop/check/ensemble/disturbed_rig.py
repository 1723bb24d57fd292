"""A test whose sensors and drives can be disturbed while it runs, each rehearsal of a batch otherwise.

What is added are parts of the signal path, as noise and play are, with parameters: a gain and an impulse on
each measured force, an opening of the force loop before the sensor, a late and unpunctual command. With the
values that they have by themselves they change nothing, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bondloop.engine.ir import Const, Expr, Op, function, select
from bondloop.engine.passes import Applied, Context, Statements, applied_of
from bondloop.rigs import Imperfection, Sensor

if TYPE_CHECKING:
    from bondloop.hybrid import Checkable


class _Inserted(Imperfection):
    """A part that stands in a signal path for the check only."""


@dataclass(frozen=True)
class _Opened(_Inserted):
    """A sensor's first part behind a loop that can be opened: with ``closed`` at 0 it reads no force."""

    part: Imperfection | None = None

    @property
    def streams(self) -> int:
        """Those of the part."""
        return 0 if self.part is None else self.part.streams

    @property
    def last_event(self) -> float:
        """That of the part."""
        return 0.0 if self.part is None else self.part.last_event

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return what the part makes of the value times ``closed``."""
        body = Statements(f"{context.name}.ensemble")
        closed = body.var("closed")
        body.parameters[closed] = 1.0
        seen: Expr = body.put("seen", closed * value)
        if self.part is not None:  # in its own context, so that its names and its noise stay as they are
            seen = body.add(applied_of(self.part, "apply", seen, context))
        return body.applied(seen)


@dataclass(frozen=True)
class _Gain(_Inserted):
    """A wrong gain."""

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return gain * value."""
        body = Statements(f"{context.name}.ensemble")
        gain = body.var("gain")
        body.parameters[gain] = 1.0
        return body.applied(gain * value)


@dataclass(frozen=True)
class _Disturbed(_Inserted):
    """A wrong gain, and an impulse of some size from one sample on until another."""

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return gain * value + impulse."""
        body = Statements(f"{context.name}.ensemble")
        gain, impulse, first, last = (body.var(w) for w in ("gain", "impulse", "first", "last"))
        body.parameters.update({gain: 1.0, impulse: 0.0, first: 0.0, last: 0.0})
        during = Op("and", (context.count >= first, context.count < last))
        return body.applied(body.put("force", gain * value + select(during, impulse, Const(0.0))))


@dataclass(frozen=True)
class _Late(_Inserted):
    """A command that comes later by up to some samples, linear between them, and not punctually.

    It can also come earlier, by less than a sample, in a straight line through the last two. The lateness is
    ``late + jitter * w``, with w from 0 to 1 by Weyl's sequence, which visits all parts of a sample evenly.
    """

    samples: int = 2

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the command as it was that much earlier."""
        body = Statements(f"{context.name}.ensemble")
        late, jitter = body.var("late"), body.var("jitter")
        body.parameters.update({late: 0.0, jitter: 0.0})
        turn = context.count * Const((5**0.5 - 1) / 2)
        by = body.put("by", late + jitter * (turn - function("floor", turn)))
        older = [body.state(f"older[{i}]") for i in range(self.samples)]
        after, before = function("fmax", by, Const(0.0)), function("fmin", by, Const(0.0))
        total: Expr = before * (older[0] - value)
        for i, v in enumerate([value, *older]):
            total = total + function("fmax", Const(0.0), 1.0 - function("fabs", after - float(i))) * v
        command = body.put("command", total)
        body.update(dict(zip(older, [value, *older], strict=False)))
        return body.applied(command)


def disturbable(test: Checkable, samples: int) -> Checkable:
    """Return a test with parts in its signal paths that can disturb it; the same where it has no such paths.

    Parameters
    ----------
    test
        The test.
    samples
        By how many samples a command can be late.
    """
    rig: Any = getattr(test, "rig", None)
    if getattr(test, "coupling", "sampled") == "continuous" or rig is None:
        return test
    replaced: Any = test.replaced
    if hasattr(rig, "sensor"):  # of a pseudo-dynamic test: one for all forces
        return replaced(rig=replace(rig, sensor=_watched(rig.sensor)))  # type: ignore[no-any-return]
    sensors = dict(rig.sensors)
    sensors["force"] = _watched(sensors.get("force"))
    for word in ("displacement", "velocity"):
        if word in sensors:
            sensors[word] = replace(sensors[word], imperfections=(*sensors[word].imperfections, _Gain()))
    drive = (*rig.drive, _Late(samples))
    return replaced(rig=replace(rig, sensors=sensors, drive=drive))  # type: ignore[no-any-return]


def _watched(sensor: Sensor | None) -> Sensor:
    """Return a sensor of force that can be opened before and disturbed behind."""
    parts: Sequence[Imperfection] = () if sensor is None else sensor.imperfections
    first, rest = (parts[0], parts[1:]) if parts else (None, ())
    return Sensor((_Opened(first), *rest, _Disturbed()), "" if sensor is None else sensor.unit)


def inserted(names: Sequence[str], word: str) -> list[str]:
    """Return the parameters of a disturbance, by their word, of all paths in their order.

    Parameters
    ----------
    names
        Of all parameters of the tick.
    word
        ``"gain"``, ``"impulse"``, ``"first"``, ``"last"``, ``"closed"``, ``"late"`` or ``"jitter"``.

    Examples
    --------
    >>> inserted(["rig.m.mass", "measured.force.1.ensemble.gain"], "gain")
    ['measured.force.1.ensemble.gain']
    """
    return [n for n in names if n.endswith(f".ensemble.{word}")]
