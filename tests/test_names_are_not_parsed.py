"""No code asks what a variable or a channel is by taking its name apart: it is carried along with it.

Every file that takes a text apart at points, brackets or prefixes, or looks for a text in a name, is listed
below. `READERS` read texts in which no variable's name stands. Where names of variables are near, `PLACES`
says what is read there, and in how many places: a new one must either use `Var.quantity`, `Channel.meaning`
or `Record.meanings`, or say here why not.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

import bondloop

ROOT = Path(bondloop.__file__).parent
ASKS = {
    "startswith", "endswith", "partition", "rpartition", "split", "rsplit", "removeprefix", "removesuffix",
    "fullmatch", "match", "search", "findall", "finditer", "sub", "subn", "find", "rfind", "index",
}  # fmt: skip
TEXTS = {"name", "path", "text", "short", "sentence", "quantity", "word", "words", "label", "title", "what"}
"""What variables and attributes are called that hold a name or a sentence."""

PATH = "where a variable is: the part, node or interface that its path begins with, given by a user or kept"
MODEL = "names and paths of parts of a drawing, and the parts that states and statements belong to"
OLD = "the one place that reads meanings from names: files and tables that hold nothing else"
DOF = "a degree of freedom is defined by its name, node.word"
SHOWN = "how a name is written: in mathematics, on an axis, in a message, as a C identifier"
MARKED = (
    "marks that the program itself puts on names of copies: a rate, a stage, a pass, a mode, the next sample"
)
CARRIED = "the words of the quantity that a channel's meaning carries"
LAST_WORD = (
    "where a variable is; and whether a statement is an element's law by the last word that "
    "its derivation gives it, effort or flow: statements in a tick carry no quantity"
)
PATTERN = "names that a user's pattern with * fits"
CASES = "names that a paper gives its own cases and gains"
CLASSES = "names of classes, of their fields and arguments, and of files"

LISTED = """
__init__.py calls.py containers.py errors.py units.py
cli/benchmark.py cli/cases.py cli/console.py cli/dashboard.py cli/failing.py cli/identify.py cli/play.py
cli/preflight.py cli/quantities.py cli/safety_settings.py cli/show.py cli/source.py cli/study.py
cli/tests.py cli/uncertain.py
compile/batch.py compile/c_body.py compile/c_helpers.py compile/c_lanes.py compile/c_text.py
compile/c_writer.py compile/kept.py compile/py_helpers.py compile/toolchain.py
dashboard/app.py dashboard/attached.py dashboard/doors.py dashboard/hub.py dashboard/replay.py
dashboard/settings.py dashboard/stop_server.py
description/channel_checks.py description/channel_entries.py description/channels_file.py
description/packet_entries.py description/python_file.py description/recorded.py description/schema.py
description/test_file.py description/toml_faults.py description/toml_lines.py description/toml_text.py
description/zeroing.py
external/plain_packets.py external/remote_rig.py
fmu/export.py fmu/foreign.py fmu/in_tick.py fmu/unpacking.py fmu/variables.py
identify/structure.py
measurements/arrays.py measurements/headings.py measurements/libraries.py measurements/lvm.py
measurements/reader_process.py measurements/reading.py measurements/sampling.py measurements/text.py
measurements/text_cells.py measurements/text_layout.py measurements/text_lines.py measurements/text_rows.py
measurements/text_table.py measurements/thousands.py
plots/animation.py plots/axis_unit.py
program/annotations.py program/described.py program/json_values.py program/kept_elsewhere.py
program/kinds.py program/law.py program/number_block.py program/restoring.py program/switching_rest.py
program/written.py
realtime/build.py realtime/export.py realtime/fmu_rig.py realtime/keys.py realtime/process.py
realtime/recorder.py realtime/recorder_health.py realtime/recorder_process.py realtime/ring.py
realtime/session.py realtime/shared.py realtime/stop_requests.py
realtime/channels/bench.py realtime/channels/packet.py realtime/channels/sheet.py
records/cosmos.py records/esm.py records/motion_files.py records/motion_units.py records/peer.py
records/two_columns.py
report/document.py report/literature.py report/number_words.py report/plain_words.py report/rigs.py
structures/elements/base.py
structures/readers/matrix_files.py structures/readers/matrix_market.py
structures/readers/opensees_process.py
studies/axis.py studies/distributions.py studies/histories.py studies/named_measures.py
studies/uncertainty.py
transfer/base.py transfer/process.py
"""
READERS = set(LISTED.split())
"""Files that read texts in which no variable's name stands: files, options, links, code, units, sentences."""

