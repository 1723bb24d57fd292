"""A rig that follows an external numerical half: where it should go in, what it answers with out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from bondloop.bondgraph import interfaces
from bondloop.engine.codegen import Runner
from bondloop.engine.data import number
from bondloop.errors import BondloopError, InputError
from bondloop.interop.protocol import Answer, RigFaultError
from bondloop.rehearsal import Run, origin, trip, why_stopped
from bondloop.results.records import GrowingRun
from bondloop.safety import cause_words
from bondloop.substructure import ExternalHalf, indexed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.codegen import Result
    from bondloop.hybrid import HybridTest


Channels = Mapping[str, "NDArray[np.float64]"]
"""What was recorded in some ticks, by the name of the channel."""


@dataclass(frozen=True)
class FollowingPolicy:
    """When a rig is at its target, and what is done until it is.

    Attributes
    ----------
    corrections
        How often what the rig is short of its target may be added to it.
    near
        Share of the tolerance within which the desired motion is at its target: the way there has ended.
    drift
        Share of the tolerance by which the measured displacement may still move while the rig rests.
    creep
        Or share of what it is short of its target: a servo's integral part may creep on for seconds.
    look
        Seconds between looks at the telemetry of a loop on the clock.
    silence
        Seconds without a tick after which a loop that says that it is active is not believed any more.
    """

    corrections: int = 30
    near: float = 0.1
    drift: float = 0.25
    creep: float = 0.02
    look: float = 5e-4
    silence: float = 5.0


def external_half(test: object) -> ExternalHalf:
    """Return the external numerical half of a test, or refuse the test.

    Parameters
    ----------
    test
        A `HybridTest`.
    """
    half = getattr(test, "numerical", None)
    if not isinstance(half, ExternalHalf) or not hasattr(test, "computer_tick"):
        raise InputError(
            f"'{getattr(test, 'name', test)}' has its numerical half in itself; a test that is coupled to "
            "another program has HybridTest(ExternalHalf(stroke=..., speed=...), ...)"
        )
    return half


class FollowingRig(ABC):
    """A test with an external numerical half, ready to be moved from outside.

    Its members are `RehearsedRig`, on no clock, and `ClockedRig`, a loop in real time. Both take the same
    targets, refuse the same ones, and end in the same safe state.

    Parameters
    ----------
    test
        A `HybridTest` with an `ExternalHalf`.

    Attributes
    ----------
    half
        The external half of the test.
    fault
        Why the rig cannot be moved any more, in a sentence; empty where it can.
    moves
        How often it was moved.
    protocol, led_by
        How another program speaks to it, and where that is; empty where it is moved from this one.

    Examples
    --------
    >>> from bondloop.interop import RehearsedRig
    >>> issubclass(RehearsedRig, FollowingRig)
    True
    """

    policy: ClassVar[FollowingPolicy] = FollowingPolicy()

    def __init__(self, test: HybridTest) -> None:
        self.half, self.test = external_half(test), test
        self.count = len(self.half.targets)
        self.fault = self.protocol = self.led_by = ""
        self.moves = 0
        self._offset = np.zeros(self.count)
        self._words = {
            word: indexed(f"{head}{word}", self.count)
            for head, word in (("", "force"), ("actual.", "displacement"))
        }
        self._desired = indexed("desired.displacement", self.count)

    def __repr__(self) -> str:
        said = self.fault or ("over" if self.over else f"{self.moves} moves")
        return f"<{type(self).__name__} of {self.test.name!r}: {said}>"

    @abstractmethod
    def _advance(self, targets: Mapping[str, float], seconds: float) -> tuple[Channels, float]:
        """Go on for a while with new targets; return what was recorded in it, and the time at its end.

        Where the rig has a fault, `_fail` is called, with the rig in its safe state already.
        """

    @abstractmethod
    def _leave(self) -> None:
        """Bring a rig that is sound to its safe position."""

    @abstractmethod
    def close(self) -> Run | None:
        """Bring the rig to rest, end the test, and return its run, as far as it was kept."""

    @property
    def over(self) -> bool:
        """Whether the test has ended by itself, or by its operator."""
        return False

    @property
    def stiffness(self) -> NDArray[np.float64]:
        """Of the specimen as it is at first, N/m: the external half's, or that of the emulated specimen."""
        given = self.half.stiffness
        return first_stiffness(self.test) if given is None else np.array(given)

    def check(self, displacements: Sequence[float]) -> list[float]:
        """Return displacements that the rig may be moved to, or refuse them; nothing moves.

        Parameters
        ----------
        displacements
            One for each interface, m.
        """
        wanted = [float(x) for x in displacements]
        if len(wanted) != self.count:
            raise InputError(f"found {len(wanted)} displacements; the rig has {self.count} interfaces")
        stroke = self.half.stroke
        for x in wanted:
            if not math.isfinite(x):
                raise InputError(f"found a displacement of {x}; the rig does not move to what is no number")
            if abs(x) > stroke:
                raise InputError(f"found a displacement of {x:.4g} m; the rig may move by ±{stroke:.4g} m")
        return wanted

    def move_to(self, displacements: Sequence[float], seconds: float | str | None = None) -> Answer:
        """Move the rig, and return what it answers with.

        Without `seconds` it goes to the displacements, rests, and reads the force: ramp and hold. With
        `seconds` it is on the way there for so long, and the force is the newest: in real time.

        Parameters
        ----------
        displacements
            One for each interface, m.
        seconds
            Of the rig's own test; None: until it is there.

        Raises
        ------
        InputError
            The displacements are none that it may be moved to. It stays where it is.
        RigFaultError
            It has come to its safe state; nothing but a new test moves it.
        """
        wanted = np.array(self.check(displacements))
        self._expect_sound()
        if seconds is not None:
            seconds = number(seconds, "seconds", "s")
            if not 0 <= seconds <= self.half.patience:
                raise InputError(
                    f"a step of {seconds:g} s was asked for; expected 0 to {self.half.patience:g} s, the "
                    "external half's patience"
                )
            channels, time = self._go(wanted, max(seconds, self.test.period))
            answer = self._answer(channels, time, newest=True)
        else:
            answer = self._ramp_and_hold(wanted)
        self.moves += 1
        return answer

    @property
    def served(self) -> dict[str, object]:
        """Who has moved it and how often, for its run file."""
        return {"served": {"protocol": self.protocol, "by": self.led_by, "moves": self.moves}}

    def _ramp_and_hold(self, wanted: NDArray[np.float64]) -> Answer:
        """Go there and rest, as often as the measured displacement asks for."""
        half = self.half
        rest = max(half.hold, self.test.period)
        spent, corrections = 0.0, 0
        while spent < half.patience:
            channels, time = self._go(wanted, rest)
            spent += rest
            if not self._rests(channels, wanted + self._offset):
                continue
            answer = self._answer(channels, time, newest=False)
            missing = wanted - np.array(answer.displacement)
            if np.abs(missing).max() <= half.tolerance:
                return answer
            before = self._offset
            self._offset = np.clip(before + missing, -half.stroke - wanted, half.stroke - wanted)
            corrections += 1
            if corrections > self.policy.corrections or np.array_equal(before, self._offset):
                break
        self._give_up(wanted)
        raise AssertionError

    def _go(self, wanted: NDArray[np.float64], seconds: float) -> tuple[Channels, float]:
        aimed = np.clip(wanted + self._offset, -self.half.stroke, self.half.stroke)
        channels, time = self._advance(dict(zip(self.half.targets, aimed.tolist(), strict=True)), seconds)
        self._expect_sound()
        return channels, time

    def _rests(self, channels: Channels, aimed: NDArray[np.float64]) -> bool:
        """Whether the desired motion was at its target all along, and the measured one does not drift."""
        half = self.half
        aimed = np.clip(aimed, -half.stroke, half.stroke)
        desired = np.array([channels[n] for n in self._desired])
        if np.abs(desired - aimed[:, None]).max() > self.policy.near * half.tolerance:
            return False
        measured = np.array([channels[n] for n in self._words["displacement"]])
        middle = measured.shape[1] // 2
        if not middle:
            return True
        # Before it has come to rest nothing is added to the target: that would pass it.
        drift = measured[:, middle:].mean(axis=1) - measured[:, :middle].mean(axis=1)
        missing = np.abs(aimed - self._offset - measured.mean(axis=1)).max()
        return bool(
            np.abs(drift).max() <= max(self.policy.drift * half.tolerance, self.policy.creep * missing)
        )

    def _answer(self, channels: Channels, time: float, *, newest: bool) -> Answer:
        def of(word: str) -> tuple[float, ...]:
            return tuple(float(channels[n][-1] if newest else channels[n].mean()) for n in self._words[word])

        return Answer(of("force"), of("displacement"), time)

    def _give_up(self, wanted: NDArray[np.float64]) -> None:
        half, shown = self.half, ", ".join(f"{x:.6g}" for x in wanted)
        at_stroke = np.abs(wanted + self._offset).max() >= half.stroke * (1 - 1e-9)
        remedy = "see tolerance, hold and patience of the external half"
        if at_stroke:
            remedy = (
                f"what was missing could not be added within ±{half.stroke:.4g} m: the stroke of the "
                "external half must exceed the largest target by what the specimen bends the rig"
            )
        self._leave()
        self._fail(
            f"the rig did not come within {half.tolerance:.3g} m of {shown} m in {half.patience:g} s or "
            f"{self.policy.corrections} corrections, and was brought to rest; {remedy}"
        )
        self._expect_sound()

    def _fail(self, why: str) -> None:
        """Note why the rig cannot be moved any more; the first reason counts."""
        self.fault = self.fault or why

    def _expect_sound(self) -> None:
        if self.fault:
            raise RigFaultError(self.fault)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def first_stiffness(test: HybridTest, omega: float = 1e-3) -> NDArray[np.float64]:
    """Return the static stiffness of the specimen at its initial state, one row an interface, N/m.

    Parameters
    ----------
    test
        The test.
    omega
        Where it is read off, in rad/s: slow enough for a static stiffness, without dividing by zero.

    Examples
    --------
    >>> import bondloop as bl
    >>> from bondloop.devices import GiuffreMenegottoPinto
    >>> from bondloop.rigs import Emulated, mounted
    >>> from bondloop.substructure import ExternalHalf
    >>> rig = Emulated(mounted(GiuffreMenegottoPinto(stiffness="2 MN/m")), bl.transfer.ServoHydraulic())
    >>> test = bl.HybridTest(
    ...     ExternalHalf("50 mm", "0.1 m/s"),
    ...     rig=rig,
    ...     controller=bl.control.Direct(),
    ...     excitation={},
    ...     rate=1000,
    ... )
    >>> print(f"{first_stiffness(test)[0, 0]:.4g}")
    2e+06
    """
    try:
        space = test.rig.physical.compile().linearise()
        response = space.frequency_response([omega])[0]
    except BondloopError as error:
        raise InputError(
            f"the stiffness of the specimen at its start is not known ({error}); give "
            "ExternalHalf(stiffness=...)"
        ) from error
    ends = [end.path for end in interfaces(test.rig.physical)]
    rows = [space.outputs.index(f"{path}.effort") for path in ends]
    columns = [space.inputs.index(f"{path}.flow") for path in ends]
    # A force per velocity; times the frequency it is one per displacement.
    answer: NDArray[np.float64] = (1j * omega * response[np.ix_(rows, columns)]).real
    if not np.isfinite(answer).all():
        raise InputError("the specimen has no stiffness at its start; give ExternalHalf(stiffness=...)")
    return answer


