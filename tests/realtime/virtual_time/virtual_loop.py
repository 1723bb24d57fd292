"""The executive in virtual time: `virtual.c` as a library; around it a test's clock, tick, link and rig."""

import ctypes
import itertools
import math
import os
import subprocess
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from bondloop.engine.codegen.toolchain import compiler

SOURCES = ("guard", "executive", "commands", "segment", "packet", "siphash", "link_udp")
COVERAGE = "BONDLOOP_C_COVERAGE"
"""Names a folder in which to build with gcov's counters: see tests/c_coverage.py."""

UNCONFIGURED, INACTIVE, ACTIVE, RETREAT, SAFE, FINALIZED = range(6)
OLD, FRESH, LOST = 0, 1, -1
START, SET, RESET, ARM = 1, 3, 5, 7
TRIP, PARK, STOP = "trip", "retreat", "stop"
T = 2_000_000
"""Period in ns."""


class Slot(NamedTuple):
    cycle: int
    step: int
    time: int
    wake: int
    busy: int
    exchange: int
    age: int
    state: int
    cause: int
    flags: int
    status: int
    channels: tuple


class Event(NamedTuple):
    mail: int
    cycle: int
    step: int
    kind: int
    index: int
    refused: int
    run: int
    time: int
    before: float
    value: float


DOUBLES = ctypes.POINTER(ctypes.c_double)
PLAYED = {
    "tick": ctypes.CFUNCTYPE(
        ctypes.c_int, DOUBLES, DOUBLES, DOUBLES, ctypes.c_double, ctypes.c_double, DOUBLES
    ),
    "exchange": ctypes.CFUNCTYPE(ctypes.c_int, DOUBLES, DOUBLES),
    "sleep": ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64),
    "refuse": ctypes.CFUNCTYPE(ctypes.c_int, DOUBLES),
    "stand": ctypes.CFUNCTYPE(ctypes.c_int, DOUBLES),
}
ARRAYS = {
    "safe": (ctypes.c_double, (0.25, -0.5)), "initial": (ctypes.c_double, (7.0, 8.0)),
    "parameters": (ctypes.c_double, (3.0, -4.0, 0.0)), "least": (ctypes.c_double, (2.0, -6.0, 1.0)),
    "most": (ctypes.c_double, (5.0, 6.0, -1.0)), "rate": (ctypes.c_double, (math.inf, math.inf)),
    "within": (ctypes.c_double, (math.inf, math.inf)), "bound": (ctypes.c_double, (math.inf,) * 6),
    "table": (ctypes.c_double, ()), "measured": (ctypes.c_double, (0.1, 0.2, 0.3)),
    "nonzero": (ctypes.c_int, (0, 1, 0)), "cause": (ctypes.c_int, (0,) * 6),
    "is_place": (ctypes.c_int, (1, 0)), "command_at": (ctypes.c_long, (1, 4)),
    "measured_at": (ctypes.c_long, (2, 1, 3)), "measured_channel": (ctypes.c_long, (5, -1, 0)),
    "place_measured": (ctypes.c_long, (0, -1)), "place_channel": (ctypes.c_long, (2, -1)),
}  # fmt: skip
WORDS = {
    "period": 0.002, "states": 2, "inputs": 4, "parameters": 3, "channels": 6, "commands": 2, "measured": 3,
    "judged": 2, "tables": 1, "interlock_cause": -1, "interlock_trip": -1, "segment.period_ns": T,
    "start": 1, "steps": 40, "gap_ns": 100 * T, "stale": 4, "retreat_cycles": 10, "table_rows": 1,
}  # fmt: skip