PLACES = {
    "assess/metrics.py": (2, "names of measures; and how the unit ends, for records that carry no kind"),
    "bondgraph/all_modes.py": (1, MARKED),
    "bondgraph/bicausal.py": (1, MODEL),
    "bondgraph/bound_storages.py": (2, "which entry of a field's matrix a parameter is"),
    "bondgraph/cut.py": (3, MODEL),
    "bondgraph/derive.py": (4, MODEL),
    "bondgraph/drawing.py": (4, MODEL),
    "bondgraph/flatten.py": (1, MODEL),
    "bondgraph/graph_data.py": (4, MODEL),
    "bondgraph/layout_frames.py": (3, MODEL),
    "bondgraph/layout_spine.py": (2, MODEL),
    "bondgraph/lookup.py": (3, MODEL),
    "bondgraph/model.py": (12, MODEL),
    "bondgraph/modulation.py": (1, MODEL),
    "bondgraph/multiport.py": (1, CLASSES),
    "bondgraph/parts.py": (1, CLASSES),
    "bondgraph/relation_ports.py": (1, MODEL),
    "bondgraph/sketch.py": (4, MODEL),
    "bondgraph/switching_ports.py": (1, MODEL),
    "cli/realtime.py": (2, PATH),
    "cli/run.py": (3, CARRIED),
    "compile/names.py": (7, SHOWN),
    "compile/runner.py": (1, SHOWN),
    "control/base.py": (1, PATH),
    "control/blocks/transfer_model.py": (2, PATH),
    "control/control_law.py": (2, PATH),
    "control/junction/identified_junction.py": (5, PATH),
    "control/junction/observed_junction.py": (1, PATH),
    "control/junction/virtual_junction.py": (1, PATH),
    "devices/ode_specimen.py": (1, CLASSES),
    "display/brief.py": (3, "the qualified name of a class, and a text that is cut: for show"),
    "hybrid/arguments.py": (1, PATH),
    "hybrid/check_figure.py": (1, SHOWN),
    "hybrid/comparison.py": (1, PATH),
    "hybrid/energies.py": (2, PATTERN),
    "hybrid/lags.py": (1, PATH),
    "hybrid/recorded_system.py": (2, PATTERN),
    "hybrid/regime_words.py": (4, LAST_WORD),
    "hybrid/regimes.py": (1, MARKED),
    "hybrid/run.py": (1, "the head of the run's own repr, for a notebook"),
    "hybrid/run_findings.py": (1, "the scheme of a link, an address"),
    "hybrid/running_loop.py": (5, MARKED),
    "hybrid/simulation.py": (1, PATH),
    "hybrid/structure_readings.py": (7, PATTERN),
    "hybrid/test.py": (4, PATH),
    "hybrid/test_data.py": (2, PATTERN),
    "tuning/truth.py": (3, PATH),
    "hybrid/wiring.py": (2, PATH),
    "identify/specimen_problem.py": (2, "a table of parameters that is called path"),
    "integrate/structural/base.py": (1, DOF),
    "integrate/structural/iterations.py": (1, SHOWN),
    "integrate/substep.py": (1, DOF),
    "papers/dubois_findings.py": (1, CASES),
    "papers/dubois_outlook.py": (2, CASES),
    "papers/gawthrop_two_actuators.py": (1, CASES),
    "papers/wagg_three_mass.py": (1, CASES),
    "papers/wagg_two_mass_rig.py": (1, CASES),
    "plots/earthquake.py": (3, CARRIED),
    "plots/label_room.py": (1, SHOWN),
    "program/compose.py": (3, MARKED),
    "program/equations.py": (4, SHOWN),
    "program/expression_text.py": (1, SHOWN),
    "program/inverse_system.py": (1, MODEL),
    "program/latex_names.py": (10, SHOWN),
    "program/mode_merge.py": (1, MARKED),
    "program/modes_held.py": (2, MARKED),
    "program/paths.py": (1, PATH),
    "program/resolve.py": (1, MARKED),
    "program/signals/columns.py": (1, "columns of a file, whose time is told by its name"),
    "program/tick.py": (1, SHOWN),
    "program/time_derivative.py": (1, MARKED),
    "program/walk.py": (1, SHOWN),
    "realtime/inactive.py": (1, SHOWN),
    "realtime/programs.py": (1, MARKED),
    "records/old_names.py": (9, OLD),
    "records/mat.py": (2, SHOWN),
    "records/record.py": (1, "whether a name can be one of a channel in a file"),
    "report/figures.py": (3, CARRIED),
    "report/playing.py": (1, PATH),
    "report/sections.py": (2, "the caption of a figure of its own"),
    "report/tested.py": (6, PATH),
    "report/words.py": (6, PATH),
    "rigs/emulated.py": (1, PATH),
    "structures/assembly.py": (1, DOF),
    "structures/checks.py": (4, DOF),
    "structures/dofs.py": (1, DOF),
    "structures/element_loads.py": (1, DOF),
    "structures/forms.py": (1, DOF),
    "structures/modal_system.py": (1, MARKED),
    "structures/modes.py": (1, DOF),
    "structures/readings.py": (2, PATTERN),
}


