"""What is wrong with a real signal path, as parts: noise, bias, quantisation, delay, play and the like.

Each part takes a value and gives a worse one, as statements of a tick (`bondloop.engine.ir.Tick`); what is
rehearsed is what is compiled. Parts that compare pass NaN on rather than replacing it by a limit, so that a
diverging run is seen.

>>> from bondloop.engine.ir import Var, evaluate
>>> from bondloop.engine.passes import Context
>>> from bondloop.rigs.imperfections import Bias
>>> x = Var("x")
>>> applied = Bias("2 mm").apply(x, Context("rig.x", Var("n"), period=0.001))
>>> evaluate(applied.value, {x: 1.0})
1.002
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["Applied", "Frozen", "Imperfection", "Infinite", "Jump", "NotANumber", "imperfection_from"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
