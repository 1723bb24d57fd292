"""Words of processes in the telemetry segment: what is written is read, and nothing where it is torn."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.realtime.segment import read_words, write_words


class Memory:
    """A segment without its file."""

    def __init__(self):
        names = ["session_words", "preflight_words"]
        self.header = np.zeros(1, [(name, "S32768") for name in names])


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(-1e300, 1e300)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_what_is_written_is_read(data):
    memory = Memory()
    write_words(memory, "preflight_words", data)
    assert read_words(memory, "preflight_words") == json.loads(json.dumps(data))
    assert read_words(memory, "session_words") == {}
    write_words(memory, "preflight_words", {"shorter": 1})
    assert read_words(memory, "preflight_words") == {"shorter": 1}


@pytest.mark.parametrize("at", [0, 3, 8, 20, 40])
def test_a_text_that_is_being_written_is_none(at):
    memory = Memory()
    write_words(memory, "session_words", {"verdict": "passed, with room to spare"})
    whole = bytes(memory.header["session_words"][0])
    memory.header["session_words"][0] = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
    assert read_words(memory, "session_words") == {}


def test_a_text_that_was_being_written_is_read_at_the_next_look():
    memory = Memory()
    write_words(memory, "session_words", {"verdict": "passed"})
    whole = bytes(memory.header["session_words"][0])

    class Written:
        """What lies there, look by look."""

        def __init__(self, *texts):
            self.texts = list(texts)

        def __getitem__(self, _):
            return self.texts.pop(0)

    memory.header = {"session_words": Written(whole[:12], whole[:20], whole)}
    assert read_words(memory, "session_words") == {"verdict": "passed"}


def test_the_largest_fits_and_one_byte_more_is_refused():
    memory = Memory()
    write_words(memory, "session_words", {"x": "a" * (32768 - 8 - 8)})
    assert len(read_words(memory, "session_words")["x"]) == 32752
    with pytest.raises(InputError, match="expected at most 32,760 bytes; found 32,761"):
        write_words(memory, "session_words", {"x": "a" * 32753})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_words(memory, "session_words", {"x": float("nan")})
