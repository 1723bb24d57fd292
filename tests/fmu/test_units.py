"""Units of FMUs of others: by name, by the FMU's own definition, by declared types."""

import zipfile

import pytest

from bondloop.errors import InputError
from bondloop.fmu import read_fmu

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


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BONDLOOP_CACHE", str(tmp_path / "cache"))


def read(folder, version, own):
    """Return an FMU with one input, whose unit is told by some attributes."""
    if version == 2:
        variable = (
            f'<ScalarVariable name="u" valueReference="1" causality="input"><Real {own}/></ScalarVariable>'
        )
        head = 'fmiVersion="2.0" modelName="m" guid="t"'
    else:
        variable = f'<Float64 name="u" valueReference="1" causality="input" {own}/>'
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
