"""Which packets each end of the UDP link obeys: the other end is a test, which gives them one by one."""

import contextlib
import ctypes
import socket
import threading

import pytest
import wire
from test_packets import Counts

NOTHING, OPENED, COMMAND, AGAIN, CLOSED, ALIVE = range(6)
OLD, FRESH, LOST, BUSY, FAILED = 0, 1, -1, -2, -3
KNOWN, ENABLE, BEAT, PRESSED = 1, 2, 4, 2
SIGNATURE, PERIOD = 0xCAFE1234, 0.002
OFFER = [2.0, 3.0, PERIOD, 0.0, 0.25, -0.5]
NAN, INF = float("nan"), float("inf")


def doubles(values):
    return (ctypes.c_double * max(1, len(values)))(*values)


def counted(pointer):
    counts = Counts.from_address(pointer)
    return {n: getattr(counts, n) for n in Counts.names if getattr(counts, n)}


class Rig:
    """The rig's end, in C, and sockets of loops that talk to it."""

    def __init__(self, library):
        self.c = library
        for name in ("virtual_rig_counts", "virtual_rig_safe"):
            getattr(library, name).restype = ctypes.c_void_p
        self.port = library.virtual_rig_open(2, 3, ctypes.c_uint32(SIGNATURE), ctypes.c_double(PERIOD))
        assert self.port > 0
        self.sockets = []
        self.loop = self.socket()

    def socket(self):
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.settimeout(10)
        one.connect(("127.0.0.1", self.port))
        self.sockets.append(one)
        return one

    def put(self, kind, session, sequence=0, values=(), detail=0, by=None):
        (by or self.loop).send(wire.pack(kind, session, sequence, 0, list(values), detail))

    def take(self, kind, session, sequence=0, values=(), detail=0, by=None):
        """What comes of one packet."""
        self.put(kind, session, sequence, values, detail, by)
        return self.receive()

    def receive(self, wait=0):
        self.commands = doubles([77.0, 77.0])
        return self.c.virtual_rig_receive(self.commands, ctypes.c_int64(wait))

    def greet(self, session=0xABC, offer=OFFER, detail=SIGNATURE, by=None):
        return self.take(wire.HELLO, session, 9, offer, detail, by)

    def answer(self, accept, values, pressed=0):
        self.c.virtual_rig_answer(accept, doubles(values), pressed)
        return wire.unpack(self.loop.recv(2000))

    def open(self, offer=OFFER):
        assert self.greet(offer=offer) == OPENED
        self.session = 0xABC ^ self.answer(1, [1.5, -2.5, 3.5])["echo"]
        return self.session

    @property
    def counts(self):
        return counted(self.c.virtual_rig_counts())

    @property
    def safe(self):
        return list((ctypes.c_double * 2).from_address(self.c.virtual_rig_safe()))

    def close(self):
        self.c.virtual_rig_close()
        for one in self.sockets:
            one.close()


@pytest.fixture
def rig(library):
    rig = Rig(library)
    yield rig
    rig.close()


# --------------------------------------------------------------------------------------- the rig: greetings


@pytest.mark.parametrize("pressed", [0, 1])
def test_a_greeting_is_accepted(rig, pressed):
    assert rig.receive() == NOTHING
    assert rig.greet() == OPENED
    assert rig.safe == [0.25, -0.5]
    assert rig.c.virtual_rig_withdrawn() == 1
    assert rig.c.virtual_rig_lock_step() == 0
    answer = rig.answer(1, [1.5, -2.5, 3.5], pressed)
    assert (answer["kind"], answer["session"], answer["detail"]) == (wire.ACCEPT, 0xABC, wire.MODEL)
    assert answer["sequence"] == KNOWN | PRESSED * pressed
    assert answer["values"] == [1.5, -2.5, 3.5]
    assert answer["echo"] != 0
    assert rig.counts == {}


def changed(index, value):
    offer = list(OFFER)
    offer[index] = value
    return offer


