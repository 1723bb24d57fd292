"""The check of a test that runs with care: the figure of docs/check.md.

Run: python docs/figures/check.py [FILE]
"""

# ruff: noqa: INP001 - a script, no part of a package

import sys

from bondloop.papers import gawthrop_two_actuators

if __name__ == "__main__":
    check = gawthrop_two_actuators.test().check(gawthrop_two_actuators.SECONDS)
    check.plot(sys.argv[1] if len(sys.argv) > 1 else "docs/figures/check.png")
