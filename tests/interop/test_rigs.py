"""Rigs that follow: forces against the column's own law, faults, refusals; without a clock and on one."""

import threading
from pathlib import Path

import numpy as np
import pytest
from column_on_rig import COLUMN, column_test

import bondloop as bl
from bondloop.errors import InputError
from bondloop.integrate.structural import CentralDifference
from bondloop.interop import (
    RehearsedRig,
    RemoteRig,
    RigFaultError,
    Serving,
    run_pseudo_dynamic,
    serve_on_the_clock,
    serve_rehearsed,
)
from bondloop.interop.clocked_rig import ClockedRig
from bondloop.interop.following_rig import first_stiffness
from bondloop.papers import gawthrop_three_mass
from bondloop.realtime.session import prepare
from bondloop.rehearsal import Run
from bondloop.structures import Matrices

PATIENT = {"supervisor": 60.0}
"""The program that waits for the rig may be held up where the machine is shared."""
PATH = [0.002, 0.006, 0.01, 0.004, -0.01, 0.003, 0.0]
"""m: beyond yield at 5 mm, both ways, and back."""


def expected() -> np.ndarray:
    """Return the column's own forces along the path, computed without any rig."""
    return COLUMN.respond([0.0, *PATH], rate=100)[1:]


def test_forces_are_those_of_the_columns_law(rig: RehearsedRig) -> None:
    answers = [rig.move_to([x]) for x in PATH]
    measured = np.array([a.displacement[0] for a in answers])
    assert np.abs(measured - PATH).max() <= rig.half.tolerance
    # 0.1 µm at 2 MN/m is 0.2 N; turning points keep what was missing there.
    assert np.abs([a.force[0] for a in answers] - expected()).max() < 2.0


def test_the_first_stiffness_is_the_columns() -> None:
    assert first_stiffness(column_test()) == pytest.approx(np.array([[2e6]]), rel=1e-6)


def test_a_step_in_time_is_as_long_as_it_was_asked_for(rig: RehearsedRig) -> None:
    first = rig.move_to([0.001], seconds=0.01)
    second = rig.move_to([0.001], seconds=0.01)
    assert second.time - first.time == pytest.approx(0.01)
    assert 0 < first.displacement[0] < second.displacement[0] < 0.001


@pytest.mark.parametrize("wanted", [[np.nan], [np.inf], [0.0201], [-1e300], [], [0.0, 0.0]])
def test_what_it_may_not_be_moved_to_is_refused_and_nothing_moves(
    rig: RehearsedRig, wanted: list[float]
) -> None:
    ticks = rig._runner.count
    with pytest.raises(InputError):
        rig.move_to(wanted)
    with pytest.raises(InputError):
        rig.move_to([0.001], seconds=-1.0)
    assert rig._runner.count == ticks
    assert rig.move_to([0.001]).force[0] == pytest.approx(2000, rel=1e-3)


def test_a_trip_brings_it_to_its_safe_position_for_good(tmp_path: Path) -> None:
    rig = RehearsedRig(column_test(force=5e3), record=tmp_path / "run.h5")
    assert rig.move_to([0.002]).force[0] == pytest.approx(4000, rel=1e-3)
    with pytest.raises(RigFaultError, match="the measured force went beyond its limit"):
        rig.move_to([0.004])
    with pytest.raises(RigFaultError, match="the measured force went beyond its limit"):
        rig.move_to([0.0])
    run = rig.close()
    assert run is not None
    assert not run.completed
    assert run.trip is not None
    assert run["command"][-1] == 0.0
    assert abs(run["actual.displacement"][-1]) < 1e-5
    assert rig.close() is None


def test_what_cannot_be_reached_is_a_fault() -> None:
    """10 mm at 50 mm/s take longer than 0.05 s."""
    test = column_test(patience=0.05)
    with RehearsedRig(test) as rig, pytest.raises(RigFaultError, match="did not come within"):
        rig.move_to([0.01])


def test_a_target_so_near_the_stroke_that_nothing_can_be_added_says_so() -> None:
    """The column yields at 10 kN, and the servo of 50 MN/m is bent by 0.2 mm: the stroke leaves 0.05 mm."""
    with RehearsedRig(column_test(tolerance=1e-5)) as rig:
        rig.move_to([0.0195])
        with pytest.raises(RigFaultError, match="stroke of the external half must exceed"):
            rig.move_to([0.01995])
    with RehearsedRig(column_test(stroke=0.021, tolerance=1e-5)) as rig:
        assert rig.move_to([0.01995]).displacement[0] == pytest.approx(0.01995, abs=1e-5)


def test_other_tests_are_refused() -> None:
    with pytest.raises(InputError, match="has its numerical half in itself"):
        RehearsedRig(gawthrop_three_mass.test())


def test_a_pseudo_dynamic_test_moves_it() -> None:
    """Its scheme here, the column there: as the same test with the column in its own tick."""
    spring = column_test()
    linear = bl.rigs.Specimen.from_matrices(Matrices([[0.0]], None, [[2e6]], ("top",)), "top")
    test = bl.PseudoDynamicTest(
        Matrices([[1e4]], [[4e3]], [[1e6]], ("top",)),
        scheme=CentralDifference(),
        rig=bl.rigs.RampHold(linear),
        interface="top",
        excitation={"top": bl.signals.Sine(500.0, frequency=2.0)},
        time_step=0.01,
    )
    with RehearsedRig(spring) as rig:  # the column does not yield at these displacements
        run = run_pseudo_dynamic(test, 1.0, rig)
    model = test.run(1.0)
    largest = np.abs(model["desired.displacement"]).max()
    assert 1e-4 < largest < 1e-3
    assert np.abs(run["desired.displacement"] - model["desired.displacement"]).max() < 1e-3 * largest