@pytest.mark.parametrize(
    ("offer", "detail"),
    [
        (changed(0, 1.0), SIGNATURE),
        (changed(0, 3.0), SIGNATURE),
        (changed(1, 2.0), SIGNATURE),
        (changed(1, 4.0), SIGNATURE),
        (changed(2, 0.003), SIGNATURE),
        (changed(2, -PERIOD), SIGNATURE),
        (changed(4, NAN), SIGNATURE),
        (changed(5, INF), SIGNATURE),
        (changed(0, NAN), SIGNATURE),
        (OFFER[:-1], SIGNATURE),
        ([*OFFER, 0.5], SIGNATURE),
        ([], SIGNATURE),
        (OFFER, SIGNATURE + 1),
        (OFFER, 0),
    ],
)
def test_a_greeting_that_does_not_suit_is_refused_and_nothing_is_told(rig, offer, detail):
    assert rig.greet(offer=offer, detail=detail) == NOTHING
    answer = wire.unpack(rig.loop.recv(2000))
    assert (answer["kind"], answer["session"]) == (wire.REFUSE, 0xABC)
    assert (answer["sequence"], answer["echo"], answer["detail"], answer["values"]) == (0, 0, 0, [])
    assert rig.safe == [0, 0]
    assert rig.greet() == OPENED  # and another one may come


def test_a_greeting_in_a_session_is_turned_away(rig):
    session = rig.open()
    assert rig.take(wire.COMMAND, session, 5, [0.5, -0.5]) == COMMAND
    assert rig.answer(0, [1, 2, 3])["sequence"] == 1
    other = rig.socket()
    for by, asked in ((other, 0xABC), (other, 0xDEF), (rig.loop, 0xDEF)):
        assert rig.greet(asked, by=by) == NOTHING
        answer = wire.unpack(by.recv(2000))
        assert (answer["kind"], answer["session"], answer["values"]) == (wire.BUSY, asked, [])
        assert (answer["sequence"], answer["echo"], answer["detail"]) == (0, 0, 0)
    after = rig.answer(0, [1, 2, 3])  # the session has lost nothing by it
    assert (after["session"], after["sequence"], after["echo"]) == (session, 2, 5)


@pytest.mark.parametrize("sign_of_life", [wire.COMMAND, wire.ALIVE])
def test_a_copy_of_the_greeting_is_answered_until_the_loop_has_its_answer(rig, sign_of_life):
    session = rig.open()
    assert rig.greet() == OPENED
    again = rig.answer(1, [1.5, -2.5, 3.5])
    assert 0xABC ^ again["echo"] == session  # the same session
    values = [0.5, -0.5] if sign_of_life == wire.COMMAND else []
    assert rig.take(sign_of_life, session, 1, values) in (COMMAND, ALIVE)
    assert rig.greet() == NOTHING
    rig.loop.setblocking(False)
    with pytest.raises(BlockingIOError):
        rig.loop.recv(2000)


def test_after_a_release_somebody_else_may_come(rig):
    old = rig.open()
    rig.c.virtual_rig_release()
    assert rig.take(wire.COMMAND, old, 1, [0.5, -0.5]) == NOTHING
    assert rig.counts == {"foreign": 1}
    other = rig.socket()
    assert rig.greet(0xDEF, by=other) == OPENED
    assert rig.c.virtual_rig_withdrawn() == 1


def test_numbers_begin_anew_with_a_session(rig):
    old = rig.open()
    assert rig.take(wire.COMMAND, old, 50, [0.5, -0.5], KNOWN | ENABLE) == COMMAND
    assert rig.answer(0, [1, 2, 3])["echo"] == 50
    assert rig.take(wire.BYE, old) == CLOSED
    session = rig.open()
    assert rig.c.virtual_rig_withdrawn() == 1
    answer = rig.answer(0, [1, 2, 3])
    assert (answer["session"], answer["sequence"], answer["echo"]) == (session, 1, 0)
    assert rig.take(wire.COMMAND, session, 1, [0.5, -0.5]) == COMMAND


# ----------------------------------------------------------------------------------------- the rig: commands


@pytest.mark.parametrize(
    ("word", "withdrawn"),
    [
        (0, 0),
        (KNOWN, 1),
        (KNOWN | ENABLE, 0),
        (ENABLE, 0),
        (KNOWN | BEAT, 1),
        (KNOWN | ENABLE | BEAT, 0),
        (BEAT, 0),
    ],
)
@pytest.mark.parametrize("kind", [wire.COMMAND, wire.ALIVE])
def test_the_enable_comes_with_every_packet(rig, word, withdrawn, kind):
    session = rig.open()
    values = [0.5, -0.5] if kind == wire.COMMAND else []
    rig.take(kind, session, 1, values, KNOWN if not withdrawn else KNOWN | ENABLE)
    assert rig.c.virtual_rig_withdrawn() == (not withdrawn)
    rig.take(kind, session, 2, values, word)
    assert rig.c.virtual_rig_withdrawn() == withdrawn


