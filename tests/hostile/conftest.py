"""What the hostile tests share with those of the real-time loop."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "realtime"))  # for two_halves.py
