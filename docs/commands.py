"""Every command with its arguments and options, from the program itself: a page of the site."""

# ruff: noqa: INP001 - a script, no part of a package

from typing import Any

import click

from bondloop.cli.main import app

HEAD = """# All commands and options

Written from the program when the site is built; `bondloop VERB --help` says the same.
[The command line](/cli.md) shows what they do, by examples.
"""


def page() -> str:
    """Write the page."""
    return "\n".join([HEAD, *_section(app, ("bondloop",))])


def _section(command: Any, path: tuple[str, ...]) -> list[str]:
    context = command.make_context(path[-1], [], resilient_parsing=True)
    usage = " ".join([*path, *command.collect_usage_pieces(context)])
    lines = [f"\n## {' '.join(path)}\n", f"```text\n{usage}\n```\n", _text(command.help), ""]
    rows = [row for row in map(_row, _parameters(command, context)) if row]
    if rows:
        lines += ["| | |", "|---|---|", *rows, ""]
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        lines += _section(command.get_command(context, name), (*path, name))
    return lines


def _parameters(command: Any, context: Any) -> list[Any]:
    """Return arguments before options; `--help`, which every command has, is left out."""
    shown = [
        p for p in command.get_params(context) if "--help" not in p.opts and not getattr(p, "hidden", False)
    ]
    return sorted(shown, key=lambda p: p.param_type_name != "argument")


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = parameter.make_metavar(click.Context(app)) if not parameter.metavar else parameter.metavar
    else:
        name = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return f"| `{_text(name)}` | {_text(getattr(parameter, 'help', '') or '')} |"


def _text(words: str | None) -> str:
    """Return a help text as Markdown: no indents, which would be code, and no borders of a table."""
    lines = (line.strip() for line in (words or "").replace("\b", "").splitlines())
    return "\n".join(lines).strip().replace("|", "\\|").replace("<", "&lt;")