@pytest.mark.parametrize("pressed", [0, 1])
def test_a_command_is_obeyed_and_answered(rig, pressed):
    session = rig.open()
    assert rig.take(wire.COMMAND, session, 4, [0.5, -1.5]) == COMMAND
    assert list(rig.commands) == [0.5, -1.5]
    answer = rig.answer(0, [1.5, 2.5, -3.5], pressed)
    assert answer["kind"] == wire.MEASURED
    assert (answer["session"], answer["sequence"], answer["echo"]) == (session, 1, 4)
    assert answer["detail"] == KNOWN | PRESSED * pressed
    assert answer["values"] == [1.5, 2.5, -3.5]
    assert rig.answer(0, [1.5, 2.5, -3.5])["sequence"] == 2
    assert rig.counts == {"received": 1, "sent": 2, "lost": 3}


def test_of_several_commands_the_newest_is_obeyed(rig):
    session = rig.open()
    for number in (1, 3, 2):
        rig.put(
            wire.COMMAND, session, number, [0.5 * number, -number], KNOWN | (ENABLE if number == 3 else 0)
        )
    assert rig.receive() == COMMAND
    assert list(rig.commands) == [1.5, -3]
    assert rig.c.virtual_rig_withdrawn() == 0
    assert rig.take(wire.COMMAND, session, 3, [9, 9]) == NOTHING
    assert list(rig.commands) == [77, 77]
    assert rig.counts == {"received": 4, "reordered": 1, "duplicated": 1}


def test_a_command_that_is_heard_only_is_not_answered(rig):
    session = rig.open()
    rig.put(wire.COMMAND, session, 4, [0.5, -1.5])
    assert rig.c.virtual_rig_receive(None, ctypes.c_int64(0)) == COMMAND
    assert rig.answer(0, [1, 2, 3])["echo"] == 0


def test_who_is_alive_and_commands_nothing(rig):
    session = rig.open()
    assert rig.take(wire.ALIVE, session, 0) == ALIVE
    for kind in (wire.COMMAND, wire.ALIVE):
        rig.put(kind, session, 1, [0.5, -1.5] if kind == wire.COMMAND else [])
    assert rig.receive() == COMMAND
    assert rig.counts == {"received": 1}


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ([0.5], {}),
        ([0.5, 0.5, 0.5], {}),
        ([], {}),
        ([NAN, 0.5], {"corrupted": 1}),
        ([0.5, INF], {"corrupted": 1}),
        ([0.5, -INF], {"corrupted": 1}),
    ],
)
def test_commands_that_make_no_sense_are_not_obeyed(rig, values, counts):
    session = rig.open()
    assert rig.take(wire.COMMAND, session, 1, values) == NOTHING
    assert list(rig.commands) == [77, 77]
    assert rig.counts == counts


@pytest.mark.parametrize("kind", [wire.COMMAND, wire.ALIVE, wire.BYE])
def test_strangers_are_not_obeyed(rig, kind):
    """Neither another session, nor the session as it was asked for, nor the right one from another place."""
    values = [0.5, -0.5] if kind == wire.COMMAND else []
    assert rig.take(kind, 0, 1, values) == NOTHING  # no session is open, and it has no number
    session = rig.open()
    assert rig.take(kind, session + 1, 1, values) == NOTHING
    assert rig.take(kind, 0xABC, 1, values) == NOTHING
    assert rig.take(kind, session, 1, values, by=rig.socket()) == NOTHING
    assert rig.counts == {"foreign": 4}
    assert rig.take(kind, session, 1, values) != NOTHING


def test_noise_is_counted_and_what_follows_obeyed(rig):
    session = rig.open()
    rig.loop.send(b"noise")
    rig.loop.send(b"more")
    assert rig.take(wire.COMMAND, session, 1, [0.5, -0.5]) == COMMAND
    assert rig.counts == {"corrupted": 2, "received": 1}
    for _ in range(2):
        assert rig.take(wire.COMMAND, session, 2, [NAN, -0.5]) == NOTHING
    assert rig.counts == {"corrupted": 4, "received": 1}


