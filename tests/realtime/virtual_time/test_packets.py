"""Packets byte for byte against an independent writer; sequence numbers against a list of all that came."""

import ctypes
import os
import random
import struct

import pytest
import wire

HEAD = struct.Struct("<4sHHQQQqII")
MOST = 170


class Packet(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_uint16), ("session", ctypes.c_uint64), ("sequence", ctypes.c_uint64),
        ("echo", ctypes.c_uint64), ("time_ns", ctypes.c_int64), ("count", ctypes.c_uint32),
        ("detail", ctypes.c_uint32), ("values", ctypes.c_double * MOST),
    )  # fmt: skip


class Sequence(ctypes.Structure):
    _fields_ = (("newest", ctypes.c_uint64), ("seen", ctypes.c_uint64))


class Counts(ctypes.Structure):
    names = ("sent", "received", "lost", "duplicated", "reordered", "corrupted", "foreign", "late")
    _fields_ = (*((n, ctypes.c_uint64) for n in names), ("age", ctypes.c_int64))


KEY = bytes(range(0x11, 0x21))


@pytest.fixture(params=[wire.NO_KEY, KEY], ids=["no key", "key"])
def key(library, request):
    """With a key, and without one; the library forgets it again."""
    libc = ctypes.CDLL(None)
    libc.setenv(b"BONDLOOP_KEY", request.param.hex().encode(), 1)
    assert library.bl_packet_key() == 0
    libc.getenv.restype = ctypes.c_char_p
    assert libc.getenv(b"BONDLOOP_KEY") is None  # everybody may read the environment
    yield request.param
    libc.setenv(b"BONDLOOP_KEY", wire.NO_KEY.hex().encode(), 1)
    library.bl_packet_key()


def read(library, data):
    packet = Packet()
    ctypes.memset(packet.values, 0xAA, ctypes.sizeof(packet.values))
    return (
        packet
        if library.bl_packet_read(data, ctypes.c_size_t(len(data)), ctypes.byref(packet)) == 0
        else None
    )


@pytest.mark.parametrize("count", [0, 1, 3, MOST])
def test_packets_as_the_layout_has_them(library, key, count):
    values = [(-1) ** i * 1.37 * (i + 1) for i in range(count)]
    given = (
        0xA5C3,
        0x0123456789ABCDEF,
        0xFEDCBA9876543210,
        0x8877665544332211,
        -0x0102030405060708,
        0x89ABCDEF,
    )
    kind, session, sequence, echo, stamp, detail = given
    packet = Packet(kind, session, sequence, echo, stamp, count, detail, (ctypes.c_double * MOST)(*values))
    data = (ctypes.c_ubyte * 2000)()
    library.bl_packet_write.restype = ctypes.c_size_t
    size = library.bl_packet_write(data, ctypes.byref(packet))
    expected = wire.pack(kind, session, sequence, echo, values, detail, stamp, key)
    assert bytes(data[:size]) == expected
    back = read(library, expected)
    assert (back.kind, back.session, back.sequence, back.echo, back.time_ns, back.detail) == given
    assert back.count == count
    assert list(back.values[:count]) == values
    assert bytes(back.values)[8 * count :] == b"\xaa" * 8 * (MOST - count)  # nothing is written behind them


def signed(body, key=wire.NO_KEY):
    return body + struct.pack("<Q", wire.siphash(key, body))


def packet_of(magic=b"BLP2", version=2, count=2, values=2):
    return signed(HEAD.pack(magic, version, 5, 6, 7, 8, 9, count, 10) + bytes(8 * values))


@pytest.mark.parametrize(
    ("changes", "intact"),
    [
        ({}, True), ({"magic": b"BLP1"}, False), ({"magic": b"CLP2"}, False), ({"version": 1}, False),
        ({"version": 3}, False), ({"version": 258}, False), ({"count": 1}, False), ({"count": 3}, False),
        ({"count": 0, "values": 0}, True), ({"count": MOST, "values": MOST}, True),
        ({"count": MOST + 1, "values": MOST + 1}, False),
        ({"count": 2 + 2**29}, False), ({"count": 2**32 - 1}, False),
    ],
)  # fmt: skip
def test_what_is_no_packet_is_refused_though_its_hash_is_right(library, changes, intact):
    assert (read(library, packet_of(**changes)) is not None) == intact


def test_pieces_of_packets_are_refused(library):
    whole = packet_of(count=3, values=3)
    for n in range(len(whole)):
        assert read(library, whole[:n]) is None
        if n > 8:
            assert read(library, signed(whole[: n - 8])) is None, n
    assert read(library, whole + b"\0") is None
    assert read(library, signed(whole + bytes(8))) is None


