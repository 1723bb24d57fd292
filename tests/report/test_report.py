"""Reports: everything of a run is on the page, nothing of a file gets out of its text, nothing is fetched."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bondloop as bl
from bondloop import papers
from bondloop.errors import InputError
from bondloop.interop import RehearsedRig
from bondloop.papers import gawthrop_two_actuators
from bondloop.rehearsal import Run
from bondloop.report import document as sections
from bondloop.report import write_report
from bondloop.report.facts import ReportedRun, facts, limits_used, other_rig, parameter_rows
from bondloop.report.tested import parts
from bondloop.results import Record
from bondloop.substructure import ExternalHalf

KEYS = st.sampled_from(
    [
        "times",
        "values",
        "factor",
        "of",
        "terms",
        "numerator",
        "denominator",
        "M",
        "dofs",
        "elements",
        "nodes",
        "masses",
        "samples",
        "process",
        "law",
    ]
)
HEADS = st.sampled_from(
    [
        {"signal": "Table"},
        {"signal": "Scaled"},
        {"signal": "Sum"},
        {"signal": "Recorded"},
        {"signal": "Sine"},
        {"process": "Process"},
        {"matrices": "Matrices"},
        {"structure": "ShearBuilding"},
        {"part": "ode_element"},
        {"structure": "Structure"},
        {"model": "Model"},
        {"rig": "Emulated"},
        {"rig": 3},
        {},
    ]
)
"""Beginnings and words of descriptions that are taken apart."""

VOID = {"meta", "img", "br", "wbr"}


class Outline(HTMLParser):
    """Collects what a page is made of; complains of tags that are not closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.links, self.words, self.broken = [], [], [], [], False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [v for k, v in attributes if k in ("src", "href", "action", "data", "srcset")]
        assert not any(k.startswith("on") for k, _ in attributes)
        self.broken = tag == "wbr"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.broken:  # a word that may be broken there is one word
            self.words[-1] += data
        else:
            self.words.append(data)
        self.broken = False


def outline(page):
    made = Outline(page)
    assert made.open == []
    assert "script" not in made.tags
    assert all(link.startswith("data:image/svg+xml;base64,") for link in made.links)
    return made


@pytest.fixture(scope="module")
def two():
    return gawthrop_two_actuators.test().run(1)


def column():
    return bl.HybridTest(
        ExternalHalf(stroke=0.02, speed=0.05, tolerance=1e-5),
        rig=bl.rigs.Emulated(
            bl.rigs.mounted(bl.devices.GiuffreMenegottoPinto()),
            bl.transfer.MassSpringDamper(m=50, c=1.1e5, k=5e7, drive="position"),
        ),
        controller=bl.control.Direct(),
        excitation={},
        rate=1000,
        name="column",
    )


def test_a_run_that_another_program_led_says_so_and_how_to_lead_it_again(tmp_path):
    with RehearsedRig(column(), record=tmp_path / "run.h5") as rig:
        rig.protocol, rig.led_by = "plain over UDP", "127.0.0.1:4711"
        rig.move_to([0.001])
        rig.move_to([0.002])
    words = "\n".join(outline(write_report(tmp_path / "run.h5")).words)
    assert "rehearsal in the computer alone; another program led it" in words
    assert "a program at 127.0.0.1:4711, plain over UDP; 2 moves" in words
    assert "then bondloop serve test.toml" in words
    assert "bondloop run" not in words
    assert "not recorded" not in words


@pytest.mark.parametrize(
    ("link", "lock_step", "how"),
    [
        ("fmu:///tests/my%20rig.fmu?command=u", True, "loop and an FMU as its rig in lock-step"),
        ("fmu:///tests/my%20rig.fmu?command=u", False, "in real time, on an FMU as its rig"),
        ("shm://x", True, "loop and rig in lock-step"),
        ("udp://127.0.0.1:5005", False, "in real time, on an emulated rig"),
    ],
)
def test_what_was_at_the_link_is_named(two, link, lock_step, how):
    record = two.record
    description = {**record.description, "realtime": {"link": link}}
    run = Run(replace(record, description=description, attributes={"lock_step": lock_step}))
    rows = dict(facts(run))
    assert how in rows["how"]
    assert rows.get("rig") == (f"the FMU my rig.fmu ({link})" if link.startswith("fmu") else None)


