"""How every verb fails: one clear sentence on stderr, exit status 1, no traceback."""

from __future__ import annotations

import errno
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from bondloop.cli.console import take_all_letters
from bondloop.errors import BondloopError, LinesError

__all__ = ["FailingInOneSentence"]


class FailingInOneSentence(TyperGroup):
    """The verbs together, with the errors meant for the user turned into sentences.

    A `BondloopError`, or a file that cannot be read or written, is the user's business; so is a full disk.
    Any other exception is a fault in bondloop and keeps its traceback.
    """

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command, on any console."""
        take_all_letters()
        return super().main(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb that `ctx` holds."""
        try:
            return super().invoke(ctx)
        except LinesError as error:
            sentence = str(error)
        except BondloopError as error:
            sentence = " ".join(str(error).split())
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)  # of a write, which knows no name
            if error.filename is None and not full:
                raise
            sentence = f"{error.filename or 'a file cannot be written'}: {error.strerror}"
        print(f"bondloop: {sentence}", file=sys.stderr)
        raise typer.Exit(1)
