"""The laboratory's channels without a test: looking at what is read, and moving one output slowly."""

from __future__ import annotations

import contextlib
import math
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.ir import Channel, Const, Expr, Meaning, Role, Tick, Var, function
from bondloop.errors import InputError
from bondloop.realtime.channels.channel import type_range
from bondloop.realtime.channels.sheet import shown_number
from bondloop.realtime.options import LoopOptions
from bondloop.realtime.process import LoopProcess
from bondloop.realtime.programs.build import LINKS, build_loop, drivers_for
from bondloop.realtime.summary import newest_measured, watched
from bondloop.realtime.supervision import interrupts
from bondloop.safety import cause_words
from bondloop.units import si_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.realtime.channels.channel import Channels, LabChannel
    from bondloop.realtime.ring import Ring, Status
    from bondloop.realtime.summary import Measured


@dataclass(frozen=True)
class Stroke:
    """A slow way of one output: there along a raised cosine, a rest, and back.

    Attributes
    ----------
    channel
        The output.
    to
        Where to, in SI units.
    way, hold
        Seconds of each way, and of the rest between them.
    """

    channel: LabChannel
    to: float
    way: float
    hold: float

    @property
    def seconds(self) -> float:
        """Of all of it."""
        return 2 * self.way + self.hold


def stroke_of(channel: LabChannel, to: float, hold: float = 1.0, gentle: float = 1.0) -> Stroke:
    """Return the way of an output to a place and back, no faster than it may go.

    A raised cosine of length d in T seconds is fastest half-way, at π/2 d/T.

    Parameters
    ----------
    channel
        An output with limits and a rate.
    to
        Where to, in SI units: within its limits.
    hold
        Seconds to stay there.
    gentle
        Seconds of a way at least, however short it is.

    Examples
    --------
    >>> from bondloop.realtime.channels import Calibration, LabChannel
    >>> x = LabChannel(
    ...     "command", "output", "mm", "V", "0", Calibration((0.0, 0.005)), least=-0.04, most=0.04, rate=0.01
    ... )
    >>> round(stroke_of(x, 0.02).way, 4)  # π/2 · 20 mm / (10 mm/s)
    3.1416
    """
    if channel.direction != "output":
        raise InputError(f"'{channel.name}' is no output: there is nothing to move")
    if not (math.isfinite(channel.least) and math.isfinite(channel.most) and channel.rate > 0):
        raise InputError(
            f"'{channel.name}' is moved only where its file says how far and how fast: "
            'limits = ["-5 mm", "5 mm"], rate = "1 mm/s"'
        )
    if math.isnan(channel.raw_of(to)):
        least, most = channel.reach
        raise InputError(
            f"'{channel.name}' may go from {shown_number(least, channel.unit)} to "
            f"{shown_number(most, channel.unit)}; found {shown_number(to, channel.unit)}"
        )
    if not (0 <= hold <= 3600):
        raise InputError(f"expected 0 to 3600 seconds there; found {hold:g}")
    return Stroke(channel, to, max(gentle, 0.5 * math.pi * abs(to - channel.rest) / channel.rate), hold)


@dataclass(frozen=True)
class Reading:
    """A channel's values over some time, in SI units.

    Attributes
    ----------
    mean, deviation
        Of the samples.
    samples
        How many.
    """

    mean: float
    deviation: float
    samples: int


