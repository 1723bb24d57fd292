"""What the check says of a prediction whose order and span do not suit its delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.check.tolerances import LOUD_PREDICTION
from bondloop.control import InverseModel, PolynomialPrediction
from bondloop.errors import BondloopError

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest


def prediction_notes(test: HybridTest) -> list[str]:
    """Say so where a prediction makes much of little: a high order, a short history, a long delay.

    Parameters
    ----------
    test
        The test.

    Examples
    --------
    >>> from bondloop.control import PolynomialPrediction
    >>> from bondloop.papers import gawthrop_three_mass
    >>> test = gawthrop_three_mass.test().replaced(controller=PolynomialPrediction("9 ms"))
    >>> prediction_notes(test)[0][:72]
    'the prediction (order 6, span 0.01 s) for 0.009 s ahead can make 18,000 '
    """
    controller = test.controller
    prediction = controller.prediction if isinstance(controller, InverseModel) else controller
    if not isinstance(prediction, PolynomialPrediction):
        return []
    try:
        loud = prediction.amplification(test.period)
    except BondloopError:
        return []  # points closer than samples: the test cannot be built, which is said elsewhere
    if loud < LOUD_PREDICTION:
        return []
    words = (
        f"the prediction (order {prediction.order}, span {prediction.span:g} s) for {prediction.delay:g} s "
        f"ahead can make {float(f'{loud:.2g}'):,.0f} of an error of 1 in the samples; a lower order or a "
        "longer span is calmer, and `bondloop tune` finds which"
    )
    return [words]
