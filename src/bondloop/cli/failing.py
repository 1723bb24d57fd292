"""How every verb fails: one clear sentence on stderr, exit status 1, no traceback."""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer.core import TyperGroup

from bondloop.errors import BondloopError, FaultsError

__all__ = ["FailingInOneSentence"]


class FailingInOneSentence(TyperGroup):
    """The verbs together, with the errors meant for the user turned into sentences.

    A `BondloopError`, or a file that cannot be read or written, is the user's business. Any other exception
    is a fault in bondloop and keeps its traceback.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the verb that `ctx` holds."""
        try:
            return super().invoke(ctx)
        except FaultsError as error:  # a line for each
            sentence = str(error)
        except BondloopError as error:
            sentence = " ".join(str(error).split())
        except OSError as error:
            if error.filename is None:
                raise
            sentence = f"{error.filename}: {error.strerror}"
        print(f"bondloop: {sentence}", file=sys.stderr)
        raise typer.Exit(1)
