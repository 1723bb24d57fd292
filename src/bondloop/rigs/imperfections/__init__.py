"""What is wrong with a real signal path, as parts: noise, bias, quantisation, delay, play and the like.

Each part takes a value and gives a worse one, as statements of a tick (:mod:`bondloop.program.tick`); what is
rehearsed is what is compiled. Parts that compare pass NaN on rather than replacing it by a limit, so that a
diverging run is seen.

>>> from bondloop.program.expr import Var, evaluate
>>> x = Var("x")
>>> applied = Bias("2 mm").apply(x, Context("rig.x", Var("n"), period=0.001))
>>> evaluate(applied.value, {x: 1.0})
1.002
"""

from bondloop.program.block import Applied, Context
from bondloop.rigs.imperfections.base import Chain, Imperfection, chain, imperfection_from
from bondloop.rigs.imperfections.dynamic import Backlash, LowPass, PureDelay, RateLimit
from bondloop.rigs.imperfections.faults import Frozen, Infinite, Jump, NotANumber
from bondloop.rigs.imperfections.static import (
    Bias,
    GainError,
    Noise,
    Nonlinearity,
    Quantisation,
    Saturation,
)

__all__ = [
    "Applied", "Backlash", "Bias", "Chain", "Context", "Frozen", "GainError", "Imperfection", "Infinite",
    "Jump", "LowPass", "Noise", "Nonlinearity", "NotANumber", "PureDelay", "Quantisation", "RateLimit",
    "Saturation", "chain", "imperfection_from",
]  # fmt: skip