class Loop:
    """A loop with two commands and three measured values, of which two are judged; a test changes some of it.

    Words of the tick, its options, its link and the segment are items, by name; arrays are attributes. `at`
    holds what happens at the beginning of a cycle, by number.
    """

    begin = 7_000_000_321  # no multiple of the period

    def __init__(self, library):
        self.library = library
        if library.virtual_new(f"bondloop-virtual-{os.getpid()}".encode()):
            raise OSError("no shared memory for a segment")
        for name, (kind, values) in ARRAYS.items():
            array = (kind * (64 if name == "table" else 8)).in_dll(library, f"virtual_{name}")
            ctypes.memset(array, 0, ctypes.sizeof(array))
            array[: len(values)] = values
            setattr(self, name, array)
        self.clock = ctypes.c_int64.in_dll(library, "virtual_now")
        self.age = ctypes.c_long.in_dll(library, "virtual_age")
        self.clock.value = self.begin
        for name, value in WORDS.items():
            self[name] = value
        self.at, self.sent, self.slept, self.enables = {}, [], [], []
        self.cycle = -1
        self.late = {}
        """By number of the cycle: ns that it is woken up late; below, that its tick and its link take."""
        self.slow, self.slow_sending, self.slow_receiving = {}, {}, {}
        for name, kind in PLAYED.items():
            played = kind(getattr(self, f"_{name}"))
            setattr(self, f"_kept_{name}", played)
            ctypes.c_void_p.in_dll(library, f"virtual_{name}").value = ctypes.cast(
                played, ctypes.c_void_p
            ).value

    def __setitem__(self, name, value):
        assert self.library.virtual_set(name.encode(), ctypes.c_double(value)) == 0, name

    def __getitem__(self, name):
        value = ctypes.c_double()
        assert self.library.virtual_get(name.encode(), ctypes.byref(value)) == 0, name
        return value.value

    # What a test may replace.

    def commands(self, k):
        """The commands of tick k."""
        return 0.3 + 0.01 * k, -0.7 - 0.02 * k

    def compute(self, state, parameters, inputs, t, k, channels):
        """A tick: its status."""
        state[0] += 1.0
        channels[0], channels[2], channels[3], channels[5] = state[0], inputs[2], 0.0, inputs[0]
        channels[1], channels[4] = self.commands(k)
        return 0

    def sensors(self, cycle):
        """The measured values of a cycle; None: nothing new; LOST."""
        return 0.1 + 0.001 * cycle, 0.2 - 0.002 * cycle, 0.3

    def send(self, commands):
        """What becomes of commands, None where nothing is commanded: OLD, or LOST."""
        return OLD

    def refuse(self, commands):
        """Whether the outputs refuse commands."""
        return 0

    def stand(self, measured):
        """Whether the rig stands where it may not."""
        return 0

    # What the library calls.

    def _begin(self):
        self.cycle += 1
        self.at.get(self.cycle, lambda: None)()

    def _sleep(self, instant, spin):
        self.slept.append((instant, spin))
        if self["lock_step"]:
            return
        self.clock.value += self.late.get(self.cycle + 1, 0)
        self._begin()

    def _tick(self, state, parameters, inputs, t, k, channels):
        self.clock.value += self.slow.get(self.cycle, 0)
        return self.compute(state, parameters, inputs, t, int(k), channels)

    def _exchange(self, commands, measured):
        if commands or not measured:
            given = tuple(commands[: len(self.commands(0))]) if commands else None
            self.sent.append(given)
            self.enables.append(int(self["wire.enable"]))
            self.clock.value += self.slow_sending.get(self.cycle, 0)
            came = self.send(given)
            if not measured:
                return came
        if commands or self["hot"]:
            self._begin()
        self.clock.value += self.slow_receiving.get(self.cycle, 0)
        seen = self.sensors(self.cycle)
        if seen in (None, LOST):
            return OLD if seen is None else LOST
        for i, value in enumerate(seen):
            measured[i] = value
        return FRESH

    def _refuse(self, commands):
        return self.refuse(tuple(commands[:2]))

    def _stand(self, measured):
        return self.stand(tuple(measured[:3]))

    # What a test does.

    def mail(self, kind, index=0, value=0.0, more=0, spoiled=0):
        self.library.virtual_mail(kind, index, ctypes.c_double(value), ctypes.c_uint64(more), spoiled)

    def request(self, what, cause=0):
        self.library.virtual_request((TRIP, PARK, STOP).index(what), ctypes.c_uint64(cause))

    def stop(self):
        self.request(STOP)

    def fault(self, code, words):
        self.library.virtual_fault(code, words.encode())

    def run(self):
        """Run to the end; the exit code."""
        code = self.library.virtual_execute()
        assert code != -1, f"the loop does not end; {self.cycle + 1} cycles, state {self['segment.state']}"
        return code

    @property
    def slots(self):
        words, channels, rows = (ctypes.c_int64 * 11)(), (ctypes.c_double * 8)(), []
        for i in range(int(self["segment.written"])):
            self.library.virtual_slot(i, words, channels)
            rows.append(Slot(*words, tuple(channels[:6])))
        return rows

    @property
    def events(self):
        words, values, rows = (ctypes.c_int64 * 8)(), (ctypes.c_double * 2)(), []
        for i in range(int(self["segment.events_written"])):
            self.library.virtual_event(i, words, values)
            rows.append(Event(*words, *values))
        return rows

    @property
    def states(self):
        """The states in their order, each with how many cycles it lasted."""
        return [(s, len(list(g))) for s, g in itertools.groupby(slot.state for slot in self.slots)]

    @property
    def trip(self):
        """Cause, cycle, step and detail of the trip."""
        return tuple(
            int(self[f"segment.{w}"]) for w in ("cause", "cause_cycle", "cause_step", "cause_detail")
        )

    def column(self, channel):
        return [slot.channels[channel] for slot in self.slots]


def build(folder, coverage):
    """Compile `virtual.c` and what it is about; return the library's path."""
    c = resources.files("bondloop.realtime") / "c"
    flags = [
        "-std=gnu11",
        "-g0",
        "-O0",
        "-w",
        "-fPIC",
        "-Dclock_gettime=virtual_clock",
        "-Dcalloc=virtual_calloc",
    ]
    flags += ["--coverage", "-DVIRTUAL_COVERAGE"] if coverage else []
    texts = [
        *(str(c / f"{name}.c") for name in SOURCES),
        *map(str, sorted(Path(__file__).parent.glob("*.c"))),
    ]
    library = folder / "virtual.so"
    subprocess.run(
        [*compiler().command, *flags, f"-I{c}", "-shared", *texts, "-lm", "-o", str(library)],
        check=True,
        cwd=folder,
    )
    return library


def word(library, name):
    """A flag that signals set."""
    return ctypes.c_int.in_dll(library, name)


def ramp(start, safe, cycles):
    """The raised cosine between commands, which ends at the safe ones in so many cycles: the closed form."""
    shares = [math.cos(math.pi * j / (2 * cycles)) ** 2 for j in range(1, cycles)]
    return [tuple(s * a + (1 - s) * b for a, b in zip(start, safe, strict=True)) for s in shares] + [
        tuple(safe)
    ]
