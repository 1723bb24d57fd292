"""Units of FMUs of others: by name, by the FMU's own definition, by declared types."""

import re
import zipfile

import pytest

from bondloop.errors import InputError
from bondloop.fmu import read_fmu
from bondloop.substructure import FmuHalf

UNITS = """<UnitDefinitions>
<Unit name="Newton"><BaseUnit kg="1" m="1" s="-2"/></Unit>
<Unit name="thousandth"><BaseUnit m="1" factor="0.001"/></Unit>
<Unit name="m"><BaseUnit m="1" factor="0.3048"/></Unit>
<Unit name="degC"><BaseUnit K="1" offset="273.15"/></Unit>
<Unit name="undefined"/><Unit name="odd"><BaseUnit m="one"/></Unit>
</UnitDefinitions>"""
TYPES = {
    2: """<TypeDefinitions><SimpleType name="Length"><Real unit="thousandth"/></SimpleType>
<SimpleType name="Force"><Real quantity="Force" unit="Newton"/></SimpleType></TypeDefinitions>""",
    3: """<TypeDefinitions><Float64Type name="Length" unit="thousandth"/>
<Float64Type name="Force" unit="Newton"/></TypeDefinitions>""",
}
OTHERS = (("F", 2, "input", ""), ("v", 3, "output", ""), ("x", 4, "output", ""))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BONDLOOP_CACHE", str(tmp_path / "cache"))


def read(folder, version, own):
    """Return an FMU with an input u, whose unit is told by some attributes, beside those of a half."""
    if version == 2:
        variable = "".join(
            f'<ScalarVariable name="{n}" valueReference="{r}" causality="{c}"><Real {a}/></ScalarVariable>'
            for n, r, c, a in (("u", 1, "input", own), *OTHERS)
        )
        head = 'fmiVersion="2.0" modelName="m" guid="t"'
    else:
        variable = "".join(
            f'<Float64 name="{n}" valueReference="{r}" causality="{c}" {a}/>'
            for n, r, c, a in (("u", 1, "input", own), *OTHERS)
        )
        head = 'fmiVersion="3.0" modelName="m" instantiationToken="t"'
    text = (
        f"<fmiModelDescription {head}><CoSimulation modelIdentifier='m'/>{UNITS}{TYPES[version]}"
        f"<ModelVariables>{variable}</ModelVariables></fmiModelDescription>"
    )
    with zipfile.ZipFile(folder / "a.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", text)
    return read_fmu(folder / "a.fmu")


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("own", "wanted", "good"),
    [
        ('unit="Newton"', "N", True),
        ('declaredType="Force"', "N", True),
        ('declaredType="Length"', "m", False),  # thousandths, by its type
        ('declaredType="Length" unit="Newton"', "N", True),  # what the variable says itself counts
        ('unit="thousandth"', "m", False),
        ('unit="m"', "m", False),  # called so, and feet by its definition
        ('unit="degC"', "K", False),
        ('unit="Newton"', "m", False),
        ('unit="undefined"', "m", True),
        ('unit="odd"', "m", True),
        ('unit="mm"', "m", False),
        ("", "m", True),
    ],
)
def test_units(tmp_path, version, own, wanted, good):
    fmu = read(tmp_path, version, own)
    if good:
        assert fmu.find("u", "input", wanted).reference == 1
    else:
        with pytest.raises(InputError, match=f"expected {wanted}: put a conversion into the FMU"):
            fmu.find("u", "input", wanted)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("own", "words"),
    [
        ('unit="Newton"', ""),
        ('unit="thousandth"', "is in thousandth; expected a unit of SI: put a conversion into the FMU"),
        ('unit="m"', "is in m; expected a unit of SI"),  # feet by its definition
        ('unit="degC"', "is in degC; expected a unit of SI"),
        ('unit="kN"', "is in kN; expected N: put a conversion into the FMU"),
        ('unit="m/s2"', ""),
        ('unit="undefined"', ""),
        ("", ""),
    ],
)
def test_an_excitation_is_in_units_of_si_whatever_it_is(tmp_path, version, own, words):
    read(tmp_path, version, own)
    with pytest.raises(InputError, match=re.escape(words or "it has no binary")):  # looked for afterwards
        FmuHalf(tmp_path / "a.fmu", force="F", velocity="v", displacement="x", excitations=["u"])
