"""The predictor's figure: the curves are the closed form's."""

import numpy as np
import pytest

from bondloop.control import PolynomialPrediction
from bondloop.errors import InputError
from bondloop.results.figures.spectra import prediction

PAIR = {
    "slow": PolynomialPrediction(0.005, span=0.1, points=20),
    "quick": PolynomialPrediction(0.005, span=0.01, points=10),
}


def test_the_curves_are_gain_and_phase_over_frequency(tmp_path):
    f = np.linspace(0, 40, 81)
    figure = prediction(PAIR, 0.001, frequencies=f, path=tmp_path / "prediction.png")
    gain, phase = figure.axes
    for axes, of in ((gain, np.abs), (phase, lambda H: np.degrees(np.unwrap(np.angle(H))))):
        drawn = [line.get_ydata() for line in axes.lines if len(line.get_xdata()) == len(f)]
        for found, one in zip(drawn, PAIR.values(), strict=True):
            assert found == pytest.approx(of(one.response(f, 0.001)))
    assert [text.get_text() for text in gain.get_legend().get_texts()] == ["slow", "quick"]
    assert (tmp_path / "prediction.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "options", "reason"),
    [
        (({}, 0.001), {}, "no predictions to draw"),
        ((PAIR, 0.0), {}, "period: expected a number above 0"),
        ((PAIR, 0.001), {"frequencies": [1.0]}, "at least two finite numbers"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, options, reason):
    with pytest.raises(InputError, match=reason):
        prediction(*arguments, **options)
