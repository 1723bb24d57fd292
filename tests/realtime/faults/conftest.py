"""Loops of 500 Hz and their rigs, slow enough for a busy machine; a proxy that harms packets."""

import contextlib
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bondloop.engine.codegen import compiler
from bondloop.realtime import LoopOptions, LoopProcess, RigOptions, RigProcess
from bondloop.realtime.programs.build import build_pair

sys.path.insert(0, str(Path(__file__).parent))  # for fault_proxy.py and fault_rules.py

collect_ignore_glob = [] if sys.platform == "linux" and compiler() is not None else ["*"]


@pytest.fixture(scope="session")
def programs():
    from fault_rules import PERIOD
    from two_halves import hooked, make_computer, make_rig

    return hooked(replace(make_computer(), period=PERIOD), replace(make_rig(), period=PERIOD))


@pytest.fixture(scope="session")
def interlocked():
    """The chain of tests/hybrid/test_interlock.py with both switches closed, on a rig of its own rate."""
    from fault_rules import PERIOD, RETREAT

    from bondloop.bondgraph import C, Model, Sf
    from bondloop.control import Direct
    from bondloop.hybrid import HybridTest, Switches
    from bondloop.papers.gawthrop_three_mass import Mass
    from bondloop.rigs import Emulated
    from bondloop.safety import Interlock, RampedSwitch
    from bondloop.signals import Sine
    from bondloop.transfer import MassSpringDamper

    m = Model("chain")
    m.wall, m.m1, m.m2 = Sf("r"), Mass(5.0, 8.0, C(stiffness=400.0)), Mass(0.5, 6.0, C(stiffness=30.0))
    m.wall >> m.m1.left
    m.m1.right >> m.m2.left
    numerical, physical = m.cut("m1.right >> m2.left")
    test = HybridTest(
        numerical,
        rig=Emulated(physical, MassSpringDamper(1.0, 600.0, 9e4, drive="position")),
        interlock=Interlock(release=0.5 * RETREAT * PERIOD, retreat=RETREAT * PERIOD),
        switches=Switches(force=RampedSwitch(1.0, ramp=10 * PERIOD), simulated=physical),
        excitation={"r": Sine(0.1, 2.0)},
        controller=Direct(),
        rate=1 / PERIOD,
    )
    return build_pair(test.computer_tick, test.rig_tick(PERIOD))


class Bench:
    """A rig and a loop over one link, and what to do with them."""

    def __init__(self, programs, shm, table):
        self.programs, self.shm, self.table = programs, shm, table
        self.stack = contextlib.ExitStack()

    def rig(self, scheme, **options):
        link = self.shm if scheme == "shm" else "udp://127.0.0.1:0"
        given = RigOptions(link=link, **{"timeout": 20.0, **options})
        return self.stack.enter_context(RigProcess(self.programs.rig, given))

    def loop(self, link, table=True, **options):
        from fault_rules import PERIOD, RETREAT, STALE

        usual = {"retreat": RETREAT * PERIOD, "stale": STALE, "phase": 0.25 * PERIOD, "timeout": 20.0}
        usual["slots"] = 65536  # two minutes, for who comes late to read them
        usual |= {"gap": 60.0, "supervisor": 60.0}  # a busy machine is no fault
        usual["machine"] = True  # some rigs are played by the test itself
        given = LoopOptions(link=link, **{**usual, **options})
        return self.stack.enter_context(LoopProcess(self.programs.loop, given, self.table if table else None))

    def proxy(self, rig, *packet_faults):
        from fault_proxy import Proxy

        return self.stack.enter_context(Proxy(rig.link, *packet_faults))


@pytest.fixture
def bench(programs, shm, table):
    made = Bench(programs, shm, table)
    with made.stack:
        yield made


@pytest.fixture
def table():
    """A load in N that never repeats."""
    return np.sin(0.02 * np.arange(20_001))[:, None]
