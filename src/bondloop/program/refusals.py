"""What a law is refused while it is traced, remembered: a ``try`` around it would only hide it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from bondloop.errors import ModelError

__all__ = ["refusal", "remembered"]

_REFUSALS: ContextVar[list[ModelError] | None] = ContextVar("refusals", default=None)


def refusal(message: str) -> ModelError:
    """Return an error that says what a law may not do, and remember it.

    Parameters
    ----------
    message
        What was asked for, and what to write instead.
    """
    error = ModelError(message)
    refusals = _REFUSALS.get()
    if refusals is not None:
        refusals.append(error)
    return error


@contextmanager
def remembered() -> Iterator[None]:
    """Raise the first refusal within, though the law has caught it.

    Examples
    --------
    >>> with remembered():
    ...     try:
    ...         raise refusal("'if' cannot ask for it")
    ...     except Exception:
    ...         pass
    Traceback (most recent call last):
    bondloop.errors.ModelError: 'if' cannot ask for it
    """
    refusals: list[ModelError] = []
    token = _REFUSALS.set(refusals)
    try:
        yield
    finally:
        _REFUSALS.reset(token)
    if refusals:
        raise refusals[0]