@dataclass(frozen=True)
class Bench:
    """What is needed to reach the channels: no test, but the same loop, links and drivers.

    Parameters
    ----------
    lab
        The channels.
    link
        Where they are; as the file says if empty.
    rate
        Samples a second.
    drivers, libraries, includes
        As for `bondloop.realtime.run_realtime`.
    timeout
        Seconds to wait for the rig.
    look
        Seconds between looks.
    gentle
        Seconds of a way at least, however short it is.
    patience
        Seconds without news of the rig, or of standing still, that end an exercise.
    """

    lab: Channels
    link: str = ""
    rate: float = 100.0
    drivers: Sequence[Path] = ()
    libraries: Sequence[str] = ()
    includes: Sequence[Path] = ()
    timeout: float = 2.0
    look: float = 0.2
    gentle: float = 1.0
    patience: float = 0.5

    @property
    def url(self) -> str:
        """The link."""
        found = self.link or self.lab.link
        scheme = found.partition("://")[0]
        if not found:
            raise InputError(
                "the channels file has no link, and none was given: --link comedi:///dev/comedi0"
            )
        if scheme in LINKS:
            raise InputError(f"{scheme}:// carries values in SI units, and has no channels to look at")
        return found

    def watch(self, show: Callable[[Measured], None], seconds: float | None = None) -> Status:
        """Show what is read, until Ctrl-C or for some seconds; command nothing.

        Parameters
        ----------
        show
            Called five times a second with values in SI units and their units, by name.
        seconds
            How long.
        """
        with self._started(None) as loop, interrupts() as asked:
            return watched(loop, show, seconds, asked, self.look)

    def read(self, name: str, samples: int) -> Reading:
        """Return mean and deviation of a channel; command nothing.

        Parameters
        ----------
        name
            Of an input.
        samples
            How many to take.
        """
        channel = self.lab[name]
        if channel.direction == "output":
            raise InputError(f"'{name}' is an output: nothing is read there")
        shown = name if channel.direction == "input" else f"aux.{name}"
        values: list[float] = []
        with self._started(None) as loop, interrupts() as asked:
            index = loop.ring.names.index(shown)
            while loop.running and not asked and len(values) < samples:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    loop.wait(0.02)
                values += _fresh(loop.ring, index)
            loop.stop()
            loop.wait()
            if asked or len(values) < samples:
                raise InputError(f"'{name}' was not read: {'Ctrl-C' if asked else end_reason(loop.status())}")
        taken = np.array(values[:samples])
        expect_within(channel, taken)
        return Reading(float(taken.mean()), float(taken.std()), samples)

    def exercise(self, stroke: Stroke, show: Callable[[float, Measured], None]) -> Status:
        """Move one output slowly and back; Ctrl-C leads it to rest at once.

        Parameters
        ----------
        stroke
            The way.
        show
            Called five times a second with the command and what is read.
        """
        with self._started(stroke) as loop, interrupts(loop.stop):
            index = loop.ring.names.index(stroke.channel.name)
            loop.mailbox.start()
            while loop.running:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    loop.wait(self.look)
                if not loop.ring.written:
                    continue
                loop.ring.cursor = max(loop.ring.cursor, loop.ring.written - 1)
                rows = loop.ring.read()
                if len(rows):
                    loop.ring.cursor -= 1
                    show(float(rows["channels"][-1, index]), newest_measured(loop.ring))
            return loop.status()

    @contextlib.contextmanager
    def _started(self, stroke: Stroke | None) -> Iterator[LoopProcess]:
        url = self.url
        drivers, libraries = drivers_for(url.partition("://")[0], list(self.drivers), list(self.libraries))
        outputs = self.lab.outputs if stroke is None else [stroke.channel]
        if not outputs:
            raise InputError("the channels file has no output: there is no rig to look at")
        program = build_loop(
            self._tick(outputs, stroke),
            safe={c.name: c.rest for c in outputs},
            rate=math.inf if stroke is None else stroke.channel.rate,
            drivers=drivers,
            libraries=libraries,
            includes=self.includes,
            channels=self.lab,
        )
        with LoopProcess(program, self._options(url, stroke)) as loop:
            yield loop

    def _options(self, url: str, stroke: Stroke | None) -> LoopOptions:
        patience = max(20, round(self.rate * self.timeout))
        if stroke is None:
            return LoopOptions(
                url, start=False, machine=True, inactive=True, stale=patience, gap=60.0, timeout=self.timeout
            )
        c = stroke.channel
        whole = max(self.gentle, 0.5 * math.pi * (c.most - c.least) / c.rate)
        return LoopOptions(
            url,
            steps=math.ceil(stroke.seconds * self.rate) + 1,
            start=False,
            machine=True,
            approach=min(whole, 3600.0) if c.feedback else 0.0,
            retreat=min(max(self.gentle, 0.5 * math.pi * abs(stroke.to - c.rest) / c.rate), 3600.0),
            gap=self.patience,
            stale=max(20, round(self.patience * self.rate)),
            timeout=self.timeout,
        )

    def _tick(self, outputs: Sequence[LabChannel], stroke: Stroke | None) -> Tick:
        """Return the tick of a computer that leads one output along a stroke, or nothing anywhere."""
        t, k = Var("t"), Var("k")
        read = [c for c in self.lab.inputs if c.direction == "input"]
        sensed = tuple(Var(c.name) for c in read)
        channels: list[Channel] = []
        for i, c in enumerate(outputs):
            value: Expr = Const(c.rest) if stroke is None else _way(stroke, t)
            channels.append(Channel(c.name, value, si_unit(c.unit), Meaning(Role.COMMAND, interface=i)))
        told_by = {c.feedback: i for i, c in enumerate(outputs) if c.feedback}
        for v, c in zip(sensed, read, strict=True):
            place = told_by.get(c.name)
            seen = Meaning(Role.MEASURED, "displacement", "displacement", place)
            meaning = Meaning(Role.MEASURED) if place is None else seen
            channels.append(Channel(c.name, v, si_unit(c.unit), meaning))
        return Tick("bench", 1.0 / self.rate, t, k, sensed, {}, {}, (), tuple(channels), {}, sensed)


def _way(stroke: Stroke, t: Expr) -> Expr:
    def share(begin: float) -> Expr:
        return function("fmin", function("fmax", (t - begin) / stroke.way, 0.0), 1.0)

    phase = share(0.0) - share(stroke.way + stroke.hold)
    rest = stroke.channel.rest
    return rest + (stroke.to - rest) * 0.5 * (1.0 - function("cos", math.pi * phase))


def _fresh(ring: Ring, index: int) -> list[float]:
    rows = ring.read()
    rows = rows[(rows["cycle"] > 0) & (rows["flags"] & 1 > 0)]
    found: list[float] = rows["channels"][:, index].tolist()
    return found


def expect_within(channel: LabChannel, values: NDArray[np.float64]) -> None:
    """Refuse values of an auxiliary channel at the end of its range: it shows that end wherever it is beyond.

    Parameters
    ----------
    channel
        An input.
    values
        As read, in SI units.
    """
    least, most = channel.reach
    if channel.direction != "auxiliary" or (
        channel.type and type_range(channel.type) == (channel.low, channel.high)
    ):
        return  # one in the loop is not a number there, and a field holds nothing beyond its type
    near = 1e-9 * (most - least) if math.isfinite(most - least) else 0.0
    beyond = int(((values <= least + near) | (values >= most - near)).sum())
    if beyond:
        span = f"{shown_number(least, channel.unit)} to {shown_number(most, channel.unit)}"
        raise InputError(
            f"'{channel.name}' was at the end of its range, {span}, in {beyond} of {len(values)} samples: "
            "what it measures is not known; look at the sensor, or widen its range"
        )


def end_reason(status: Status) -> str:
    """Say why a loop ended, with the controller's own words where there are some."""
    words = f": {status.fault_words} (fault {status.cause_detail})" if status.fault_words else ""
    return f"{cause_words(status.cause)}{words}" if status.cause else "it was ended"
