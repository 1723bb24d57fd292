"""Calibrations and fields in C, against NumPy and Python's struct, zlib and binascii."""

import binascii
import ctypes
import math
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bondloop.realtime
from bondloop.engine.codegen import compiler
from bondloop.realtime.channels import Calibration, Channels, LabChannel
from bondloop.realtime.channels.channel import TYPES, type_range
from bondloop.realtime.channels.wiring import Wiring, channels_c

C = Path(bondloop.realtime.__file__).parent / "c"
NAMES = list(TYPES)


def library(folder, table):
    (folder / "channels_table.c").write_text(table)
    built = folder / "channels.so"
    files = [C / "channels.c", C / "field.c", folder / "channels_table.c"]
    flags = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", f"-I{C}")
    subprocess.run([*compiler().command, *flags, "-o", built, *files, "-lm"], check=True)
    return ctypes.CDLL(str(built))


class CChannel(ctypes.Structure):
    """As bl_channel of channels.h."""

    _fields_ = [
        *((n, ctypes.c_char_p) for n in ("name", "unit", "raw_unit")),
        ("one", ctypes.c_double),
        ("at", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("count", ctypes.c_long),
        ("raw", ctypes.POINTER(ctypes.c_double)),
        ("value", ctypes.POINTER(ctypes.c_double)),
        *((n, ctypes.c_double) for n in ("zero", "low", "high", "least", "most", "keep", "rest")),
        ("feedback", ctypes.c_long),
        ("recorded", ctypes.c_int),
    ]


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    found = library(tmp_path_factory.mktemp("channels"), channels_c(None))
    for name in ("bl_channel_value", "bl_channel_raw"):
        getattr(found, name).restype = ctypes.c_double
        getattr(found, name).argtypes = [ctypes.POINTER(CChannel), ctypes.c_double]
    found.bl_field_get.restype = ctypes.c_double
    found.bl_field_get.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    found.bl_field_put.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_double]
    for name in ("bl_crc16", "bl_crc32"):
        getattr(found, name).restype = ctypes.c_uint32
        getattr(found, name).argtypes = [ctypes.c_char_p, ctypes.c_long]
    return found


def in_c(values, points=(), **more):
    kept = (ctypes.c_double * len(values))(*values)
    raw = (ctypes.c_double * len(points))(*points) if points else None
    fields = {"low": -math.inf, "high": math.inf, "least": -math.inf, "most": math.inf, **more}
    return CChannel(count=len(values), value=kept, raw=raw, **fields)


numbers = st.floats(-1e6, 1e6, allow_subnormal=False)


STEPS = st.floats(1e-3, 1e3)


@st.composite
def tables(draw):
    """Points that rise, with values that rise or fall all the way."""
    count = draw(st.integers(2, 40))
    points = np.cumsum([draw(numbers), *(draw(STEPS) for _ in range(count - 1))])
    values = np.cumsum([draw(numbers), *(draw(STEPS) for _ in range(count - 1))])
    assume((np.diff(points) > 0).all() and (np.diff(values) > 0).all())
    return points.tolist(), (values if draw(st.booleans()) else -values).tolist()


@given(table=tables(), share=st.floats(0, 1), zero=numbers)
@settings(deadline=None)
def test_a_table_is_interpolated_as_by_numpy_and_back(c, table, share, zero):
    points, values = table
    raw = min(points[0] + share * (points[-1] - points[0]), points[-1])
    channel = in_c(values, points, low=points[0], high=points[-1], zero=zero)
    found = c.bl_channel_value(channel, raw)
    scale = max(map(abs, (*values, zero, 1.0)))
    assert found == pytest.approx(np.interp(raw, points, values) - zero, rel=1e-12, abs=1e-12 * scale)
    value = np.interp(raw, points, values)
    back = c.bl_channel_raw(in_c(values, points, low=points[0], high=points[-1]), float(value))
    steepest = max(np.diff(points) / np.abs(np.diff(values)))  # an error of the value is so much of a raw one
    assert back == pytest.approx(raw, abs=1e-9 + 1e-13 * (steepest * scale + max(map(abs, points))))
    assert Calibration(tuple(values), tuple(points)).raw(
        float(value), points[0], points[-1]
    ) == pytest.approx(back, abs=1e-9 + 1e-13 * (steepest * scale + max(map(abs, points))))


@given(coefficients=st.lists(st.floats(-100, 100), min_size=1, max_size=10), raw=st.floats(-10, 10))
@settings(deadline=None)
def test_a_polynomial_is_numpys(c, coefficients, raw):
    found = c.bl_channel_value(in_c(coefficients), raw)
    wanted = np.polynomial.polynomial.polyval(raw, coefficients)
    scale = np.polynomial.polynomial.polyval(abs(raw), np.abs(coefficients))
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-13 * scale)


@given(
    gain=st.floats(1e-6, 1e6),
    sign=st.sampled_from((-1, 1)),
    offset=numbers,
    raw=st.floats(-10, 10),
    zero=numbers,
)
@settings(deadline=None)
def test_a_gain_and_its_way_back(c, gain, sign, offset, raw, zero):
    channel = in_c([offset, sign * gain], zero=zero)
    value = c.bl_channel_value(channel, raw)
    lost = 1e-14 * (abs(offset) + abs(zero) + gain * 10) / gain
    assert c.bl_channel_raw(channel, value) == pytest.approx(raw, rel=1e-9, abs=lost + 1e-9)


