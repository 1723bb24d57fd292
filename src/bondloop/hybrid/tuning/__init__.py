"""Which compensator with which settings: a search over families, rehearsed and checked."""

from __future__ import annotations

from bondloop.hybrid.tuning.answer import Recommendation
from bondloop.hybrid.tuning.recommended import recommended
from bondloop.hybrid.tuning.trial import Trial

__all__ = ["Recommendation", "Trial", "recommended"]
