"""Channels files: read in the units that they say, all faults at once by line, compared with a test."""

import json
import math
import re

import jsonschema
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bondloop.engine.data.toml_files import parsed
from bondloop.errors import BondloopError, InputError
from bondloop.files import channels_schema, read_channels, read_channels_text
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime.channels.sheet import sheet_html, sheet_text
from bondloop.safety import Interlock, Limits

GOOD = """
link = "comedi:///dev/comedi0"

[[channel]]
name = "command"
direction = "output"
unit = "mm"
channel = 0
gain = "5 mm/V"
range = ["-10 V", "10 V"]
limits = [-40, 40]
rate = "10 mm/s"
rest = 2
feedback = "place"

[[channel]]
name = "place"
direction = "input"
unit = "mm"
raw = "mV"
channel = 1
table = [[-10000, -50], [0, 1], [10000, 50]]
zero = 1
filter = "200 Hz"

[[channel]]
name = "oil"
direction = "auxiliary"
unit = "bar"
channel = "ai2"
polynomial = [0, 50, 0.5]
range = [0, 5]
note = "behind the pump"

[lines]
stop = 5

[[fault]]
channel = 6
active = 0
words = "the oil pressure is off"
"""


def test_plain_numbers_are_in_the_channels_units_and_texts_say_theirs():
    lab = read_channels_text(GOOD)
    x, place, oil = lab.channels
    assert (x.least, x.most, x.rate, x.rest) == pytest.approx((-0.04, 0.04, 0.01, 0.002))
    assert x.raw_of(0.02) == pytest.approx(4.0)
    assert place.value(5.0) == pytest.approx(25.5e-3 - 1e-3)  # half-way from 1 to 50 mm, in volts
    assert oil.value(4.0) == pytest.approx((50 * 4 + 0.5 * 16) * 1e5)
    assert (lab.stop, lab.faults[0].active, lab.faults[0].bit, lab.link) == (
        "5",
        0,
        0,
        "comedi:///dev/comedi0",
    )
    assert oil.channel == "ai2"
    assert json.loads(json.dumps(lab.describe()))["channels"][1]["low"] == -10.0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'name = "place"',
            'name = "command"',
            "line 17, channel[1].name: the name 'command' stands there twice",
        ),
        ("channel = 1\n", 'channel = "ai2"\n', "input ai2 stands there twice"),
        ('channel = "ai2"\n', 'channel = "01"\n', "input 01 stands there twice"),
        ('unit = "mm"\nchannel = 0', 'unit = "mn"\nchannel = 0', "unknown unit 'mn'"),
        ('gain = "5 mm/V"', 'gain = "5 kg/V"', "line 9, channel[0].gain: expected a quantity in (mm)/(V)"),
        (
            'gain = "5 mm/V"',
            "gain = 5\npolynomial = [1, 2]",
            "expected one of gain (with an offset or without)",
        ),
        ('gain = "5 mm/V"', "gain = 0", "must rise, or fall, through all of its range"),
        ('gain = "5 mm/V"', "polynomial = [0, 1, 1]", "must rise, or fall, through all of its range"),
        ('gain = "5 mm/V"', "", "found none"),
        ("limits = [-40, 40]", "limits = [40, -40]", "expected the lesser one first"),
        ("limits = [-40, 40]", "limits = [-40, 60]", "the upper limit needs a raw value beyond the range"),
        ("rest = 2", "rest = 41", "rest, 41 mm, is beyond limits or range"),
        ('feedback = "place"', 'feedback = "plaice"', "no input is called 'plaice'"),
        ("zero = 1", 'zero = "1 N"', "expected a quantity in mm"),
        ("zero = 1", "zero = true", "expected a number, or a text with a unit; found True"),
        ("zero = 1", "limits = [0, 1]", "only an output has this entry"),
        ('filter = "200 Hz"', "filter = -1", "expected 0 or more; found -1"),
        ('filter = "200 Hz"', "fitler = 1", "did you mean 'filter'"),
        ('direction = "auxiliary"', 'direction = "both"', "expected output, input, auxiliary; found 'both'"),
        ("[0, 1], [10000, 50]", "[0, 1, 2], [10000, 50]", "expected a list of points"),
        ("[0, 1], [10000, 50]", "[20000, 1], [10000, 50]", "must rise"),
        ("active = 0", "active = 2", "active 0 or 1"),
        ("words =", "wrods =", "expected an entry words"),
        ("stop = 5", "stop = 5.5", "expected a whole number or a text; found 5.5"),
        (
            "stop = 5",
            "stop = 5\nbeat = 5",
            "lines.beat: line 5 is stop already: each needs a line of its own",
        ),
        ("stop = 5", 'stop = 5\nenable = "05"', "line 05 is stop already"),
        ("stop = 5", "stop = 6", "line 6 is stop already"),
        ("stop = 5", "stop = -1", "expected a number from 0 to 65,535, or the driver's own words; found -1"),
        ("channel = 0", "channel = -1", "expected a number from 0 to 65,535"),
        ("channel = 0", "channel = 99999999999999999999", "expected a number from 0 to 65,535"),
        ("channel = 0", 'channel = "-7"', "expected a number from 0 to 65,535"),
        ('rate = "10 mm/s"', "rate = 0", "expected more than 0; found 0"),
        ('"5 mm/V"\nrange = ["-10 V", "10 V"]', "1e-320", "leave no number for what is read or given"),
        ('["-10 V", "10 V"]', '["-10 V", "10 V"]\nzero = 1e300', "is beyond limits or range"),
        ('"5 mm/V"\nrange = ["-10 V", "10 V"]', "5\nzero = 1e300", "leave no number for what is read"),
        ("zero = 1\n", "zero = 1e300\n", "leave no number for what is read or given"),
        ("limits = [-40, 40]", "limits = [40, -40]", "the lesser one first; found 40 and -40"),
        ('unit = "mm"\nraw', 'unit = "kN"\nraw', "'place' is in kN, and cannot show where an output in mm"),
        (
            "[0, 1], [10000, 50]",
            "[0, -60], [10000, 50]",
            "from the raw value -10000 to 0 it goes from -50 mm to -60 mm",
        ),
        ("[0, 50, 0.5]", "[0, 50, -10]", "it turns, or stands, at the raw value 2.5 V"),
        ("[0, 50, 0.5]\nrange = [0, 5]", "[0, 50, 0.5]", "a polynomial needs a range"),
        ("[0, 50, 0.5]", "[7]", "it turns, or stands"),
    ],
)
def test_each_fault_is_said_with_its_place(old, new, words):
    assert old in GOOD
    with pytest.raises(InputError) as found:
        read_channels_text(GOOD.replace(old, new, 1))
    assert words in str(found.value)
    assert "line " in str(found.value)


