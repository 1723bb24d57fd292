"""A browser without a window: says hello, asks, and hears."""

import json
import secrets
import time
from contextlib import contextmanager

from websockets.sync.client import connect

from bondloop.dashboard.frames import unpacked

LIMIT = 60
"""Seconds after which what should have happened has not."""


class Talk:
    def __init__(self, socket, badge=None, name="tester"):
        self.socket, self.badge = socket, badge or secrets.token_hex(16)
        self.number, self.frames, self.status, self.loop, self.events = 0, [], {}, {}, []
        self.say(hello=self.badge, name=name)

    def say(self, **message):
        self.socket.send(json.dumps(message))

    def hear(self, timeout=LIMIT):
        """Hear one message, and return it: a frame or a dictionary."""
        data = self.socket.recv(timeout)
        if isinstance(data, bytes):
            frame = unpacked(data)
            self.frames.append(frame)
            return frame
        message = json.loads(data)
        kind = message.get("type")
        if kind in ("status", "loop"):
            setattr(self, kind, message)
        elif kind == "events":
            self.events += message["events"]
        return message

    def ask(self, do, **more):
        """Ask for something; return the answer."""
        self.number += 1
        self.say(do=do, id=self.number, **more)
        return self.until(
            lambda m: isinstance(m, dict) and m.get("type") == "answer" and m["id"] == self.number
        )

    def until(self, fits):
        """Hear until a message fits; return it."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            message = self.hear()
            if isinstance(message, tuple):
                self.say(got=message[0])
            if fits(message):
                return message
        raise AssertionError("it has not come")

    def state(self, wanted):
        return self.until(lambda _: (self.status.get("loop") or {}).get("state") == wanted)


@contextmanager
def talking(server, **more):
    # A queue that is full keeps the client from hearing that it was closed: it would wait for ten seconds.
    with connect(server.socket, origin=server.url, max_size=None, max_queue=None) as socket:
        yield Talk(socket, **more)
