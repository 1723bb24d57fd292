"""Names of channels and parameters of safety stand in one file; they are those that ticks have."""

import ast
from pathlib import Path

import bondloop as bl
from bondloop.safety import causes

ROOT = Path(bl.__file__).parent
NAMES = {name: value for name, value in vars(causes).items() if name.isupper() and isinstance(value, str)}


def test_the_names_are_written_out_nowhere_else():
    written = {value for name, value in NAMES.items() if name != "INTERLOCK"} | set(causes.LIMITS)
    again = [
        f"{path.relative_to(ROOT)}:{node.lineno} writes out {node.value!r}"
        for path in sorted(ROOT.rglob("*.py"))
        if path.name != "causes.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in written
    ]
    assert not again, "take it from bondloop.safety.causes"
