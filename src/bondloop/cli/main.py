"""The `bondloop` command: its verbs, and how it fails."""

from __future__ import annotations

import errno
import signal
import sys
from importlib import import_module
from typing import Any

import click

from bondloop import __version__
from bondloop.cli.output import take_all_letters
from bondloop.errors import BondloopError, LinesError

VERBS = {
    "doctor": "doctor", "list": "models", "equations": "models", "draw": "models", "run": "run",
    "check": "run", "study": "study", "benchmark": "tune", "tune": "tune", "schema": "models",
    "identify": "identify", "show": "show", "realtime": "realtime", "rig": "realtime", "stop": "stop",
    "dashboard": "dashboard", "play": "dashboard", "serve": "realtime", "report": "show",
    "channels": "channels", "export": "export",
}  # fmt: skip
"""Each verb with the module that has it, which is imported when the verb is called or helped with."""


class Verbs(click.Group):
    """The verbs together, with the errors meant for the user turned into sentences.

    A `BondloopError`, or a file that cannot be read or written, is the user's business; so is a full disk.
    Any other exception is a fault in bondloop and keeps its traceback.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click has it
        """Return the names of all verbs."""
        return [*self.commands, *VERBS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb, imported now; None where there is none of this name."""
        if cmd_name not in VERBS:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"bondloop.cli.{VERBS[cmd_name]}")
        commands = (x for x in vars(module).values() if isinstance(x, click.Command))
        return next(command for command in commands if command.name == cmd_name)

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command, on any console."""
        take_all_letters()
        return super().main(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb that `ctx` holds."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # as shells have it: no failure of the verb
            raise SystemExit(128 + signal.SIGINT) from None
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
        raise SystemExit(1)


@click.group(
    "bondloop",
    cls=Verbs,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, message="bondloop %(version)s", help="Print the version and stop.")
def app() -> None:
    """Design, rehearse and run real-time hybrid tests, from one model in Python."""