def test_a_zero_of_a_channel_that_is_not_there_is_a_fault():
    note = '[[zeroing]]\nchannel = "{}"\nbefore = 0.0\nafter = 1.0\ntime = "now"\noperator = "Ada"\n'
    assert read_channels_text(GOOD + note.format("place")).zeroings[0].after == 1.0
    with pytest.raises(InputError, match="no channel is called 'palce'; was it renamed"):
        read_channels_text(GOOD + note.format("palce"))


def test_the_bus_has_the_same_place_once_each_way():
    """Bit 0 of byte 4 that is read is another one than that which is written."""
    text = GOOD.replace("stop = 5", 'stop = "2:4.0"\nenable = "2:4.0"')
    assert read_channels_text(text).enable == "2:4.0"
    with pytest.raises(InputError, match=r"line 2:4\.0 is enable|line 2:4\.0 is beat"):
        read_channels_text(text.replace('enable = "2:4.0"', 'enable = "2:4.0"\nbeat = "2:4.0"'))


NI = """
link = "nidaqmx://rig"

[[channel]]
name = "command"
direction = "output"
unit = "mm"
channel = "Dev1/ao0"
gain = 5

[[channel]]
name = "measured.force"
direction = "input"
unit = "kN"
channel = "Dev1/ai2"
gain = 10

[lines]
stop = "Dev1/port1/line0"
enable = "Dev1/port2/line7"

[[fault]]
channel = "Dev1/port0/line1"
words = "hot"
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Dev1/ai2", "Dev1/ai2:3", "channel[1].channel: expected one channel of the board, such as Dev1/ai0"),
        ("Dev1/ao0", "Dev1/ao0,Dev1/ao1", "found Dev1/ao0,Dev1/ao1, which is several"),
        ("port1/line0", "port1/line0:3", "lines.stop: expected one line of the board"),
        ("Dev1/port2/line7", "Dev1/port2", "such as Dev1/port0/line3; found Dev1/port2"),
        ('"Dev1/port1/line0"', "0", "lines.stop: expected one line of the board"),
        ("Dev1/port0/line1", "Dev1/port0/line1,Dev1/port0/line2", "fault[0].channel: expected one line"),
    ],
)
def test_ranges_of_nidaqmx_are_refused_as_they_are_several_channels(old, new, words):
    assert read_channels_text(NI).stop == "Dev1/port1/line0"
    with pytest.raises(InputError, match=re.escape(words)):
        read_channels_text(NI.replace(old, new))
    other = NI.replace(old, new).replace("nidaqmx://rig", "mine://rig")
    assert read_channels_text(other), "what another driver calls its channels is its own"


def test_two_faults_at_one_bit_are_refused_and_at_two_are_not():
    more = '[[fault]]\nchannel = 9\ntype = "uint8"\nbit = {}\nwords = "{}"\n'
    assert len(read_channels_text(GOOD + more.format(0, "hot") + more.format(1, "cold")).faults) == 3
    with pytest.raises(InputError, match="is the fault 'hot' already"):
        read_channels_text(GOOD + more.format(0, "hot") + more.format(0, "cold"))


def test_a_table_reaches_as_far_as_its_range_lets_it():
    text = GOOD.replace("zero = 1\n", 'range = ["-100 mV", "100 mV"]\n')
    # Straight lines from -50 over 1 to 50 mm at -10, 0 and 10 V: 5.1 and 4.9 mm/V, 0.1 V each way.
    assert read_channels_text(text)["place"].reach == pytest.approx((0.49e-3, 1.49e-3))


@pytest.mark.parametrize("where", ["limits", "interlock"])
def test_a_sensor_must_see_where_the_test_stops_whoever_stops_it(where):
    limits = Limits(displacement="10 mm")
    test = gawthrop_two_actuators.test().replaced(
        **{where: limits if where == "limits" else Interlock(limits)}
    )
    seen = {"unit": '"mm"', "table": "[[-10, -50], [10, 50]]", "range": "[-0.1, 0.1]"}
    text = for_two(**{"measured.displacement[0]": seen}).replace(
        "gain = 0.01\nrange = [-0.1", "range = [-0.1"
    )
    with pytest.raises(InputError) as found:
        read_channels_text(text, "lab.toml", test)
    assert "allows a displacement of ±10 mm, but the channel reaches from -0.5 to 0.5 mm" in str(found.value)


def test_faults_of_the_file_and_against_the_test_are_told_at_once():
    test = gawthrop_two_actuators.test().replaced(interlock=Interlock(Limits(command=0.2)))
    commands = list(read_channels_text(for_two()).outputs)
    spoilt = for_two().replace("gain", "gian", 1)
    with pytest.raises(InputError) as found:
        read_channels_text(spoilt, "lab.toml", test)
    said = str(found.value)
    assert "unknown entry 'gian'" in said
    assert "has no channel" not in said, "it has one, which is wrong"
    assert len(commands) < 2 or "the test allows a command of ±0.2 m" in said


def test_all_faults_are_told_at_once_in_the_order_of_their_lines():
    text = GOOD.replace('unit = "mm"\nchannel = 0', 'unit = "mn"\nchannel = 0')
    text = text.replace("zero = 1", 'zero = "1 N"').replace("range = [0, 5]", "range = 5")
    with pytest.raises(InputError) as found:
        read_channels_text(text, "lab.toml")
    lines = str(found.value).splitlines()
    assert lines[0] == "lab.toml: 3 faults:"
    numbers = [int(line.split()[1].strip(",:")) for line in lines[1:]]
    assert numbers == sorted(numbers) == [7, 23, 32]


PACKET = """
[[channel]]
name = "command"
direction = "output"
unit = "mm"
channel = 4
type = "int16"
gain = 1

