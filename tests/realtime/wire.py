"""The packets of c/packet.h by Python's struct, and a SipHash: an independent reading of the layout."""

import struct

HEAD = struct.Struct("<4sHHQQQqII")
HELLO, ACCEPT, BUSY, REFUSE, COMMAND, MEASURED, BYE, ALIVE = range(1, 9)
MODEL = int.from_bytes(b"MODL", "little")
NO_KEY = bytes(16)
WORD = (1 << 64) - 1


def siphash(key, data):
    """SipHash-2-4 of bytes, as the paper has it (Aumasson and Bernstein 2012, section 2)."""
    k0, k1 = struct.unpack("<QQ", key)
    a, b, c, d = (
        k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573,
    )  # fmt: skip

    def turned(x, bits):
        return (x << bits | x >> (64 - bits)) & WORD

    def rounds(count, a, b, c, d):
        for _ in range(count):
            a = (a + b) & WORD
            c = (c + d) & WORD
            b = turned(b, 13) ^ a
            d = turned(d, 16) ^ c
            a = turned(a, 32)
            c = (c + b) & WORD
            a = (a + d) & WORD
            b = turned(b, 17) ^ c
            d = turned(d, 21) ^ a
            c = turned(c, 32)
        return a, b, c, d

    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) & 255])
    for (m,) in struct.iter_unpack("<Q", padded):
        a, b, c, d = rounds(2, a, b, c, d ^ m)
        a ^= m
    a, b, c, d = rounds(4, a, b, c ^ 255, d)
    return a ^ b ^ c ^ d


def pack(kind, session, sequence, echo, values, detail=0, stamp=0, key=NO_KEY):
    head = HEAD.pack(b"BLP2", 2, kind, session, sequence, echo, stamp, len(values), detail)
    body = head + struct.pack(f"<{len(values)}d", *values)
    return body + struct.pack("<Q", siphash(key, body))


def unpack(data, key=NO_KEY):
    magic, version, kind, session, sequence, echo, stamp, count, detail = HEAD.unpack_from(data)
    assert (magic, version) == (b"BLP2", 2)
    assert len(data) == HEAD.size + 8 * count + 8
    values = struct.unpack_from(f"<{count}d", data, HEAD.size)
    assert struct.unpack_from("<Q", data, len(data) - 8)[0] == siphash(key, data[:-8])
    return {
        "kind": kind, "session": session, "sequence": sequence, "echo": echo, "stamp": stamp,
        "values": list(values), "detail": detail,
    }  # fmt: skip
