"""No code asks what a variable or a channel is by its name: role and unit are carried along with it."""

import ast
from pathlib import Path

import pytest

import bondloop

ROOT = Path(bondloop.__file__).parent
ASKS = {"startswith", "endswith", "partition", "rpartition", "fullmatch", "match", "search", "find", "index"}
ROLES = ("desired.", "actual.", "measured.", "command", "controller.K", "reference.", "synchronisation.")
"""Words with which names of channels begin, and by which roles were once found."""
READS_TABLES = "records/export.py"
"""The one module that reads meanings from names: of tables of text, which hold nothing else."""


def asked(node):
    """Texts that a condition looks for in a name: ``name.startswith("desired.")``, ``"rate" in v.name``."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        text = node.comparators[0]
        sought = [node.left] if getattr(text, "attr", getattr(text, "id", "")) in ("name", "path") else []
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ASKS:
        sought = node.args
    else:
        sought = []
    texts = [c.value for part in sought for c in ast.walk(part) if isinstance(c, ast.Constant)]
    return [text for text in texts if isinstance(text, str) and text.startswith(ROLES)]


@pytest.mark.parametrize("room", sorted(path.name for path in ROOT.iterdir() if path.is_dir()))
def test_no_role_is_looked_for_in_a_name(room):
    files = [path for path in (ROOT / room).rglob("*.py") if not path.as_posix().endswith(READS_TABLES)]
    places = [
        f"{path.relative_to(ROOT)}:{node.lineno} asks for {texts}"
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (texts := asked(node))
    ]
    assert not places, "use Var.quantity, Channel.meaning or Record.meanings"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("v.name.startswith('desired.')", True),
        ("path.partition('measured.')", True),
        ("'command' in name", True),
        ("'command' not in v.name", True),
        ("v.name.removeprefix('desired.')", False),
        ("'command' in names", False),
        ("name.startswith('own.')", False),
    ],
)
def test_what_is_looked_for_is_found(line, found):
    assert any(asked(node) for node in ast.walk(ast.parse(line))) is found