[[channel]]
name = "force"
direction = "input"
unit = "N"
channel = 4
type = "float32"
gain = 1

[packet.send]
bytes = 8
fields = [{is = "counter", at = 0, type = "uint32"}]

[packet.receive]
bytes = 12
fields = [{is = "counter", at = 0, type = "uint32"}, {is = "crc32", at = 8, type = "uint32"}]
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("bytes = 12", "bytes = 11", "the crc32 ends at byte 12, but the packet has 11"),
        (
            'channel = 4\ntype = "float32"',
            'channel = 6\ntype = "float32"',
            "the crc32 begins at byte 8, within force",
        ),
        ("bytes = 8", "bytes = 0", "expected 1 to 1400 bytes"),
        (
            "[packet.send]",
            "[lines]\nstop = 5\n[packet.send]",
            "lines.stop: a controller of packets has no lines",
        ),
        ("[packet.send]", "[lines]\nenable = 5\n[packet.send]", 'packet.send, {is = "enable", ...}'),
        ('type = "int16"', 'type = "int12"', "expected int8, uint8"),
        ('type = "int16"\n', "", "'command' needs a byte of the packet as channel, and a type"),
        (
            '{is = "crc32", at = 8, type = "uint32"}',
            '{is = "crc32", at = 8, type = "uint16"}',
            "crc32 is of type uint32",
        ),
        (
            '{is = "crc32", at = 8, type = "uint32"}',
            '{is = "enable", at = 8, type = "uint32"}',
            "enable is a field of packets to send",
        ),
        (
            '{is = "crc32", at = 8, type = "uint32"}',
            '{is = "constant", at = 8, type = "uint8", value = 256}',
            "256 does not fit",
        ),
        (
            '{is = "crc32", at = 8, type = "uint32"}',
            '{is = "constant", at = 8, type = "uint8"}',
            "a constant has a value",
        ),
        (
            '{is = "crc32", at = 8, type = "uint32"}',
            '{is = "counter", at = 8, type = "uint8"}',
            "expected one counter",
        ),
        (
            '[{is = "counter", at = 0, type = "uint32"}]',
            '[{is = "counter", at = 0, type = "float32"}]',
            "counter is of an unsigned type",
        ),
    ],
)
def test_faults_of_a_packet(old, new, words):
    assert read_channels_text(PACKET).packet.receive.bytes == 12
    assert old in PACKET
    with pytest.raises(InputError) as found:
        read_channels_text(PACKET.replace(old, new, 1))
    assert words in str(found.value)


