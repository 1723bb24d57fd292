"""Which compensator with which settings: a search over families, rehearsed and checked."""

from __future__ import annotations

from bondloop.tuning.answer import Recommendation
from bondloop.tuning.recommendation import recommend
from bondloop.tuning.trial import Trial

__all__ = ["Recommendation", "Trial", "recommend"]