class RehearsedRig(FollowingRig):
    """The emulated rig of a test, moved from outside without a clock.

    Parameters
    ----------
    test
        A `HybridTest` with an `ExternalHalf`.
    record
        Run file to write, which must not exist; nothing is kept if not given.

    Examples
    --------
    >>> import bondloop as bl
    >>> from bondloop.devices import GiuffreMenegottoPinto
    >>> from bondloop.rigs import Emulated, mounted
    >>> from bondloop.substructure import ExternalHalf
    >>> test = bl.HybridTest(
    ...     ExternalHalf(stroke="50 mm", speed="0.1 m/s", tolerance="1 µm"),
    ...     rig=Emulated(mounted(GiuffreMenegottoPinto()), bl.transfer.ServoHydraulic()),
    ...     controller=bl.control.Direct(),
    ...     excitation={},
    ...     rate="1 kHz",
    ... )
    >>> with RehearsedRig(test) as rig:
    ...     answer = rig.move_to([0.002])
    >>> print(f"{1e3 * answer.displacement[0]:.2f} mm, {1e-3 * answer.force[0]:.2f} kN")
    2.00 mm, 4.00 kN
    """

    def __init__(self, test: HybridTest, *, record: str | Path | None = None) -> None:
        super().__init__(test)
        if test.tables:
            raise InputError(
                f"the signals {', '.join(test.tables)} are read from tables, which have an end; a test with "
                "an external numerical half goes on as long as that does"
            )
        self._tick = test.tick
        self._runner = Runner(self._tick)
        self._path = None if record is None else Path(record)
        self._file = None if self._path is None else self._begin(self._path)
        self._closed = False

    def _begin(self, path: Path) -> GrowingRun:
        tick = self._tick
        self._origin = origin()
        description = {**self.test.about(), "every": 1}
        return GrowingRun(
            path,
            {c.name: c.unit for c in tick.channels},
            {"step": "<i8"},
            rate=self.test.rate,
            description=description,
            attributes={"status": "recording", **self._origin},
            meanings={c.name: c.meaning for c in tick.channels},
        )

    def _advance(self, targets: Mapping[str, float], seconds: float) -> tuple[Channels, float]:
        result = self._execute(targets, math.ceil(seconds / self.test.period - 1e-9))
        tripped = trip(result.time, result.channels)
        if not result.finished:
            self._fail(f"{why_stopped(self._tick, result, self.test.remedies)}; nothing moves any more")
        elif tripped is not None:
            self._retreat(targets)
            self._fail(
                f"{cause_words(tripped[1])} at t = {tripped[0]:.4g} s; "
                "the rig was brought to its safe position"
            )
        return result.channels, self._runner.count * self.test.period

    def _leave(self) -> None:
        way = 2 * self.half.stroke / self.half.speed + 3 / self.half.frequency
        self._execute(dict.fromkeys(self.half.targets, 0.0), math.ceil(way / self.test.period))

    def _retreat(self, targets: Mapping[str, float]) -> None:
        """Execute the way to the safe position, which the interlock leads."""
        interlock = self.test.interlock
        if interlock is not None:
            seconds = float(interlock.release) + float(interlock.retreat)
            self._execute(targets, math.ceil(seconds / self.test.period) + 2)

    def _execute(self, targets: Mapping[str, float], ticks: int) -> Result:
        result = self._runner.run(ticks, parameters=targets)
        if self._file is not None:
            table = np.column_stack(list(result.channels.values()))
            steps = np.arange(self._runner.count - len(table), self._runner.count)
            self._file.append(result.time, table, {"step": steps})
            self._file.commit()
        return result

    def close(self) -> Run | None:
        """End the test; return its run, if it was recorded."""
        if self._closed or self._file is None or self._path is None:
            self._closed = True
            return None
        self._closed = True
        status = "stopped" if self.fault else "completed"
        steps = self._runner.count
        self._file.close(
            {
                "status": status, "message": self.fault, "steps": steps, "seed": self.test.seed,
                "backend": self._runner.backend, "files": [str(self._path)],
                **self._origin, **self.served,
            }
        )  # fmt: skip
        return Run.load(self._path)
