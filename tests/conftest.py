"""How hypothesis runs: without deadlines everywhere (machines differ), and repeatably in CI."""

import os

from hypothesis import settings

settings.register_profile("local", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
