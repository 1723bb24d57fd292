"""A loop that does not answer: for how long, and what the operator should know then."""

from __future__ import annotations

SILENT = 1.0
"""Seconds without a cycle after which a loop does not answer."""
PAGE_SILENT = 0.5
"""Seconds without a turn after which the server of the operator's page stands still."""


def silence(heartbeat_ns: int, period_ns: int, now_ns: int) -> float:
    """Return for how many seconds a loop has not answered; 0 while it does, or has not begun.

    Parameters
    ----------
    heartbeat_ns
        When its last cycle began; 0: there was none yet.
    period_ns
        Of its cycles.
    now_ns
        By the same clock.

    Examples
    --------
    >>> silence(10**9, 10**6, 15 * 10**8), silence(10**9, 10**6, 4 * 10**9), silence(0, 10**6, 4 * 10**9)
    (0.0, 3.0, 0.0)
    """
    seconds = 1e-9 * (now_ns - heartbeat_ns)
    return seconds if heartbeat_ns and seconds > SILENT + 2e-9 * period_ns else 0.0


def page_silence(heartbeat_ns: int, now_ns: int) -> float:
    """Return for how many seconds the server of the operator's page has stood still; 0 while it turns.

    Parameters
    ----------
    heartbeat_ns
        When it last turned; 0: no page is attached, or it has let go of the loop.
    now_ns
        By the same clock.

    Examples
    --------
    >>> page_silence(10**9, 12 * 10**8), page_silence(10**9, 2 * 10**9), page_silence(0, 10**9)
    (0.0, 1.0, 0.0)
    """
    seconds = 1e-9 * (now_ns - heartbeat_ns)
    return seconds if heartbeat_ns and seconds > PAGE_SILENT else 0.0


def silence_words(seconds: float) -> str:
    """Say that a loop does not answer, and what to do; nothing where it does.

    >>> silence_words(0.0)
    ''
    """
    if not seconds:
        return ""
    return (
        f"THE LOOP DOES NOT ANSWER ({seconds:.0f} s): only the rig's own watchdog has the rig now; use the "
        "emergency stop. Ctrl-C twice ends the loop"
    )
