"""The loop of the executive, written in Python: sleep until an instant, tick, check, record, count.

The tick is the compiled one, called through ctypes. Run by realtime.py, with a JSON object on standard input;
wake-up latencies, working times and beginnings of all cycles go to standard output as 64-bit integers, in ns.
"""

import contextlib
import ctypes
import gc
import json
import math
import os
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

CLOCK_MONOTONIC, TIMER_ABSTIME = 1, 1
PR_SET_TIMERSLACK = 29
LOCK_ALL = 3
SLOTS = 8192


class Instant(ctypes.Structure):
    """The C library's timespec."""

    _fields_ = (("seconds", ctypes.c_long), ("ns", ctypes.c_long))


def loop(about: dict[str, Any], took: NDArray[Any]) -> None:
    """Run the cycles and fill the table: wake-up latency, working time, beginning."""
    c = ctypes.CDLL(None)
    c.prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(1), 0, 0, 0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {about["cpu"]})
    if about["priority"] and not about["hot"]:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(about["priority"]))
    c.mlockall(LOCK_ALL)
    sleep = c.clock_nanosleep
    once = getattr(ctypes.CDLL(about["library"]), about["tick"])
    once.argtypes = [*[ctypes.c_void_p] * 3, ctypes.c_double, ctypes.c_double, ctypes.c_void_p]
    state, parameters, inputs = (np.array(about[n]) for n in ("state", "parameters", "inputs"))
    channels = np.zeros(about["channels"])
    at = [a.ctypes.data for a in (state, parameters, inputs, channels)]
    ring = np.zeros((SLOTS, 4 + about["channels"]))
    command, seconds, period = about["command"], about["period"], round(1e9 * about["period"])
    hot, now, instant = about["hot"], time.monotonic_ns, Instant()
    there = ctypes.byref(instant)
    wakes: dict[int, int] = {}
    busies: dict[int, int] = {}
    gc.disable()
    planned = (now() // period + 2) * period
    for k in range(len(took)):
        if not hot:
            instant.seconds, instant.ns = divmod(planned, 1_000_000_000)
            sleep(CLOCK_MONOTONIC, TIMER_ABSTIME, there, None)
        began = now()
        if hot:
            planned = began
        wake = began - planned
        planned += wake // period * period
        status = once(at[0], at[1], at[2], k * seconds, float(k), at[3])
        if status or not math.isfinite(channels[command]):
            raise SystemExit("the tick failed")
        busy = now() - began
        row = ring[k % SLOTS]
        row[:4] = k, began, wake, busy
        row[4:] = channels
        wakes[wake.bit_length()] = wakes.get(wake.bit_length(), 0) + 1
        busies[busy.bit_length()] = busies.get(busy.bit_length(), 0) + 1
        took[k] = wake, busy, began
        planned += period


def main() -> None:
    """Run once as asked."""
    about = json.load(sys.stdin)
    took = np.zeros((about["cycles"], 3), dtype=np.int64)
    loop(about, took)
    sys.stdout.buffer.write(took.tobytes())


if __name__ == "__main__":
    main()