def test_one_bit_spoils_a_packet(library, key):
    whole = wire.pack(5, 6, 7, 8, [1.5, -2.5], key=key)
    for i in range(8 * len(whole)):
        data = bytearray(whole)
        data[i // 8] ^= 1 << i % 8
        assert read(library, bytes(data)) is None


def test_another_key_is_refused(library, key):
    other = KEY if key == wire.NO_KEY else wire.NO_KEY
    assert read(library, wire.pack(5, 6, 7, 8, [1.5], key=other)) is None
    assert read(library, wire.pack(5, 6, 7, 8, [1.5], key=key)) is not None


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("0123456789abcdeffedcba9876543210", True), ("0123456789abcdeffedcba987654321", False),
        ("0123456789abcdeffedcba98765432100", False), ("0123456789abcdeffedcba987654321g", False),
        ("0123456789abcdef fedcba987654321", False), ("", False),
        ("/" * 32, False), (":" * 32, False), ("@" * 32, False),
        ("`" * 32, False), ("A" * 32, False), ("g" * 32, False), ("g" + "0" * 31, False), ("0g" * 16, False),
    ],
)  # fmt: skip
def test_keys(library, text, good):
    libc = ctypes.CDLL(None)
    libc.setenv(b"BONDLOOP_KEY", text.encode(), 1)
    try:
        assert library.bl_packet_key() == (0 if good else -1)
        if good:
            assert read(library, wire.pack(5, 6, 7, 8, [1.5], key=bytes.fromhex(text))) is not None
    finally:
        libc.setenv(b"BONDLOOP_KEY", wire.NO_KEY.hex().encode(), 1)
        library.bl_packet_key()
    assert "BONDLOOP_KEY" not in os.environ


def test_without_a_key_in_the_environment_it_stays(library, key):
    assert library.bl_packet_key() == 0
    assert read(library, wire.pack(5, 6, 7, 8, [1.5], key=key)) is not None


def noted(library, numbers, newest=0):
    sequence, counts = Sequence(newest, 1 if newest else 0), Counts()
    newer = [
        library.bl_sequence_note(ctypes.byref(sequence), ctypes.c_uint64(n), ctypes.byref(counts))
        for n in numbers
    ]
    return newer, counts, sequence


@pytest.mark.parametrize(
    ("numbers", "newer", "lost", "duplicated", "reordered"),
    [
        ([1, 2, 3], [1, 1, 1], 0, 0, 0),
        ([1, 4], [1, 1], 2, 0, 0),
        ([1, 4, 2], [1, 1, 0], 1, 0, 1),
        ([1, 4, 2, 2, 3, 3], [1, 1, 0, 0, 0, 0], 0, 2, 2),
        ([5, 5, 5], [1, 0, 0], 4, 2, 0),
        ([64, 1], [1, 0], 62, 0, 1),  # just within the memory
        ([64, 1, 1], [1, 0, 0], 62, 1, 1),
        ([65, 1, 1], [1, 0, 0], 62, 0, 2),  # and just beyond: it cannot be known
        ([1, 64, 1], [1, 1, 0], 62, 1, 0),
        ([1, 65, 1], [1, 1, 0], 62, 0, 1),
        ([1, 65, 2], [1, 1, 0], 62, 0, 1),
        ([1, 2, 66, 2, 66], [1, 1, 1, 0, 0], 62, 1, 1),
        ([2, 66, 3, 3], [1, 1, 0, 0], 63, 1, 1),
        ([3, 66, 3, 4], [1, 1, 0, 0], 63, 1, 1),
        ([1, 2, 1000, 2], [1, 1, 1, 0], 996, 0, 1),
    ],
)
def test_sequence_numbers(library, numbers, newer, lost, duplicated, reordered):
    found, counts, _ = noted(library, numbers)
    assert found == newer
    assert (counts.lost, counts.duplicated, counts.reordered) == (lost, duplicated, reordered)


def test_what_was_lost_cannot_become_less_than_nothing(library):
    _, counts, _ = noted(library, [50, 51], newest=100)
    assert (counts.lost, counts.reordered) == (0, 2)


@pytest.mark.parametrize("seed", range(5))
def test_any_order(library, seed):
    """Within the memory of 64 each number is told apart: those lost are those that never came."""
    draw = random.Random(seed)
    numbers = [n for n in range(1, 300) if draw.random() < 0.8]
    numbers += draw.sample(numbers, 40)
    numbers.sort(key=lambda n: n + draw.uniform(0, 40))
    found, counts, sequence = noted(library, numbers)
    seen, newest = set(), 0
    for n, is_newer in zip(numbers, found, strict=True):
        assert is_newer == (n > newest)
        newest = max(n, newest)
        seen.add(n)
    assert sequence.newest == newest
    assert counts.duplicated == len(numbers) - len(seen)
    assert counts.lost == newest - len(seen)
