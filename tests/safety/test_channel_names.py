"""Names of channels and parameters of safety stand in one file; they are those that ticks have."""

import ast
from pathlib import Path

import bondloop as bl
from bondloop.safety import channel_names

ROOT = Path(bl.__file__).parent
NAMES = {n: value for n in channel_names.__all__ if isinstance(value := getattr(channel_names, n), str)}


def test_the_names_are_written_out_nowhere_else():
    written = {value for name, value in NAMES.items() if name != "INTERLOCK"} | set(channel_names.LIMITS)
    again = [
        f"{path.relative_to(ROOT)}:{node.lineno} writes out {node.value!r}"
        for path in sorted(ROOT.rglob("*.py"))
        if path.name != "channel_names.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in written
    ]
    assert not again, "take it from bondloop.safety.channel_names"