def test_goodbye(rig):
    session = rig.open()
    rig.put(wire.COMMAND, session, 1, [0.5, -0.5])
    assert rig.take(wire.BYE, session) == CLOSED
    assert rig.take(wire.COMMAND, session, 2, [0.5, -0.5]) == NOTHING


def test_in_lock_step_one_command_at_a_time(rig):
    session = rig.open([*OFFER[:3], 1.0, *OFFER[4:]])
    assert rig.c.virtual_rig_lock_step() == 1
    rig.put(wire.COMMAND, session, 1, [0.5, -0.5])
    rig.put(wire.COMMAND, session, 2, [0.6, -0.6])
    rig.put(wire.ALIVE, session)
    assert (rig.receive(), list(rig.commands)) == (COMMAND, [0.5, -0.5])
    assert (rig.receive(), list(rig.commands)) == (COMMAND, [0.6, -0.6])
    rig.put(wire.COMMAND, session, 3, [0.7, -0.7])
    assert rig.receive() == ALIVE
    assert rig.receive() == COMMAND
    assert rig.take(wire.COMMAND, session, 3, [0.7, -0.7]) == AGAIN
    assert rig.take(wire.COMMAND, session, 2, [0.6, -0.6]) == NOTHING


def test_a_rig_may_sleep_until_something_comes(rig):
    """It wakes up when it comes, long before the two minutes are over."""
    session = rig.open()
    later = threading.Timer(0.1, rig.put, (wire.COMMAND, session, 1, [0.5, -0.5]))
    later.start()
    assert rig.receive(wait=120_000_000_000) == COMMAND
    later.join()


def test_on_a_clock_nothing_is_answered_again(rig):
    session = rig.open()
    assert rig.take(wire.COMMAND, session, 1, [0.5, -0.5]) == COMMAND
    assert rig.take(wire.COMMAND, session, 1, [0.5, -0.5]) == NOTHING


# -------------------------------------------------------------------------------------------- the loop's end


class End:
    """The loop's end, in C, and a rig's socket."""

    def __init__(self, library):
        self.c = library
        library.virtual_loop_counts.restype = ctypes.c_void_p
        library.virtual_loop_message.restype = ctypes.c_char_p
        self.rig = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.rig.bind(("127.0.0.1", 0))
        self.rig.settimeout(20)
        self.sequence = 0
        self.measured = doubles([77.0, 77.0, 77.0])

    def open(self, *answers, lock_step=0):
        """Greet, with answers as a function of the session gives them; what `open` returns."""
        found, address = [], f"127.0.0.1:{self.rig.getsockname()[1]}".encode()
        self.address = address  # the library keeps it

        def greet():
            found.append(
                self.c.virtual_loop_open(address, 2, 3, ctypes.c_uint32(SIGNATURE), lock_step, self.measured)
            )

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        data, self.loop = self.rig.recvfrom(2000)
        self.hello = wire.unpack(data)
        for answer in answers:
            self.send(*answer(self.hello["session"]))
        thread.join(20)
        assert found
        return found[0]

    def begin(self, lock_step=0, word=KNOWN, detail=wire.MODEL):
        accept = lambda session: (wire.ACCEPT, session, word, 0x5A5A, [1.5, -2.5, 3.5], detail)  # noqa: E731
        assert self.open(accept, lock_step=lock_step) == FRESH
        self.session = self.hello["session"] ^ 0x5A5A
        return self

    def send(self, kind, session, sequence, echo, values, detail):
        self.rig.sendto(wire.pack(kind, session, sequence, echo, values, detail), self.loop)

    def measure(self, values, echo=0, detail=KNOWN, sequence=None):
        self.sequence = self.sequence + 1 if sequence is None else sequence
        self.send(wire.MEASURED, self.session, self.sequence, echo, values, detail)

    def exchange(self, commands=None, enable=0, measured=True):
        self.measured = doubles([77.0, 77.0, 77.0])
        given = None if commands is None else doubles(commands)
        return self.c.virtual_loop_exchange(given, self.measured if measured else None, enable)

    def sent(self):
        return wire.unpack(self.rig.recv(2000))

    @property
    def counts(self):
        return counted(self.c.virtual_loop_counts())

    @property
    def age(self):
        return Counts.from_address(self.c.virtual_loop_counts()).age


@pytest.fixture
def end(library):
    end = End(library)
    yield end
    library.virtual_loop_close()
    end.rig.close()