@pytest.mark.parametrize(
    ("settings", "rig"),
    [
        ({"link": "fmu://stiff.fmu", "emulated": True, "own_rig": False}, "the FMU stiff.fmu"),
        ({"link": "comedi:///dev/comedi0", "emulated": False, "own_rig": False}, "a machine at comedi"),
        (
            {"link": "shm://x", "emulated": True, "own_rig": False},
            "one that another process played at shm://x",
        ),
        ({"link": "shm://x", "emulated": True, "own_rig": True}, ""),
        ({"link": "shm://x", "emulated": False, "own_rig": True}, ""),
        ({"link": "loopback://", "emulated": True, "own_rig": False}, ""),
    ],
)
def test_parameters_of_a_rig_that_was_not_there_are_not_in_force(two, settings, rig):
    run = Run(replace(two.record, description={**two.record.description, "realtime": settings}))
    of_rig = {name for name in two.record.description["parameters"] if name.startswith("rig.")}
    in_force, not_in_force = (
        {name for row in parameter_rows(run.record.description, in_force=which) for name in row[::2]}
        for which in (True, False)
    )
    assert of_rig
    assert "numerical.mn1.I.mass" in in_force
    assert (of_rig <= not_in_force) == bool(rig)
    assert (of_rig <= in_force) == (not rig)
    assert dict(parts(run.record.description)).get("emulated rig, not in force", "") != "" or not rig
    assert other_rig(run.record.description).startswith(rig)


def test_what_was_tested_is_said_in_words_with_units(two):
    """The numbers are those of Gawthrop 2005, section 6, as `gawthrop_two_actuators` has them."""
    rows = dict(parts(two.record.description, gawthrop_two_actuators.test(), two.record.units))
    assert rows["structure"] == "gawthrop-two-actuators: 4 springs, 4 dampers, 3 masses, 2 sources of flow"
    assert "spring 'link1.C' (stiffness 4.75 kN/m)" in rows["specimen"]
    assert "mass 'm3.I' (mass 2.2 kg)" in rows["specimen"]
    actuator = "mass-spring-damper: m 2.2 kg, c 200.8 N s/m, k 25.902 kN/m, drive position"
    assert rows["actuator 2"] == actuator
    assert rows["excitation"].startswith("r2: sine: amplitude -31.416 mm/s, frequency 5 Hz")
    assert rows["reference"] == "the complete structure, compared at mn1.v.flow, mn2.v.flow"


@pytest.mark.parametrize("name", [entry.name for entry in papers.entries()])
def test_no_part_of_a_ready_made_test_is_said_as_python(name):
    test = papers.find(name).load().test()
    for word, text in parts(test.describe(), test):
        assert not re.search(r"\w\(\w+=|[{}]|<|\.\.\. \(in full", text), (word, text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.builds(lambda head, rest: {**head, **rest}, HEADS, st.dictionaries(KEYS, inner, max_size=4))
        ),
        max_leaves=8,
    )
)
def test_descriptions_of_any_form_are_said(part):
    rows = parts({"structure": part, "rig": part, "excitation": {"r": part}, "reference": part})
    assert all(isinstance(text, str) for row in rows for text in row)


def test_the_page_of_a_run_with_another_rig_warns(two):
    from bondloop.files import load_text

    settings = {"link": "fmu://stiff.fmu", "emulated": True, "own_rig": False}
    run = Run(replace(two.record, description={**two.record.description, "realtime": settings}))
    words = outline(write_report(run, check=False)).words
    page = "\n".join(words)
    assert "Parameters of the emulated rig; not in force: the rig was the FMU stiff.fmu" in page
    assert "Beware: the rig of this run was the FMU stiff.fmu" in page
    text = next(w for w in words if "[rig" in w)
    assert text.startswith("# NOTE: the rig of this run was the FMU stiff.fmu")
    assert load_text(text).test.rate == 1000


