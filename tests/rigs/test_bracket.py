"""A specimen on a frame that gives way: against the two equations of motion written down by hand."""

import numpy as np
import pytest

from bondloop.bondgraph import C, Model, One, Port, R
from bondloop.engine.data.restoring import restore
from bondloop.errors import BondloopError
from bondloop.rigs import OnBracket, OrificeDamper, mounted


class Strut(Model):
    """A spring beside a dashpot, with one port."""

    def __init__(self):
        self.rod, self.v = Port(), One()
        self.rod >> self.v >> [C(stiffness=2e6), R(damping=5e3)]


def test_force_over_motion_is_that_of_the_equations():
    """F = (k + c s)(x - b) and m b'' + 2 z w m b' + m w² b = F: F/x in closed form."""
    m, w, z = 300.0, 2 * np.pi * 25.0, 0.04
    linear = mounted(OnBracket(Strut(), m, 25.0, z)).compile(["interface.effort"]).linearise()
    s = 2j * np.pi * np.array([1.0, 10.0, 25.0, 60.0])
    strut, frame = 2e6 + 5e3 * s, m * s**2 + 2 * z * w * m * s + m * w**2
    expected = strut * frame / (strut + frame)
    assert linear.frequency_response(s.imag)[:, 0, 0] * s == pytest.approx(expected, rel=1e-9)


def test_a_description_gives_it_back():
    framed = OnBracket(OrificeDamper.standard(play="0.1 mm"), "500 kg", "40 Hz")
    again = restore(framed.describe())
    assert again.describe() == framed.describe()
    assert str(mounted(again).compile().equations()) == str(mounted(framed).compile().equations())


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("damper", 500, 40), "expected a model with one port"),
        ((Model("none"), 500, 40), "expected a model with one port"),
        ((Strut(), 0, 40), "must be positive"),
        ((Strut(), "5 m", 40), "mass"),
        ((Strut(), 500, "40 rpm"), "frequency"),
        ((Strut(), 500, 40, -0.1), "damping ratio"),
    ],
)
def test_what_cannot_be_built_is_refused_with_the_reason(arguments, reason):
    with pytest.raises(BondloopError, match=reason):
        OnBracket(*arguments)