def for_two(**changes):
    """Channels of the two actuators' signals."""
    sensors = {"force": "N", "displacement": "m", "velocity": "m/s"}
    rows = [("command", "output", "m"), *((f"measured.{w}", "input", u) for w, u in sensors.items())]
    text = ""
    for i, (name, direction, unit) in enumerate(rows):
        for k in (0, 1):
            own = {
                "unit": f'"{unit}"',
                "direction": f'"{direction}"',
                "gain": 0.01,
                "range": "[-10, 10]",
                "channel": 2 * i + k,
            }
            own |= changes.get(f"{name}[{k}]", {})
            if own.get("name") != "left out":
                entries = "".join(f"{key} = {value}\n" for key, value in own.items() if key != "name")
                text += f'[[channel]]\nname = "{own.get("name", f"{name}[{k}]")}"\n{entries}\n'
    return text


def test_channels_are_compared_with_a_test():
    test = gawthrop_two_actuators.test().replaced(limits=None)
    assert len(read_channels_text(for_two(), test=test).channels) == 8
    text = for_two(
        **{
            "command[1]": {"unit": '"N"'},
            "measured.force[0]": {"name": "left out"},
            "measured.force[1]": {"name": "measured.fource[1]"},
            "measured.velocity[0]": {"direction": '"auxiliary"'},
        }
    )
    with pytest.raises(InputError) as found:
        read_channels_text(text, "lab.toml", test)
    said = str(found.value)
    assert "4 faults" in said
    assert "line 9, channel[1]: the test has 'command[1]' in m; found the unit N" in said
    assert "the test's measured value 'measured.force[0]' has no channel" in said
    assert "'measured.force[1]' has no channel; is it the one called 'measured.fource[1]'?" in said
    assert "needs direction input; found auxiliary" in said


