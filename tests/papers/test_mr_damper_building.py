"""The measured damper in its building: what is in the files, and what the test shows."""

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.identify import fit_time, read_data
from bondloop.identify.models.specimen_problem import MovedSpecimen
from bondloop.papers import mr_damper_building as building


@pytest.fixture(scope="module")
def runs():
    return {i: building.test(current=i).run(20) for i in (0.0, 1.0)}


def test_the_building_has_the_frequencies_of_its_matrices():
    # Without damper: M = 2 t I, K = k [[2, -1, 0], [-1, 2, -1], [0, -1, 1]].
    numerical, _ = building.model().cut(building.CUT)
    poles = numerical.compile().linearise().poles()
    found = np.sort(np.abs(poles[poles.imag > 0]))
    K = 6e5 * np.array([[2, -1, 0], [-1, 2, -1], [0, -1, 1]])
    assert found == pytest.approx(np.sqrt(np.linalg.eigvalsh(K / 2000.0)), rel=1e-9)


def test_the_damper_tells_every_record():
    known = MovedSpecimen(building.damper(), building.measurements())
    errors = [r.error(f) for r, f in zip(known.records, known.forces(), strict=True)]
    assert len(errors) == 10
    assert max(errors) < 0.095  # on the whole records, to which it was fitted, 0.086


def test_the_actuator_is_that_of_the_sweep():
    sweep = read_data(building.DATA / "chirp0A.csv").select(input="command", output="position")
    found, kept = fit_time(sweep.input, sweep.output, sweep.sample_period, "G1D").process, building.actuator()
    # Ten seconds of sixty are here, which tell the lag to 2 % and the delay to half a millisecond.
    assert found.gain == pytest.approx(kept.gain, rel=0.01)
    assert found.denominator[0] == pytest.approx(kept.denominator[0], rel=0.02)
    assert found.delay == pytest.approx(kept.delay, abs=5e-4)


def test_the_licence_is_beside_the_measurements():
    text = (building.DATA / "LICENSE-mequiroz.txt").read_text(encoding="utf-8")
    assert "MIT License" in text
    assert "mequiroz" in text


def test_the_rig_tests_the_building_that_is_meant(runs):
    for run in runs.values():
        numbers = building.findings(run)
        assert run.completed
        assert max(numbers[f"error_{i}_percent"] for i in (1, 2, 3)) < 3


def test_the_field_halves_the_drift(runs):
    drifts = [building.findings(run)["drift_1_mm"] for run in runs.values()]
    assert drifts[1] < 0.6 * drifts[0]
    assert building.findings(runs[1.0])["force_N"] > 5 * building.findings(runs[0.0])["force_N"]


def test_without_a_compensator_it_is_another_building():
    run = building.test(controller="none", noise=False).run(12)
    assert building.findings(run)["error_1_percent"] > 8


def test_unknown_controllers_are_refused():
    with pytest.raises(InputError, match=r"unknown controller 'invers'.*inverse"):
        building.test(controller="invers")
