from bondloop.control.feedback.outer_loop import OuterLoop as OuterLoop
from bondloop.control.feedback.sliding_mode import SlidingMode as SlidingMode
from bondloop.control.feedback.smith_predictor import SmithPredictor as SmithPredictor
from bondloop.control.feedback.tracking_feedback import FeedforwardLQG as FeedforwardLQG
from bondloop.control.feedback.tracking_feedback import LoopShaping as LoopShaping