def test_a_velocity_without_a_channel_is_told_with_what_to_do():
    test = gawthrop_two_actuators.test().replaced(limits=None)
    gone = {f"measured.velocity[{k}]": {"name": "left out"} for k in (0, 1)}
    with pytest.raises(InputError) as found:
        read_channels_text(for_two(**gone), "lab.toml", test)
    assert "'measured.velocity[0]' has no channel. Without a velocity transducer: take" in str(found.value)


def test_limits_of_a_test_must_be_within_what_the_channels_reach():
    test = gawthrop_two_actuators.test().replaced(
        interlock=Interlock(Limits(command=0.2, force=0.05), safe_position=0.15)
    )
    with pytest.raises(InputError) as found:
        read_channels_text(for_two(), "lab.toml", test)
    said = str(found.value)
    assert "the test allows a command of ±0.2 m, but the channel reaches from -0.1 to 0.1 m" in said
    assert "the test's safe position, 0.15 m, is beyond its reach" in said
    assert "force" not in said


SILLY = (
    *(
        "0",
        "-1",
        "1e308",
        "-1e308",
        "1e-308",
        "nan",
        "inf",
        "true",
        "[]",
        "{}",
        '""',
        '"\\u0000"',
        "[[1, 2]]",
        "[1]",
    ),
    *('"5 mm/V"', '"1 V"', '"m"', '"1e400 m"', '"nan"', "1979-05-27", "99999999999999999999", '["1 kg", 2]'),
    *(
        "[[0, 0], [0, 1]]",
        "[0, 0, 0]",
        '[{is = "crc32", at = 3, type = "uint32"}]',
        '"uint8"',
        '"output"',
        '"input"',
    ),
)


@given(
    whole=st.sampled_from((GOOD, PACKET)),
    changes=st.dictionaries(st.integers(0, 60), st.sampled_from(SILLY), max_size=4),
    gone=st.sets(st.integers(0, 60), max_size=2),
)
@example(whole=PACKET, changes={7: "1e308"}, gone=set())  # a gain at which the sheet's figure overflows
@settings(deadline=None)
def test_whatever_stands_there_is_read_or_refused_with_a_sentence(whole, changes, gone):
    lines = whole.splitlines()
    for at, value in changes.items():
        line = lines[at % len(lines)]
        if " = " in line:
            lines[at % len(lines)] = f"{line.partition(' = ')[0]} = {value}"
    left = [line for i, line in enumerate(lines) if i not in gone]
    try:
        lab = read_channels_text("\n".join(left))
    except BondloopError:
        return
    assert all(math.isfinite(c.zero) and c.low < c.high for c in lab.channels)
    json.dumps(lab.describe(), allow_nan=False)
    sheet_text(lab)
    sheet_html(lab)


