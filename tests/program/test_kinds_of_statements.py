"""Few ask which kind a statement is: what it reads, writes and holds, it says (`program/statement.py`)."""

import ast
from pathlib import Path

import bondloop

PACKAGE = Path(bondloop.__file__).parent
KINDS = {"Assign", "Loop", "Update", "Delay", "Product", "Repeat"}
WRITES = "writes each kind in another language, or executes it"
EXPR = "looks at the expression of an assignment"
MAKES = "makes other statements of some kinds"
ASKS = {
    "compile/c_body.py": (7, WRITES),
    "compile/c_lanes.py": (2, WRITES),
    "compile/groups.py": (5, WRITES),
    "compile/plan.py": (2, "where a repetition's body is seen, and when its end is read"),
    "compile/py_writer.py": (5, WRITES),
    "compile/same_form.py": (5, MAKES),
    "compile/shared_part.py": (3, MAKES),
    "compile/wide_variables.py": (2, WRITES),
    "integrate/modal.py": (1, EXPR),
    "integrate/structural/work.py": (3, "what each kind costs"),
    "program/equations.py": (1, EXPR),
    "program/evaluator.py": (3, WRITES),
    "program/expansion.py": (3, WRITES),
    "program/matrix_rows.py": (1, EXPR),
    "program/modes_held.py": (2, MAKES),
    "program/schedule.py": (2, "the one place that finds loops"),
    "program/tick.py": (2, "the one place that finds delays, and that goes into bodies to change them"),
    "program/walk.py": (6, WRITES),
    "studies/rebuilt.py": (3, MAKES),
}
"""How often a file may ask, and why it must."""


def asked(path):
    """How often a file asks which kind a statement is."""
    calls = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)]
    tests = [n.args[1] for n in calls if getattr(n.func, "id", "") == "isinstance"]
    return sum(bool(KINDS & {getattr(n, "id", "") for n in ast.walk(test)}) for test in tests)


def test_no_more_places_ask_which_kind_a_statement_is():
    counts = {path.relative_to(PACKAGE).as_posix(): asked(path) for path in PACKAGE.rglob("*.py")}
    more = {f: n for f, n in counts.items() if n > ASKS.get(f, (0, ""))[0]}
    assert not more, f"let the statements say it of themselves (program/statement.py), or say why not: {more}"
    fewer = {f: counts.get(f, 0) for f, (n, _) in ASKS.items() if counts.get(f, 0) < n}
    assert not fewer, f"fewer ask: write the number here {fewer}"
