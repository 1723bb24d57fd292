"""The packets of c/packet.h by Python's struct and zlib: an independent reading of the layout."""

import struct
import zlib

HEAD = struct.Struct("<4sHHQQQqII")
HELLO, ACCEPT, BUSY, REFUSE, COMMAND, MEASURED, BYE, ALIVE = range(1, 9)


def pack(kind, session, sequence, echo, values, detail=0, stamp=0):
    head = HEAD.pack(b"BLP1", 1, kind, session, sequence, echo, stamp, len(values), detail)
    body = head + struct.pack(f"<{len(values)}d", *values)
    return body + struct.pack("<I", zlib.crc32(body))


def unpack(data):
    magic, version, kind, session, sequence, echo, stamp, count, detail = HEAD.unpack_from(data)
    assert (magic, version) == (b"BLP1", 1)
    assert len(data) == HEAD.size + 8 * count + 4
    values = struct.unpack_from(f"<{count}d", data, HEAD.size)
    assert struct.unpack_from("<I", data, len(data) - 4)[0] == zlib.crc32(data[:-4])
    return {
        "kind": kind, "session": session, "sequence": sequence, "echo": echo, "stamp": stamp,
        "values": list(values), "detail": detail,
    }  # fmt: skip
