"""The test of the screenshots: the damper of du Bois, which no pause of a busy machine ends."""

# ruff: noqa: INP001 - a test of a structure, no part of a package

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.engine.ir.tick import Tunable
from bondloop.papers import dubois_damper
from bondloop.safety import Interlock, Limits, PowerTrip, RampedSwitch

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest

SECONDS = 600.0


def test() -> HybridTest:
    """Return it: the switches follow the operator alone, and its limits are wide."""
    made = dubois_damper.test()
    switch = RampedSwitch(1.0, ramp="500 ms", initial=0.0)
    return made.replaced(
        name="operated_damper",
        switches=replace(made.switches, displacement=switch, force=switch),
        interlock=Interlock(
            Limits(displacement="1 m", force="1 MN", command="1 m", tracking_error="1 m", warning="80 %"),
            power=PowerTrip("1 MW"),
            retreat=0.5,
        ),
        gap="60 s",
        tunable={
            "excitation.scale": Tunable(least=0, most=1, rate=1.0, description="span of the base's motion"),
            "interlock.limits.force": Tunable(description="largest force"),
        },
    )