@given(
    slope=st.floats(0.1, 10),
    curved=st.lists(st.floats(0, 1), min_size=1, max_size=4),
    raw=st.floats(-10, 10),
    sign=st.sampled_from((-1, 1)),
)
@settings(deadline=None)
def test_a_polynomial_that_rises_or_falls_has_a_way_back(c, slope, curved, raw, sign):
    """Odd powers with coefficients of one sign: monotone by what they are."""
    coefficients = [sign * 3.0, sign * slope]
    for a in curved:
        coefficients += [0.0, sign * a]
    coefficients = coefficients[:10]
    assert Calibration(tuple(coefficients)).is_monotone(-10, 10)
    channel = in_c(coefficients, low=-10, high=10)
    value = c.bl_channel_value(channel, raw)
    assert c.bl_channel_value(channel, c.bl_channel_raw(channel, value)) == pytest.approx(
        value, rel=1e-12, abs=1e-9
    )


@given(values=st.lists(st.floats(-5, 5), min_size=3, max_size=10))
def test_what_turns_within_the_range_is_not_monotone(values):
    """A claim of the code's against ten thousand samples."""
    calibration = Calibration(tuple(values))
    steps = np.diff(np.polynomial.polynomial.polyval(np.linspace(-2, 2, 10_001), values))
    both_ways = (steps > 1e-9).any() and (steps < -1e-9).any()
    assert not (both_ways and calibration.is_monotone(-2, 2))


def test_beyond_the_range_there_is_no_value(c):
    channel = in_c([0.0, 2.0], low=-10, high=10, least=-15, most=15)
    assert math.isnan(c.bl_channel_value(channel, 10.001))
    assert math.isnan(c.bl_channel_value(channel, math.nan))
    assert math.isnan(c.bl_channel_value(in_c([0.0, 2.0]), math.inf))
    assert math.isnan(c.bl_channel_raw(channel, 15.001))
    assert math.isnan(c.bl_channel_raw(channel, math.nan))
    assert c.bl_channel_raw(channel, 15.0) == 7.5
    assert math.isnan(c.bl_channel_raw(in_c([0.0, 2.0], low=-10, high=10), 20.001))


@given(
    name=st.sampled_from(NAMES), big=st.booleans(), at=st.integers(0, 7), share=st.floats(0, 1),
    wild=st.one_of(st.none(), st.floats()),
)  # fmt: skip
@settings(deadline=None)
def test_fields_are_those_of_struct(c, name, big, at, share, wild):
    least, most = type_range(name)
    value = wild if wild is not None else least * (1 - share) + most * share
    order = ">" if big else "<"
    buffer = ctypes.create_string_buffer(b"\xa5" * 16, 16)
    whole = not name.startswith("float")
    fits = math.isfinite(value) and least <= (np.rint(value) if whole else value) <= most
    wrote = c.bl_field_put(
        ctypes.cast(ctypes.addressof(buffer) + at, ctypes.c_char_p), NAMES.index(name), big, value
    )
    assert (wrote == 0) == fits
    if not fits:
        assert buffer.raw == b"\xa5" * 16
        return
    size = struct.calcsize(f"{order}{TYPES[name]}")
    number = int(np.rint(value)) if whole else float(np.float32(value)) if name == "float32" else value
    assert buffer.raw[at : at + size] == struct.pack(f"{order}{TYPES[name]}", number)
    assert buffer.raw[:at] + buffer.raw[at + size :] == b"\xa5" * (16 - size)
    read = c.bl_field_get(ctypes.cast(ctypes.addressof(buffer) + at, ctypes.c_char_p), NAMES.index(name), big)
    assert read == number


@given(data=st.binary(max_size=200))
@settings(deadline=None)
def test_checksums_are_pythons(c, data):
    assert c.bl_crc32(data, len(data)) == zlib.crc32(data)
    assert c.bl_crc16(data, len(data)) == binascii.crc_hqx(data, 0xFFFF)


def test_filter_and_auxiliary_channels(tmp_path):
    """A low-pass of first order; an auxiliary one is held within its range, and NaN keeps the last."""
    scipy_signal = pytest.importorskip("scipy.signal")
    gain = Calibration((0.0, 2.0))
    inputs = (
        LabChannel("a", "input", "N", "V", "0", gain, filter=20.0),
        LabChannel("b", "auxiliary", "N", "V", "1", gain, low=-1.0, high=1.0),
    )
    c = library(tmp_path, channels_c(Wiring(Channels(inputs), (), inputs, 1, 1e-3)))
    raw = np.random.default_rng(1).normal(size=(200, 2))
    raw[50, 1] = math.nan
    found = np.zeros((200, 2))
    for i in range(200):
        row, out = (ctypes.c_double * 2)(*raw[i]), (ctypes.c_double * 2)()
        c.bl_channels_measured(row, out)
        found[i] = out
    keep = math.exp(-2 * math.pi * 20.0 * 1e-3)
    x = 2 * raw[:, 0]
    wanted, _ = scipy_signal.lfilter(
        [1 - keep], [1, -keep], x, zi=[keep * x[0]]
    )  # it begins at the first value
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-12)
    clipped = 2 * np.clip(raw[:, 1], -1, 1)
    clipped[50] = clipped[49]
    np.testing.assert_allclose(found[:, 1], clipped, rtol=1e-14)


@pytest.mark.parametrize(
    ("values", "points", "words"),
    [
        ((1.0,) * 11, (), "1 to 10 coefficients"),
        ((1.0, 2.0), (0.0, 0.0), "must rise"),
        ((1.0,), (0.0,), "2 to 256 points"),
        ((math.inf, 1.0), (), "finite"),
    ],
)
def test_refuses_what_is_no_calibration(values, points, words):
    with pytest.raises(bondloop.errors.InputError, match=words):
        Calibration(values, points)
