"""Tests collect what stands here for its examples: mutants.py finds its parts beside it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
