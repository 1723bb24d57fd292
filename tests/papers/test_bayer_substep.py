"""Bayer, Dorka and Füllekrug 2000: Table 2, the findings, and the map of stability, two ways."""

import numpy as np
import pytest

from bondloop.engine.analysis.spectrum.linear_step import one_step
from bondloop.engine.codegen import Runner
from bondloop.hybrid import HybridTest
from bondloop.papers import bayer_substep as paper
from bondloop.rigs import ShakingTable, Specimen
from bondloop.studies.grid_study import simulated_stability


def test_table_2_follows_from_table_1():
    for name, (frequencies, ratios) in paper.table_2().items():
        printed_frequencies, printed_ratios = paper.TABLE_2[name]
        assert frequencies == pytest.approx(printed_frequencies, abs=0.0055), name
        assert ratios == pytest.approx(printed_ratios, abs=0.0065), name


def test_the_damping_ratios_are_those_of_the_damped_eigenvalues():
    system = paper.matrices()
    inverse = np.linalg.inv(system.M.toarray())
    A = np.block(
        [[np.zeros((4, 4)), np.eye(4)], [-inverse @ system.K.toarray(), -inverse @ system.C.toarray()]]
    )
    poles = np.linalg.eigvals(A)
    poles = poles[poles.imag > 0][np.argsort(np.abs(poles[poles.imag > 0]))]
    frequencies, ratios = paper.table_2()["combined system"]
    assert np.abs(poles) / (2 * np.pi) == pytest.approx(frequencies, rel=1e-9)
    assert -100 * poles.real / np.abs(poles) == pytest.approx(ratios, rel=1e-9)


def test_the_bond_graph_is_the_combined_system():
    poles = paper.model().compile().poles()
    frequencies, _ = paper.table_2()["combined system"]
    assert np.sort(np.abs(poles[poles.imag > 0])) / (2 * np.pi) == pytest.approx(frequencies, rel=1e-9)


def test_cut_at_mass_2_the_bond_graph_gives_the_same_test():
    test = paper.test(reference=False)
    physical = paper.model().cut("m2.right >> m3.left")[1]
    other = test.replaced(rig=ShakingTable(Specimen.from_model(physical)), reference=False)
    force = test.run(1)["force"]
    assert np.abs(other.run(1)["force"] - force).max() < 1e-10 * np.abs(force).max()
    assert not isinstance(test, HybridTest)


def test_the_base_moves_and_comes_to_rest():
    base = paper.StageSeparation()
    t = np.linspace(0, 1, 100001)
    velocity, acceleration = base.derivative()(t), base.derivative().derivative()(t)
    assert np.abs(np.gradient(base(t), t) - velocity).max() < 1e-5 * np.abs(velocity).max()
    assert np.abs(np.gradient(velocity, t) - acceleration)[2:].max() < 1e-3 * np.abs(acceleration).max()
    assert 10 < np.abs(acceleration).max() < 11
    assert abs(base(4.0)) < 1e-7
    assert base(-1.0) == base(0.0) == 0


def test_the_exact_coupling_force_has_the_three_ranges_of_figure_2():
    run = paper.test().run(4)
    f, lines = paper.spectrum(run["reference.force"], 0.004)
    peaks = [i for i in range(1, len(f) - 1) if lines[i - 1] < lines[i] > lines[i + 1] and lines[i] > 1.0]
    assert f[peaks] == pytest.approx([7.14, 15.71, 19.0], abs=0.2)


# ------------------------------------------------------ the findings, by simulation and by spectral radius

