from bondloop.tuning.policy import TuningPolicy as TuningPolicy
from bondloop.tuning.recommendation import Recommendation as Recommendation
from bondloop.tuning.recommendation import recommend as recommend
from bondloop.tuning.trial import Trial as Trial
