"""No code asks what a variable or a channel is by taking its name apart: it is carried along with it.

Every place that takes a text apart at points, brackets or prefixes is in the table below, with what it reads
there. A new one must either use `Var.quantity`, `Channel.meaning` or `Record.meanings`, or say here why not.
"""

import ast
from pathlib import Path

import bondloop

ROOT = Path(bondloop.__file__).parent
ASKS = {
    "startswith", "endswith", "partition", "rpartition", "split", "rsplit", "removeprefix", "removesuffix",
    "fullmatch", "match", "search",
}  # fmt: skip

OTHER = "text that is no variable's name: files, options, links, code, units"
PATH = "where a variable is: the part, node or interface that its path begins with, given by a user or kept"
MODEL = "names and paths of parts of a drawing, and the parts that states and statements belong to"
OLD = "the one place that reads meanings from names: files and tables that hold nothing else"
DOF = "a degree of freedom is defined by its name, node.word"
SHOWN = "how a name is written: in mathematics, on an axis, in a figure's title, as a C identifier"

EXCEPTIONS = {
    "display/brief.py": "the qualified name of a class, and a text that is cut: for show",
    "hybrid/run_findings.py": "the scheme of a link, an address",
    "hybrid/run.py": "the head of the run's own repr, for a notebook",
    "transfer/process.py": "a number and a polynomial written for LaTeX",
    "__init__.py": OTHER, "errors.py": OTHER, "units.py": OTHER, "calls.py": OTHER, "containers.py": OTHER,
    "measurements": OTHER, "structures/matrix_market.py": OTHER,
    "program/paths.py": PATH,
    "records/old_names.py": OLD,
    "structures/dofs.py": DOF, "structures/assembly.py": DOF, "structures/checks.py": DOF,
    "structures/constraints.py": DOF, "structures/modes.py": DOF, "structures/forms.py": DOF,
    "structures/element_loads.py": DOF, "structures/modal_system.py": DOF, "integrate/substep.py": DOF,
    "integrate/structural/iterations.py": SHOWN, "integrate/structural/base.py": DOF,
    "structures/foreign/abaqus.py": OTHER, "structures/foreign/nastran.py": OTHER,
    "structures/foreign/labelled.py": OTHER,
    "structures/foreign/op4.py": OTHER, "structures/foreign/table_matrix.py": OTHER,
    "structures/foreign/tcl.py": OTHER, "structures/foreign/tcl_arithmetic.py": OTHER,
    "structures/elements/base.py": OTHER, "structures/io.py": OTHER,
    "bondgraph": MODEL,
    "dashboard": OTHER,
    "fmu": OTHER,
    "external/plain_packets.py": OTHER, "external/remote_rig.py": OTHER,
    "cli": OTHER, "description": OTHER, "program/restoring.py": OTHER, "program/annotations.py": OTHER,
    "studies/distributions.py": OTHER, "studies/named_measures.py": OTHER, "studies/histories.py": OTHER,
    "studies/uncertainty.py": OTHER, "studies/identified.py": OTHER,
    "hybrid/test_data.py": OTHER, "program/law.py": OTHER, "program/written.py": OTHER,
    "program/kinds.py": OTHER,
    "program/signals/columns.py": "columns of a file, whose time is told by its name",
    "compile": SHOWN,
    "identify/structure.py": OTHER,
    "plots": SHOWN, "papers": SHOWN, "report": SHOWN,
    "program/compose.py": PATH, "program/described.py": OTHER, "program/equations.py": SHOWN,
    "program/inverse_system.py": MODEL, "program/latex_names.py": SHOWN,
    "program/expression_text.py": SHOWN, "program/json_values.py": OTHER, "program/time_derivative.py": SHOWN,
    "hybrid/energies.py": PATH, "hybrid/recorded_system.py": PATH, "hybrid/structure_readings.py": PATH,
    "structures/readings.py": "names that a user's pattern with * fits",
    "hybrid/arguments.py": PATH, "hybrid/comparison.py": PATH, "hybrid/regime_words.py": PATH,
    "hybrid/simulation.py": PATH, "hybrid/test.py": PATH, "hybrid/wiring.py": PATH,
    "hybrid/tuning/truth.py": PATH,
    "hybrid/running_loop.py": "the rate of a signal, named after it where the tick asks for both",
    "hybrid/check_figure.py": OTHER,
    "assess/metrics.py": SHOWN,
    "control": PATH,
    "program/modes_held.py": "statements of a search for modes, which are marked by how their names end",
    "program/mode_merge.py": SHOWN,
    "program/resolve.py": SHOWN, "program/switching_rest.py": SHOWN, "program/walk.py": SHOWN,
    "realtime": OTHER, "records/cosmos.py": OTHER, "records/esm.py": OTHER,
    "records/motion_units.py": OTHER, "program/number_block.py": OTHER, "records/peer.py": OTHER,
    "records/two_columns.py": OTHER, "records/motion_files.py": OTHER,
    "records/text_table.py": OTHER,
    "records/mat.py": SHOWN,
    "rigs/emulated.py": PATH, "studies/axis.py": OTHER, "transfer/base.py": OTHER,
}  # fmt: skip


def asks(node):
    """Whether a piece of code takes a text apart; np.split takes arrays."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ASKS):
        return False
    return not (isinstance(node.func.value, ast.Name) and node.func.value.id == "np")


def places():
    """Files in which a text is taken apart, with the lines."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        lines = [node.lineno for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if asks(node)]
        if lines:
            found[path.relative_to(ROOT).as_posix()] = lines
    return found


def excepted(name):
    return name in EXCEPTIONS or name.partition("/")[0] in EXCEPTIONS


def test_names_are_taken_apart_only_where_it_is_said_why():
    unknown = {name: lines for name, lines in places().items() if not excepted(name)}
    assert not unknown, "say in EXCEPTIONS what is read there, or carry the knowledge along"


def test_no_exception_outlives_its_place():
    found = places()
    unused = [n for n in EXCEPTIONS if n not in found and not any(f.startswith(f"{n}/") for f in found)]
    assert not unused


def test_no_role_or_unit_is_looked_for_in_a_name():
    """The words by which roles and units were once found stand in no condition on a name."""
    words = ("desired.", "actual.", "measured.", "command", "controller.K", "reference.", "synchronisation.")
    for path in sorted(ROOT.rglob("*.py")):
        if path.name == "old_names.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if asks(node) and node.func.attr != "removeprefix":  # which answers nothing
                texts = [c.value for a in node.args for c in ast.walk(a) if isinstance(c, ast.Constant)]
                asked = [t for t in texts if isinstance(t, str) and t.startswith(words)]
                assert not asked, f"{path.name}:{node.lineno} asks for {asked}"
