"""FMUs that are none, or want to do harm: a sentence for each, and nothing written elsewhere."""

import contextlib
import io
import stat
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondloop.errors import BondloopError, InputError
from bondloop.fmu import read_fmu
from bondloop.fmu.foreign import ForeignStep, unpacked
from bondloop.papers import gawthrop_two_actuators


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Unpack into a folder of the test's own."""
    monkeypatch.setenv("BONDLOOP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


XML = """<fmiModelDescription fmiVersion="3.0" modelName="m" instantiationToken="t">
<CoSimulation modelIdentifier="m"/>
<ModelVariables><Float64 name="u" valueReference="1" causality="input"/></ModelVariables>
</fmiModelDescription>"""


def archive(path, files):
    with zipfile.ZipFile(path, "w") as made:
        for name, content in files.items():
            made.writestr(name, content)
    return path


def outside(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if "cache" not in p.parts)


@pytest.mark.parametrize(
    "name",
    ["../evil", "a/../../evil", "/tmp/evil", "..\\evil", "C:/evil", "C:evil", "resources/../../../evil"],
)
def test_entries_that_lead_out_are_refused(tmp_path, name):
    path = archive(tmp_path / "x.fmu", {"modelDescription.xml": XML, name: "evil"})
    with pytest.raises(InputError, match="does not lie in the FMU"):
        read_fmu(path)
    assert outside(tmp_path) == ["x.fmu"]


def test_links_are_refused(tmp_path):
    path = tmp_path / "x.fmu"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("modelDescription.xml", XML)
        entry = zipfile.ZipInfo("resources")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(entry, "/etc")
    with pytest.raises(InputError, match="is a link or a device"):
        read_fmu(path)


def test_bombs_are_refused(tmp_path):
    path = tmp_path / "x.fmu"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("modelDescription.xml", XML)
        made.writestr("resources/zeros", b"\0" * (2 << 20))
    with pytest.raises(InputError, match="are larger than 1 MB"):
        unpacked(path, most_bytes=1 << 20)
    many = archive(tmp_path / "y.fmu", {f"resources/{i}": "" for i in range(4)})
    with pytest.raises(InputError, match="it has 4 files; at most 3"):
        unpacked(many, most_files=3)


@pytest.mark.parametrize(
    ("xml", "said"),
    [
        ("<a", "is no XML"),
        ("", "is no XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "defines a document type"),
        (XML.replace("3.0", "1.0"), "expected an FMU of FMI 2.0 or 3.0; found version '1.0'"),
        (XML.replace("CoSimulation", "ModelExchange"), "is not for co-simulation"),
        (XML.replace('Identifier="m"', 'Identifier="../m"'), "no C identifier"),
        (XML.replace(' instantiationToken="t"', ""), "has no instantiationToken"),
        (XML.replace('valueReference="1"', 'valueReference="-1"'), "has no value reference; found '-1'"),
        (XML.replace('valueReference="1"', 'valueReference="99999999999"'), "has no value reference"),
    ],
)
def test_descriptions_that_are_none(tmp_path, xml, said):
    with pytest.raises(InputError, match=said):
        read_fmu(archive(tmp_path / "x.fmu", {"modelDescription.xml": xml}))


def test_files_that_are_no_fmu(tmp_path):
    (tmp_path / "x.fmu").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(InputError, match="no zip that can be read"):
        read_fmu(tmp_path / "x.fmu")
    with pytest.raises(InputError, match="there is no FMU"):
        read_fmu(tmp_path / "nowhere.fmu")
    with pytest.raises(InputError, match=r"there is no modelDescription\.xml"):
        read_fmu(archive(tmp_path / "y.fmu", {"readme": ""}))


def test_no_binary_for_this_platform(tmp_path):
    files = {"modelDescription.xml": XML, "binaries/riscv64-plan9/m.so": ""}
    fmu = read_fmu(archive(tmp_path / "x.fmu", files))
    with pytest.raises(InputError, match=r"no binary for this platform .*it has riscv64-plan9"):
        fmu.host_c([], [], 1e-3)


def changed(path, target, change):
    """Copy an FMU with some of its files changed."""
    with zipfile.ZipFile(path) as source:
        files = {name: change(name, source.read(name)) for name in source.namelist()}
    return archive(target, files)


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    return gawthrop_two_actuators.test().write_fmu(tmp_path_factory.mktemp("rig") / "rig.fmu", half="rig")


def step_of(path):
    fmu = read_fmu(path)
    return ForeignStep(fmu, [fmu.find("command[0]", "input")], [fmu.find("measured.force[0]", "output")])


def test_wrong_token_and_broken_binary(tmp_path, rig):
    assert step_of(rig).first() == [0.0]
    token = read_fmu(rig).token.encode()
    other = changed(
        rig,
        tmp_path / "other.fmu",
        lambda n, data: data.replace(token, b"{x}") if n.endswith(".xml") else data,
    )
    with pytest.raises(InputError, match="cannot be instantiated; it says: this binary belongs to the FMU"):
        step_of(other).first()
    broken = changed(rig, tmp_path / "broken.fmu", lambda n, data: b"no" if n.endswith(".so") else data)
    with pytest.raises(InputError, match="its binary cannot be loaded; it says"):
        step_of(broken).first()


@given(data=st.data())
def test_a_damaged_file_is_told_in_a_sentence(tmp_path_factory, rig, data):
    """Any byte of the description, of the directory or of an entry may be another."""
    content = bytearray(rig.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    path = tmp_path_factory.mktemp("damaged") / "x.fmu"
    path.write_bytes(content)
    with contextlib.suppress(BondloopError):
        assert read_fmu(path).variables


@given(text=st.text(max_size=200) | st.just(XML), cut=st.integers(0, len(XML)))
def test_any_description_is_read_or_refused(tmp_path_factory, text, cut):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        made.writestr("modelDescription.xml", (XML[:cut] + text + XML[cut:]).encode(errors="replace"))
    path = tmp_path_factory.mktemp("text") / "x.fmu"
    path.write_bytes(stream.getvalue())
    with contextlib.suppress(BondloopError):
        read_fmu(path)