@pytest.mark.realtime
def test_on_the_clock_it_answers_the_same_and_is_recorded(tmp_path: Path) -> None:
    test = column_test(tolerance=1e-6)
    made = prepare(test, 1.0, open_end=True, options=PATIENT)
    forces: list[float] = []

    def companion(telemetry: str) -> None:
        rig = ClockedRig(made.test, telemetry)
        with pytest.raises(InputError, match="may move by"):
            rig.move_to([1.0])
        forces.extend(rig.move_to([x]).force[0] for x in PATH)
        rig.close()

    run = made.run(record=tmp_path / "run.h5", companion=companion)
    assert run.completed
    assert np.abs(np.array(forces) - expected()).max() < 20
    assert np.abs(run["actual.displacement"]).max() == pytest.approx(0.01, rel=1e-3)


@pytest.mark.realtime
def test_a_trip_on_the_clock_is_told_and_ends_in_the_safe_state() -> None:
    said: list[str] = []
    words: list[str] = []
    test = column_test(force=5e3, tolerance=1e-6)
    made = prepare(test, 1.0, open_end=True, options=PATIENT)

    def companion(telemetry: str) -> None:
        rig = ClockedRig(made.test, telemetry)
        try:
            rig.move_to([0.004])
        except RigFaultError as error:
            words.append(str(error))
        rig.close()

    run = made.run(companion=companion)
    assert not run.completed
    assert "the measured force went beyond its limit" in words[0]
    assert not said


@pytest.mark.realtime
def test_what_serves_on_the_clock_ends_when_it_is_told_to() -> None:
    run, fault = serve_on_the_clock(column_test(tolerance=1e-6), Serving(stop=lambda: True))
    assert run.completed
    assert fault == ""
    assert run.record.attributes["cause_words"] == "no program moved the rig any more"


@pytest.mark.realtime
def test_what_the_loop_refuses_to_set_is_a_fault_that_says_so() -> None:
    made = prepare(column_test(tolerance=1e-6), 1.0, open_end=True, options=PATIENT)
    faults: list[str] = []

    def companion(telemetry: str) -> None:
        with ClockedRig(made.test, telemetry) as rig:
            rig._advance({"controller.gain": 2.0}, 0.01)  # no parameter that this test lets be changed
            faults.append(rig.fault)

    made.run(companion=companion)
    assert faults[0].startswith("the loop refuses controller.gain = 2: the test does not let this parameter")


class Program:
    """Moves the rig that a `Serving` offers, in a thread of its own."""

    def __init__(self, *moves: float) -> None:
        self.moves, self.said, self.answers = moves, list[str](), list[str]()
        self.thread: threading.Thread | None = None

    def hear(self, sentence: str) -> None:
        """Begin once the server says where it listens."""
        self.said.append(sentence)
        if sentence.endswith(": listening"):
            address = sentence.split(" at ")[1].removesuffix(": listening")
            self.thread = threading.Thread(target=self.move, args=(address,))
            self.thread.start()

    def move(self, address: str) -> None:
        """Move, and note what was answered."""
        with RemoteRig(address) as remote:
            for x in self.moves:
                try:
                    self.answers.append(f"{remote.move_to([x]).force[0]:.0f} N")
                except RigFaultError as error:
                    self.answers.append(str(error))


@pytest.mark.realtime
def test_a_run_that_a_fault_of_the_rig_ended_is_not_recorded_as_completed(tmp_path: Path) -> None:
    program = Program(0.001, 0.015)
    serving = Serving(protocol="plain", say=program.hear)
    test = column_test(speed=0.01, patience=1.0, tolerance=1e-6)  # 14 mm at 10 mm/s take longer
    run, fault = serve_on_the_clock(test, serving, tmp_path / "run.h5")
    assert program.thread is not None
    program.thread.join(60)
    assert "did not come within" in program.answers[1]
    for told in (run, Run.load(tmp_path / "run.h5")):
        attributes = told.record.attributes
        assert (attributes["status"], attributes["message"]) == ("stopped", fault)
        assert attributes["cause_words"] == fault
        assert attributes["served"]["moves"] == 1


@pytest.mark.parametrize(("host", "warns"), [("127.0.0.1", False), ("localhost", False), ("0.0.0.0", True)])
def test_where_other_machines_reach_it_it_warns(rig: RehearsedRig, host: str, warns: bool) -> None:
    said: list[str] = []
    Serving(host=host, say=said.append, stop=lambda: True).offer(rig)
    assert any("the packets have no key" in line for line in said) is warns


def test_a_served_rehearsal_says_who_led_it_and_when(tmp_path: Path) -> None:
    program = Program(0.001, -0.001)
    serving = Serving(protocol="plain", say=program.hear)
    run, fault = serve_rehearsed(column_test(), serving, tmp_path / "run.h5")
    assert run is not None
    assert fault == ""
    attributes = run.record.attributes
    assert {"created", "versions"} <= attributes.keys()
    assert attributes["served"]["protocol"] == "plain over UDP"
    assert attributes["served"]["moves"] == 2
    assert any(attributes["served"]["by"] in line for line in program.said)