@pytest.mark.parametrize(
    ("word", "detail", "known"),
    [(0, 0, 0), (KNOWN, 0, 2), (KNOWN | PRESSED, 0, 6), (PRESSED, wire.MODEL, 1), (0, 1, 0)]
)  # fmt: skip
def test_a_loop_greets_and_is_accepted(end, word, detail, known):
    end.begin(word=word, detail=detail)
    assert (end.hello["kind"], end.hello["detail"]) == (wire.HELLO, SIGNATURE)
    assert end.hello["values"] == [2, 3, PERIOD, 0, 0.25, -0.5]
    assert list(end.measured) == [1.5, -2.5, 3.5]
    assert end.c.virtual_loop_rig() == known


def test_what_is_no_answer_is_left_aside(end):
    def accept(other, values):
        return lambda session: (wire.ACCEPT, session + other, 0, 0x11, values, 0)

    found = end.open(
        accept(1, [9, 9, 9]), accept(0, [9, 9]), accept(0, [9, 9, 9, 9]), accept(0, [1.5, -2.5, 3.5])
    )
    assert found == FRESH
    assert list(end.measured) == [1.5, -2.5, 3.5]


@pytest.mark.parametrize(
    ("kind", "found", "words"),
    [(wire.BUSY, BUSY, b"in use by another loop"), (wire.REFUSE, FAILED, b"other signals")]
)  # fmt: skip
def test_a_loop_is_turned_away(end, kind, found, words):
    assert end.open(lambda session: (kind, session, 0, 0, [], 0)) == found
    assert words in end.c.virtual_loop_message()


@pytest.mark.parametrize("enable", [0, 1, 3])
def test_commands_and_signs_of_life(end, enable):
    end.begin()
    word = KNOWN | (ENABLE if enable & 1 else 0) | (BEAT if enable & 2 else 0)
    assert end.exchange([0.5, -1.5], enable, measured=False) == OLD
    told = end.sent()
    assert (told["kind"], told["session"], told["sequence"], told["detail"]) == (
        wire.COMMAND,
        end.session,
        1,
        word,
    )
    assert told["values"] == [0.5, -1.5]
    assert end.exchange(None, enable, measured=False) == OLD
    told = end.sent()
    assert (told["kind"], told["session"], told["sequence"], told["detail"]) == (
        wire.ALIVE,
        end.session,
        1,
        word,
    )
    assert told["values"] == []
    assert end.exchange([0.5, -1.5], enable, measured=False) == OLD
    assert end.sent()["sequence"] == 2
    assert end.counts == {"sent": 2}


def test_the_newest_measurement_counts(end):
    end.begin()
    for _ in range(4):
        end.exchange([0.5, -1.5], measured=False)
    for number, echo in ((1, 1), (3, 3), (2, 2)):
        end.measure([0.5 * number, -number, 1], echo, sequence=number)
    assert end.exchange() == FRESH
    assert list(end.measured) == [1.5, -3, 1]
    assert end.age == 1
    assert end.counts == {"sent": 4, "received": 3, "reordered": 1, "late": 1}
    assert end.exchange() == OLD
    assert list(end.measured) == [77, 77, 77]
    end.measure([5, 6, 7], 4, sequence=4)
    assert end.exchange() == FRESH
    assert (end.age, end.counts["late"]) == (0, 2)


@pytest.mark.parametrize(
    ("words", "stopped"),
    [
        ((KNOWN,), False),
        ((KNOWN | PRESSED,), True),
        ((PRESSED,), False),
        ((KNOWN | PRESSED, KNOWN), True),
        ((KNOWN, KNOWN | PRESSED), True),
        ((0,), False),
    ],
)
def test_the_emergency_stop_is_seen_in_any_packet(end, words, stopped):
    end.begin()
    for word in words:
        end.measure([1, 2, 3], detail=word)
    assert end.exchange() == FRESH
    assert end.c.virtual_loop_rig() == 3 + 4 * stopped
    end.measure([1, 2, 3], detail=KNOWN)
    end.exchange()
    assert end.c.virtual_loop_rig() == 3


def test_without_news_the_emergency_stop_stays_as_it_was(end):
    end.begin(word=KNOWN | PRESSED)
    assert end.exchange() == OLD
    assert end.c.virtual_loop_rig() == 7


