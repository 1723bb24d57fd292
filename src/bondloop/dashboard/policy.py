"""Paces, places and bounds of the operator's page: what its server allows, and how long it waits.

Times are in s, memory is in bytes. They were chosen so that a page stays usable on a laboratory's computer
while somebody floods it. What protects the rig is not among them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SamplesPolicy:
    """What the process that keeps a loop's samples may take, and how far it looks back.

    Parameters
    ----------
    nice, memory, processor
        By how much the loop goes first, address space, and time of the processor for one request.
    patience, starting
        Time by the clock beyond that before it is killed; the same for its first request, which imports.
    kept_seconds, kept_bytes
        How much of the past is held for browsers that come later, at most.
    rows
        Samples that one look takes at most.
    estimate_every, estimate_seconds, estimate_samples
        Time between estimates of how well the rig follows, the motion each looks back on, and its samples.
    frame_seconds, frame_bytes
        After so much a frame is sent, though plots remain: they come first in the next.
    """

    nice: int = 10
    memory: int = 2 << 30
    processor: int = 5
    patience: float = 5.0
    starting: float = 120.0
    kept_seconds: float = 120.0
    kept_bytes: int = 1 << 26
    rows: int = 20_000
    estimate_every: float = 0.5
    estimate_seconds: float = 4.0
    estimate_samples: int = 4000
    frame_seconds: float = 0.03
    frame_bytes: int = 1 << 20


@dataclass(frozen=True)
class ReplayPolicy:
    """How recorded runs are held and thinned.

    Parameters
    ----------
    open_runs, listed, events
        Runs that are held at a time, files that are listed, and events of one kind, at most.
    piece
        Samples that are read at once.
    kept
        Memory for pieces of a run.
    coarse
        Samples in a cell of the coarse table, which holds the lowest and highest values of all of a run.
    fine
        Samples up to which a stretch is read as it is; a pixel of a longer one is wider than a cell.
    some
        Samples from which the period is found.
    """

    open_runs: int = 3
    listed: int = 500
    events: int = 500
    piece: int = 65536
    kept: int = 1 << 27
    coarse: int = 64
    fine: int = 256_000
    some: int = 1 << 20


@dataclass(frozen=True)
class StopPolicy:
    """What the page's stop allows, and how long it waits.

    Parameters
    ----------
    head, body
        Bytes of a request's head and body.
    connections, files
        Requests that may be incomplete at a time: one more, and the oldest is dropped; and open files.
    arrival, confirm
        Time within which a request must have come, and that a loop has to confirm.
    look, orphaned
        Time between looks at loops that have not confirmed, and for any loop once the page has gone.
    ready
        Time that the process may take to listen.
    """

    head: int = 8192
    body: int = 1024
    connections: int = 1000
    files: int = 4096
    arrival: float = 2.0
    confirm: float = 2.0
    look: float = 0.002
    orphaned: float = 1.0
    ready: float = 20.0


@dataclass(frozen=True)
class PagePolicy:
    """What the page's server allows, and how long it waits.

    Parameters
    ----------
    look, status, timing, gauges, search
        Time between looks at the loop, statuses, histograms, gauges, and searches for a loop.
    viewers, operators, silent
        Browsers at a time: viewers; of who is the operator or was; such as have not said hello yet.
    grace
        Time for which the role waits for an operator whose connection broke.
    confirm, old
        Time that the loop has to confirm a command, and after which a page's state is too old to act upon.
    frame, acknowledge, hello, troubled
        Time between frames at least; after which one is sent though the last was not drawn, for a tab in the
        background; in which a browser must say who it is; until a frame that failed is asked for again.
    rate, burst, message
        Messages a second, and at once: more than drawn frames and a held key make; bytes of one.
    plots, channels, pixels, window
        Plots, channels of a plot, pixels across, and seconds, that a browser can ask for.
    get_on, connections, closing
        Time for a TLS handshake, for a request, and until the next; connections at a time; time to close.
    run_rate, run_requests, unreadable
        Bytes a second at which run files are read at least, requests that wait for them, files that ended
        their reader and are not read again before they change.
    check_nice, check_processor, check_memory
        As in `SamplesPolicy`, for a check that the page asks for.
    samples
        Of the process that keeps the samples of a loop.
    """

    look: float = 0.02
    status: float = 0.1
    timing: float = 1.0
    gauges: float = 0.1
    search: float = 0.5
    viewers: int = 32
    operators: int = 8
    silent: int = 32
    grace: float = 5.0
    confirm: float = 5.0
    old: float = 5.0
    frame: float = 0.02
    acknowledge: float = 2.0
    hello: float = 5.0
    troubled: float = 1.0
    rate: float = 120.0
    burst: int = 240
    message: int = 8192
    plots: int = 40
    channels: int = 32
    pixels: int = 4000
    window: float = 120.0
    get_on: float = 3.0
    connections: int = 200
    closing: float = 2.0
    run_rate: float = 5e6
    run_requests: int = 32
    unreadable: int = 100
    check_nice: int = 10
    check_processor: int = 1800
    check_memory: int = 8 << 30
    samples: SamplesPolicy = SamplesPolicy()
