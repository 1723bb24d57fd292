"""A loop that does not answer: for how long, and what the operator should know then."""

from __future__ import annotations

__all__ = ["SILENT", "silence", "silence_words"]

SILENT = 1.0
"""Seconds without a cycle after which a loop does not answer."""


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