def test_what_is_no_measurement_is_counted(end):
    end.begin()
    end.rig.sendto(b"noise", end.loop)
    end.send(wire.MEASURED, end.session + 1, 1, 0, [1, 2, 3], KNOWN | PRESSED)
    end.send(wire.MEASURED, end.session, 1, 1, [1, 2, 3], KNOWN | PRESSED)  # answers what was never sent
    end.send(wire.MEASURED, end.session, 1, 0, [1, 2], KNOWN | PRESSED)
    end.send(wire.MEASURED, end.session, 1, 0, [1, 2, 3, 4], KNOWN | PRESSED)
    end.send(wire.COMMAND, end.session, 1, 0, [1, 2, 3], KNOWN | PRESSED)
    end.send(
        wire.ACCEPT, end.hello["session"], 1, 0, [1, 2, 3], KNOWN | PRESSED
    )  # a late answer to a greeting
    end.send(wire.ACCEPT, end.session, 1, 0, [1, 2, 3], KNOWN | PRESSED)
    end.send(wire.BYE, end.hello["session"], 1, 0, [], 0)
    assert end.exchange() == OLD
    assert end.c.virtual_loop_rig() == 3
    assert end.counts == {"corrupted": 2, "foreign": 2}
    end.measure([1, 2, 3])
    assert end.exchange() == FRESH


def test_goodbye_from_the_rig_is_a_lost_link(end):
    end.begin()
    end.send(wire.BYE, end.session, 0, 0, [], 0)
    assert end.exchange() == LOST


def test_goodbye_to_the_rig(end):
    end.begin()
    end.c.virtual_loop_close()
    told = end.sent()
    assert (told["kind"], told["session"], told["values"], told["detail"]) == (
        wire.BYE,
        end.session,
        [],
        KNOWN,
    )


@pytest.mark.parametrize(("piled", "first"), [(255, FRESH), (256, OLD), (300, OLD)])
def test_what_has_lain_in_a_queue_is_old(end, piled, first):
    """A call takes 256 packets at most; a measurement counts once the queue was found empty twice."""
    end.begin()
    for i in range(piled):
        end.measure([i, 2, 3], detail=KNOWN | PRESSED * (i == 3))
    assert end.exchange() == first
    assert end.c.virtual_loop_rig() == 7  # the stop is believed all the same
    end.measure([1000, 2, 3])
    assert end.exchange() == (FRESH if first == FRESH else OLD)
    end.measure([1001, 2, 3])
    assert end.exchange() == FRESH
    assert end.measured[0] == 1001


def test_in_lock_step_the_answer_to_the_last_command_counts(end):
    end.begin(lock_step=1)
    assert end.hello["values"][3] == 1
    end.measure([9, 9, 9], echo=0)
    end.measure([5, 6, 7], echo=1)
    end.measure([8, 8, 8], echo=1)
    assert end.exchange([0.5, -0.5]) == FRESH
    assert list(end.measured) == [5, 6, 7]
    assert end.age == 0
    assert end.exchange(None, measured=False) == OLD  # takes what has come meanwhile
    assert end.counts["received"] == 3
    end.send(wire.BYE, end.session, 0, 0, [], 0)
    assert end.exchange([0.5, -0.5]) == LOST


def test_in_lock_step_any_number_may_have_come(end):
    end.begin(lock_step=1)
    for i in range(299):
        end.measure([i, 2, 3], echo=0)
    end.measure([5, 6, 7], echo=1)
    assert end.exchange([0.5, -0.5]) == FRESH
    assert list(end.measured) == [5, 6, 7]


def test_in_lock_step_silence_is_a_lost_link(end):
    """A thousand seconds pass on the clock, which moves only here; the command is sent again meanwhile."""
    end.begin(lock_step=1)
    clock, found = ctypes.c_int64.in_dll(end.c, "virtual_now"), []
    thread = threading.Thread(target=lambda: found.append(end.exchange([0.5, -0.5])), daemon=True)
    thread.start()
    assert end.sent()["sequence"] == 1
    end.rig.settimeout(0.1)
    for _ in range(600):  # it may not have looked at the clock before
        clock.value += 20_000_001
        with contextlib.suppress(TimeoutError):
            again = end.sent()
            break
    assert (again["kind"], again["sequence"], again["values"]) == (wire.COMMAND, 1, [0.5, -0.5])
    assert not found
    clock.value += 1_000_000_000_000
    thread.join(60)
    assert found == [LOST]
