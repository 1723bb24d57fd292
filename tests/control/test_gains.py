"""What a controller adapts is recorded as that, and ``run.plot.gains()`` draws it."""

import inspect
import sys
from pathlib import Path

import pytest

import bondloop as bl
from bondloop.control import (
    AdaptiveCoupledInverse,
    AdaptiveModelBased,
    AdaptivePrediction,
    AdaptiveRemainder,
    AdaptiveTimeSeries,
    AdaptiveVirtualJunction,
    ConditionalTimeSeries,
    Direct,
    LeadCompensation,
    ObservedVirtualJunction,
    PolynomialPrediction,
    RecursiveFir,
    Scheduled,
    SensitivityVirtualJunction,
    TwoStageAdaptive,
)
from bondloop.errors import InputError
from bondloop.transfer import MassSpringDamper, first_order

sys.path.insert(0, str(Path(__file__).parent))  # for hardening_chain.py

from hardening_chain import CHOSEN, TRUE, a_test

ACTUATOR = MassSpringDamper(*TRUE, drive="position")
ADAPTIVE = [
    AdaptiveModelBased(),
    AdaptivePrediction("5 ms"),
    AdaptiveTimeSeries(),
    AdaptiveVirtualJunction(ACTUATOR, CHOSEN),
    AdaptiveRemainder(LeadCompensation(0.01), AdaptivePrediction(0.0)),
    ConditionalTimeSeries("5 ms"),
    RecursiveFir(3),
    Scheduled((LeadCompensation(0.002), LeadCompensation(0.01)), (1e-3, 1e-2)),
    SensitivityVirtualJunction(ACTUATOR, CHOSEN),
    TwoStageAdaptive(2, prediction=PolynomialPrediction("4 ms", 2)),
]


def test_no_adaptive_controller_is_left_out():
    public = [getattr(bl.control, name) for name in bl.control.__all__]
    adaptive = {
        c for c in public if inspect.isclass(c) and inspect.getattr_static(c, "adapts", False) is True
    }
    assert adaptive - {type(c) for c in ADAPTIVE} == {AdaptiveCoupledInverse}


@pytest.mark.parametrize("controller", ADAPTIVE, ids=lambda c: type(c).__name__)
def test_gains_are_drawn(controller):
    run = a_test(controller).run(0.5)
    figure = run.plot.gains()
    drawn = [text.get_text() for axes in figure.axes for text in axes.get_legend().get_texts()]
    assert drawn
    assert sorted(drawn) == sorted(run.adapted)


def test_gains_of_coupled_actuators_and_of_mcs():
    law = AdaptiveCoupledInverse(first_order(1.0, 0.01).actuator())
    assert (
        "coefficient"
        in a_test(law, first_order(1.0, 0.01).actuator()).run(0.2).plot.gains().axes[0].get_ylabel()
    )
    run = bl.papers.find("wagg-three-mass").load().test().run(0.2)
    assert [axes.get_ylabel() for axes in run.plot.gains().axes] == ["gain [N/m]", "gain [N s/m]", "gain"]


def test_where_nothing_is_adapted_there_is_nothing_to_draw():
    for controller in (Direct(), ObservedVirtualJunction(ACTUATOR)):
        with pytest.raises(InputError, match="no adaptive gains"):
            a_test(controller).run(0.1).plot.gains()