def test_a_report_has_what_a_reader_asks_for(two, tmp_path):
    page = write_report(two.save(tmp_path / "run.h5"), tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    words = "\n".join(outline(page).words)
    for finding in two.judgement.findings:
        assert finding.sentence in words
    for m in two.metrics:
        assert m.in_words("normalised_rms_error") in words
    check = gawthrop_two_actuators.test().check()  # its own length, which is longer than the run
    assert check.verdict in words
    for said in (
        "virtual junction: model mass-spring-damper",
        "mn1.right >> link1.left",
        "numerical.mn1.I.mass",
        "Gawthrop, P. J.",
    ):
        assert said in words
    assert "bondloop run run.h5" in words
    assert page.count("<figure") == 5  # drawing, check, an overview of each transfer system, spectra


def test_the_test_of_the_page_gives_the_same_run(two):
    from bondloop.files import load_text

    words = outline(write_report(two, check=False)).words
    text = next(w for w in words if "\ntest = " in f"\n{w.lstrip()}")
    again = load_text(text).test.run(1)
    np.testing.assert_array_equal(again["force[0]"], two["force[0]"])


def test_several_runs_stand_side_by_side(two):
    other = gawthrop_two_actuators.test().replaced(rate=2000).run(1)
    page = write_report([two, other], check=False)
    words = "\n".join(outline(page).words)
    assert "What differs" in words
    assert "1000.0" in words
    assert "2000.0" in words
    for run in (two, other):
        assert run.metrics[0].in_words("delay") in words


def test_runs_of_different_kinds_are_said_to_be(two):
    settings = {"link": "loopback://", "emulated": True}
    attributes = {**two.record.attributes, "lock_step": True}
    described = {**two.record.description, "realtime": settings}
    beside = Run(replace(two.record, description=described, attributes=attributes))
    told = "\n".join(sections.comparison([ReportedRun(two, "1"), ReportedRun(beside, "2")]))
    assert "The tests are the same in all that they say of themselves." in told
    assert "The runs are of different kinds" in told
    assert "different kinds" not in "\n".join(
        sections.comparison([ReportedRun(two, "1"), ReportedRun(two, "2")])
    )
    assert dict(facts(two))["outcome"].startswith("completed: 1001 steps in ")


def test_files_of_one_name_are_called_by_their_folders(two, tmp_path):
    files = []
    for folder in ("without", "with"):
        (tmp_path / folder).mkdir()
        files.append(two.save(tmp_path / folder / "run.h5"))
    words = outline(write_report(files, check=False)).words
    assert "1: without" in words
    assert "2: with, transfer system 1" in words


def test_limits_are_of_what_they_stop():
    """The desired motion is not limited; it may be beyond where the actual one was stopped."""
    run = gawthrop_two_actuators.test(controller="direct").run(1)
    rows = {row[0]: row for row in limits_used(run)}
    assert not run.completed
    assert "actual.displacement[0]" in rows["displacement"][1]
    assert rows["displacement"][3] == "101 %"
    assert rows["force"][2] == "500 N"


@settings(max_examples=15)
@given(name=st.text(min_size=1, max_size=40), value=st.text(max_size=60), message=st.text(max_size=60))
def test_what_a_file_says_stays_text(name, value, message):
    t = np.arange(50) * 0.01
    described = {"name": name, "controller": {"controller": value}, "rig": value, "parameters": {name: 1.0}}
    record = Record(t, {"x": np.sin(t)}, {"x": "m"}, described, {"status": value, "message": message})
    outline(write_report(Run(record)))


def test_a_test_that_cannot_be_made_again_is_reported_all_the_same(two):
    from dataclasses import replace

    described = {**two.record.description, "structure": {"model": "/nowhere/chain.py:chain"}}
    page = write_report(Run(replace(two.record, description=described)))
    assert "is not run for a file of results" in page
    assert two.judgement.findings[0].sentence in "\n".join(outline(page).words)


@pytest.mark.parametrize("silly", ["a text", [1.0], 5])
def test_what_should_be_tables_of_a_file_and_is_not_is_left_out(silly):
    time = np.array([0.0, 0.1])
    description = {"interlock": silly, "limits": silly, "parameters": silly}
    run = Run(Record(time, {"x": time}, {"x": "m"}, description, {"versions": silly, "served": silly}))
    assert ("software", "not recorded") in facts(run)
    assert limits_used(run) == parameter_rows(run.record.description) == []
    inner = replace(run.record, description={"interlock": {"limits": silly}})
    assert limits_used(Run(inner)) == []


@pytest.mark.parametrize("length", [0, 1, 2])
def test_a_run_that_stopped_at_once_is_reported(length):
    t = np.arange(length) * 0.01
    stopped = {"status": "stopped", "message": "the link was lost"}
    page = write_report(Run(Record(t, {"x": np.zeros(length)}, {"x": "m"}, {}, stopped)))
    assert "the link was lost" in page


def test_bad_arguments_are_refused(two, tmp_path):
    with pytest.raises(InputError, match=r"\.html"):
        write_report(two, tmp_path / "report.pdf")
    with pytest.raises(InputError, match="nothing to report"):
        write_report([])
    with pytest.raises(InputError, match="cannot be written"):
        write_report(two, tmp_path / "nowhere" / "report.html", check=False)


def test_a_report_of_a_run_in_lock_step_tells_of_its_clock():
    pytest.importorskip("fcntl")
    from bondloop.realtime import run_realtime

    run = run_realtime(gawthrop_two_actuators.test(), 0.2, lock_step=True, supervisor=60.0)
    assert "lock-step" in "\n".join(outline(write_report(run, check=False)).words)


def test_what_happened_to_a_loop_is_told(tmp_path):
    pytest.importorskip("fcntl")
    from bondloop.realtime import run_realtime

    file = tmp_path / "run.h5"
    run_realtime(gawthrop_two_actuators.test(), 0.2, lock_step=True, supervisor=60.0, record=file)
    words = outline(write_report(file, check=False)).words
    assert "What happened" in words
    assert {"state active", "state retreat", "state finalized"} <= set(words)


BY_NIGHT = (
    "dubois-damper",
    "gawthrop-two-actuators",
    "marths-benchmark",
    "silva-benchmark",
    "wagg-two-mass-rig",
)
"""Ready-made tests whose report takes longest; another of each kind is reported by day."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(e.name, marks=pytest.mark.nightly) if e.name in BY_NIGHT else e.name
        for e in papers.entries()
    ],
)
def test_every_ready_made_test_has_its_report(entry):
    module = papers.find(entry).load()
    run = module.test().run(0.5)
    page = write_report(run, check=False)
    outline(page)
    assert not re.search(r">\s*nan\s*<", page)
