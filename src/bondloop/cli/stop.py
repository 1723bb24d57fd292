"""`bondloop stop`: bring the rigs of this machine to rest, whatever else runs or hangs."""

from __future__ import annotations

import os
import sys

import click

from bondloop.cli.options import json_option
from bondloop.cli.output import print_json
from bondloop.cli.terminal import user_name
from bondloop.errors import InputError
from bondloop.realtime import Request, RequestOutcome, living_loops, loops_of_other_users, request_all


@click.command("stop")
@click.argument(
    "loops",
    nargs=-1,
    metavar="[LOOP]...",
    help="Loops by the names of their segments; left out: all of yours.",
)
@click.option("--trip", is_flag=True, help="Cut at once, with the operator as the cause.")
@click.option(
    "--retreat", is_flag=True, help="Go to the safe position and stay there, without ending the test."
)
@json_option
def stop(
    loops: tuple[str, ...],
    trip: bool,
    retreat: bool,
    as_json: bool,
) -> None:
    """Stop running tests: to the safe position on the planned way, then the loop ends.

    It needs neither the operator's page nor the program that started the loop. Exits with 1 where a loop has
    not confirmed: press the emergency stop then.
    """
    if trip and retreat:
        raise InputError("--trip and --retreat exclude each other; give one of them, or none to stop")
    kind: Request = "trip" if trip else "retreat" if retreat else "stop"
    wanted = loops or living_loops()
    who = user_name() or f"user {os.getuid()}"
    found = request_all(wanted, kind, f"{who} at a terminal")
    failed = [r for r in found if not r.confirmed]
    others = [] if found else loops_of_other_users()
    if as_json:
        print_json({"request": kind, "loops": [vars(r) for r in found]})
    elif not found:
        print("no loop of yours runs on this machine")
    else:
        for r in found:
            print(f"{kind} {r.loop}: {_outcome(r)}")
    if others:
        names = ", ".join(others)
        print(f"NOT STOPPED, for other users own them: {names}; press the emergency stop", file=sys.stderr)
    if failed or others:
        raise SystemExit(1)


def _outcome(found: RequestOutcome) -> str:
    if found.confirmed:
        why = f"; nothing to do, the loop is {found.state}" if found.refused else ""
        return f"confirmed after {1e3 * found.seconds:.0f} ms{why}"
    if found.state == "dead":
        return "NOT CONFIRMED: the loop's process has died; press the emergency stop"
    if found.missing:
        return f"there is no such loop; running: {', '.join(living_loops()) or 'none'}"
    return "NOT CONFIRMED: press the emergency stop"