def called(node):
    """The last name of what stands before calls: name for ``v.name.lower()``."""
    while isinstance(node, ast.Call):
        node = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    return getattr(node, "attr", getattr(node, "id", ""))


def asks(node):
    """Whether a piece of code takes a text apart, or looks for one in a name; np.split takes arrays."""
    if isinstance(node, ast.Compare) and type(node.ops[0]).__name__.endswith("In"):  # or not in
        text = node.comparators[0]
        written = isinstance(node.left, ast.Constant | ast.JoinedStr) or called(node.left).isupper()
        return called(text) in TEXTS and (written or isinstance(text, ast.Attribute))
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "name"
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ASKS):
        return False
    owner = called(node.func.value)
    if node.func.attr in ("find", "rfind", "index"):
        return owner in TEXTS and isinstance(node.args[0], ast.Constant)
    return owner != "np" and (node.func.attr != "sub" or owner == "re" or owner.isupper())


@cache
def questions():
    """The pieces of code that take a text apart, by file."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        pieces = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if asks(node)]
        if pieces:
            found[path.relative_to(ROOT).as_posix()] = pieces
    return found


def test_names_are_taken_apart_only_where_it_is_said_why():
    lines = {name: [piece.lineno for piece in pieces] for name, pieces in questions().items()}
    known = {name: count for name, (count, _) in PLACES.items()}
    new = {name: at for name, at in lines.items() if name not in READERS and len(at) > known.get(name, 0)}
    assert not new, "say in PLACES what is read there, or carry the knowledge along"


def test_no_exception_outlives_its_place():
    left = {name: len(questions().get(name, ())) for name in {*READERS, *PLACES}}
    assert not [name for name in READERS if not left[name]]
    fewer = {name: left[name] for name, (count, _) in PLACES.items() if left[name] < count}
    assert not fewer, "so many are left: write these numbers into PLACES"
    assert not READERS & set(PLACES)


def test_no_role_or_unit_is_looked_for_in_a_name():
    """The words by which roles and units were once found stand in no condition on a name."""
    words = ("desired.", "actual.", "measured.", "command", "controller.K", "reference.", "synchronisation.")
    for name, pieces in questions().items():
        for piece in pieces:
            method = piece.func.attr if isinstance(piece, ast.Call) else ""
            if name == "records/old_names.py" or method == "removeprefix":  # which answers nothing
                continue
            sought = getattr(piece, "args", [getattr(piece, "left", piece)])
            texts = [c.value for a in sought for c in ast.walk(a) if isinstance(c, ast.Constant)]
            asked = [t for t in texts if isinstance(t, str) and t.startswith(words)]
            assert not asked, f"{name}:{piece.lineno} asks for {asked}"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("v.name.endswith('_rate')", True),
        ("path.rpartition('.')", True),
        ("re.sub('a', 'b', c)", True),
        ("_ENDS.findall(c)", True),
        ("name.lower().find('rate')", True),
        ("v.name[:5] == 'd/dt '", True),
        ("'rate' in name", True),
        ("'rate' not in v.name.lower()", True),
        ("f'{a}.b' in path", True),
        ("MARK in v.name", True),
        ("element in regime.words", True),
        ("matrices.sub(dofs)", False),
        ("np.split(x, 3)", False),
        ("model.find(path)", False),
        ("names.index('rate')", False),
        ("'rate' in names", False),
        ("word in words", False),
        ("name in ('rate', 'flow')", False),
        ("name[:20]", False),
    ],
)
def test_what_is_looked_for_is_found(line, found):
    assert any(asks(node) for node in ast.walk(ast.parse(line))) is found
