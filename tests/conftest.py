"""How the tests run: without deadlines, what is long or real-time marked, Ctrl-C as in a terminal."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from bondloop.compile import compiler

TESTS = Path(__file__).parent

settings.register_profile("local", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, max_examples=30, derandomize=True)
settings.register_profile("quick", deadline=None, max_examples=10, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

LONG = {
    "bondgraph": (
        "diode_circuits drawing events_circuits events_mechanics ideal_diode_networks inverse "
        "matrix_transformers mechanisms multiport potentials random_graphs state_signals "
        "turned_fields"
    ),
    "cli": "check identify run study",
    "compile": "c_writer groups products toolchain",
    "control": (
        "adaptive_feedforward adaptive_virtual_junction compensators coupled_inverse inverse_model mcs "
        "mcs_forms scheduled virtual_junction"
    ),
    "devices": "devices in_a_model in_a_test independent",
    "examples": "examples",
    "hybrid": (
        "bad_input check check_tried coupled_transfer dry_run events_in_the_check events_in_the_tick halves "
        "hybrid interlock margins massless pseudo_dynamic sampled stepped_check truth values verdict"
    ),
    "identify": "experiment fit_bond_graph fit_ranking fit_specimen fit_time step_response",
    "integrate/structural": "compared order spectra structure",
    "integrate": "modal schemes",
    "papers": (
        "bayer_substep dasilva_beam dubois_damper dubois_outlook gawthrop_three_mass "
        "gawthrop_two_actuators marths_benchmark mr_damper_building wagg"
    ),
    "plots": "figures identification",
    "program": "one_step spectrum steady symbolic tick_json",
    "rigs": "latency orifice_damper",
    "safety": "conditions latch",
    "structures": "forms frequencies",
    "studies": "studies",
    "transfer": "electro_mechanical servo_hydraulic",
}
"""Files, by room, with more than a second of work: a quick run takes the first test of each alone."""


def pytest_collection_modifyitems(items):
    """Mark what is of the real-time loop, and skip it where that cannot run; mark what is long."""
    long = {TESTS / room / f"test_{word}.py" for room, words in LONG.items() for word in words.split()}
    begun = set()
    can_run = sys.platform == "linux" and compiler() is not None
    for item in items:
        if "realtime" in item.path.parts[-3:-1] or item.path.match("docs/realtime*.md"):
            item.add_marker("realtime")
        if item.get_closest_marker("realtime") and not can_run:
            item.add_marker(pytest.mark.skip(reason="the real-time loop needs Linux and a C compiler"))
        if item.path in long:
            if item.path in begun:
                item.add_marker("long")
            begun.add(item.path)


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_arrives():
    """Where SIGINT is ignored, as in `nohup make test &`, children would ignore it too, and wait for ever."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