FINDINGS = {
    "k = 2 is unstable": ({"sub_steps": 2}, False),
    "k = 9 is stable": ({"sub_steps": 9}, True),
    "10 % overshoot is unstable": ({"sub_steps": 3, "overshoot": 0.1}, False),
    "and compensated stable": ({"sub_steps": 3, "overshoot": 0.1, "P": -1.0}, True),
    "10 % undershoot is not unstable": ({"sub_steps": 3, "overshoot": -0.1}, True),
    "nor compensated": ({"sub_steps": 3, "overshoot": -0.1, "P": -1.0}, True),
    "at 1 ms k = 3 is enough": ({"sub_steps": 3, "time_step": 0.001}, True),
}


@pytest.mark.parametrize(("options", "stable"), FINDINGS.values(), ids=FINDINGS)
def test_findings(options, stable):
    test = paper.test(**options, reference=False)
    step = one_step(test.tick)
    assert step.linear
    assert step.stable is stable
    assert simulated_stability(test.tick, 16.0, linear=True).stable is stable
    if not stable:
        assert 40 < step.frequency < 46, "destabilisation around 40 Hz"


def test_what_the_runs_show():
    unstable, stable = (paper.findings(paper.test(sub_steps=k).run(4)) for k in (2, 9))
    assert (unstable["stable"], stable["stable"]) == (False, True)
    assert unstable["spectral_radius"] == pytest.approx(1.0214, abs=1e-4)
    assert unstable["dominant_frequency"] == pytest.approx(43.5, abs=0.3)
    assert unstable["rms_error"] > 1e3
    assert stable["rms_error"] == pytest.approx(0.144, abs=0.002)
    assert stable["dominant_frequency"] == pytest.approx(7.14, abs=0.25)
    assert 30 < stable["peak_coupling_force"] < 45


def test_overshoot_shows_at_its_frequency_and_compensation_removes_it():
    def line(**options):
        run = paper.test(sub_steps=3, **options).run(4)
        f, lines = paper.spectrum(run["force"], 0.004)
        return lines[(f > 40) & (f < 48)].max()

    assert line(overshoot=0.1) > 100 * line(overshoot=0.1, P=-1.0)
    assert line(overshoot=-0.1) > 3 * line(overshoot=-0.1, P=-1.0)


def test_small_steps_and_many_sub_steps_are_accurate():
    errors = {
        (h, k): paper.findings(paper.test(sub_steps=k, time_step=h).run(2))["rms_error"]
        for h, k in ((0.004, 4), (0.004, 9), (0.001, 3), (0.001, 9))
    }
    assert errors[0.004, 9] < errors[0.004, 4]
    assert errors[0.001, 9] < 0.4 * errors[0.001, 3] < 0.4 * errors[0.004, 9]


@pytest.mark.parametrize("most", [4, pytest.param(12, marks=pytest.mark.nightly)])
def test_spectral_radius_and_simulation_agree_on_every_cell_of_the_map(most):
    """So many sub-steps, time steps of 1, 2 and 4 ms, compensation off and on: 72 cells of the paper."""
    spectral, simulated = {}, {}
    for h in (0.001, 0.002, 0.004):
        for k in range(1, most + 1):
            tick = paper.test(sub_steps=k, time_step=h, reference=False).tick
            runner = Runner(tick)
            for P in (0.0, -1.0):
                cell, values = (k, h, P), {"scheme.P": P}
                spectral[cell] = one_step(tick, values).stable
                simulated[cell] = simulated_stability(
                    tick, 16.0, linear=True, runner=runner, parameters=values
                ).stable
    assert len(spectral) == 6 * most
    assert spectral == simulated
    assert {c for c, stable in spectral.items() if not stable} == {
        (1, 0.002, 0.0), (1, 0.004, 0.0), (2, 0.004, 0.0), (3, 0.004, 0.0),
    }  # fmt: skip


def test_figures(tmp_path):
    run = paper.test(sub_steps=2).run(1)
    files = paper.figures(run, tmp_path)
    assert [f.name for f in files] == ["coupling_force.png"]
    alone = paper.test(reference=False).run(1)
    files += paper.figures(alone, tmp_path)
    assert all(f.stat().st_size > 5000 for f in files)