def test_what_is_read_fits_the_schema_and_what_does_not_is_refused_by_both():
    schema = channels_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for text in (GOOD, PACKET, for_two()):
        jsonschema.validate(parsed(text), schema)
    for old, new in (
        ("zero = 1", "zreo = 1"),
        ('name = "oil"\n', ""),
        ('direction = "input"', 'direction = "in"'),
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(parsed(GOOD.replace(old, new, 1)), schema)
        with pytest.raises(InputError):
            read_channels_text(GOOD.replace(old, new, 1))


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_channels(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not a text in UTF-8"):
        read_channels(tmp_path / "bad.toml")


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ('type = "uint8"\nbit = 8', "uint8 has the bits 0 to 7; found 8"),  # it would never be seen
        ("bit = 3", "a bit is one of a word: say the word's type"),
        ('type = "uint8"\nactive = 0', "without a bit any word but 0 is the fault"),
        ('type = "uint8"\ncode = 7', "without a bit any word but 0 is the fault"),
    ],
)
def test_a_fault_that_would_never_be_seen_or_seen_as_another_is_refused(entries, words):
    with pytest.raises(InputError, match=re.escape(words)):
        read_channels_text(f'{GOOD}\n[[fault]]\nchannel = 9\nwords = "it is hot"\n{entries}\n')


def test_a_constant_is_what_its_field_can_hold():
    constant = '[{is = "constant", at = 8, type = "float32", value = 0.1}, '
    text = PACKET.replace("bytes = 12\nfields = [", f"bytes = 16\nfields = {constant}").replace(
        'crc32", at = 8', 'crc32", at = 12'
    )
    assert read_channels_text(text).packet.receive.fields[0].value == float(np.float32(0.1))


def test_a_range_beyond_the_table_is_told_as_that():
    rows = "table = [[0, 0], [2, 2]]\nrange = [3, 5]"
    with pytest.raises(InputError, match="range: expected one within the raw values of the table"):
        read_channels_text(
            f'[[channel]]\nname = "x"\ndirection = "input"\nunit = "mm"\nchannel = 0\n{rows}\n'
        )


def test_the_list_of_the_laboratory_is_read_and_described():
    items = ["The oil is warm", "Nobody is at the \u201cnorth\u201d wall"]
    lab = read_channels_text(f"{GOOD}\n[preflight]\nitems = {json.dumps(items)}\n")
    assert lab.preflight == tuple(items) == tuple(lab.describe()["preflight"])
    assert read_channels_text(GOOD).preflight == ()
    longest = ["a" * 200] + [f"{n}" for n in range(39)]
    assert read_channels_text(f"{GOOD}\n[preflight]\nitems = {json.dumps(longest)}\n").preflight == tuple(
        longest
    )
    jsonschema.validate(parsed(f"{GOOD}\n[preflight]\nitems = ['x']\n"), channels_schema())


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ("[]", "expected a list of 1 to 40 texts; found []"),
        ("3", "expected a list of 1 to 40 texts; found 3"),
        (json.dumps([str(n) for n in range(41)]), "expected a list of 1 to 40 texts; found"),
        ('["a", " "]', "expected texts of a line each; item 2 is ' '"),
        ('["a", 1]', "expected texts of a line each; item 2 is 1"),
        ('["a\\nb"]', "expected texts of a line each; item 1 is"),
        (json.dumps(["a" * 201]), "expected texts of at most 200 bytes; item 1 has 201"),
        (json.dumps(["é" * 101], ensure_ascii=False), "expected texts of at most 200 bytes; item 1 has 202"),
        ('["a", "b", "a"]', "item 3 stands there twice: 'a'"),
    ],
)
def test_faults_of_the_list_have_their_line(items, words):
    line = GOOD.count("\n") + 2
    with pytest.raises(InputError) as found:
        read_channels_text(f"{GOOD}[preflight]\nitems = {items}\n", "lab.toml")
    assert str(found.value).startswith(f"lab.toml: line {line}, preflight.items: {words}")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("[preflight]", "expected an entry items"),
        ('[preflight]\nitem = ["a"]', "unknown entry 'item'; did you mean 'items'"),
    ],
)
def test_a_list_without_items_is_a_fault(table, words):
    with pytest.raises(InputError, match=words):
        read_channels_text(f"{GOOD}{table}\n")
