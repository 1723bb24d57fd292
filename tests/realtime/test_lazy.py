"""The room's names: there when they are used, and not paid for before."""

import subprocess
import sys

import pytest

from bondloop import realtime


def test_every_name_is_found():
    assert set(realtime.__all__) <= set(dir(realtime))
    assert [name for name in realtime.__all__ if getattr(realtime, name) is None] == []
    with pytest.raises(AttributeError, match="no attribute 'Lopp'"):
        _ = realtime.Lopp


def test_a_reader_of_telemetry_does_not_load_the_compiler():
    script = "import sys; from bondloop.realtime import Ring, Mailbox; "
    script += "print('bondloop.engine.codegen' in sys.modules)"
    found = subprocess.check_output([sys.executable, "-c", script], text=True)
    assert found.strip() == "False"
