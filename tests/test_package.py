"""The package as a whole: what importing it costs, and what it offers."""

import subprocess
import sys
from importlib import metadata
from importlib.resources import files
from pathlib import Path

import pytest

import bondloop

SOURCE = Path(bondloop.__file__).parents[1]
HEAVY = {"numpy", "scipy", "sympy", "matplotlib", "h5py", "rich"}


def loaded_by(statement: str) -> set[str]:
    """Return the heavy packages that a new Python holds after `statement`."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return HEAVY & {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_bondloop_loads_numpy_at_most():
    assert loaded_by("import bondloop") <= {"numpy"}


def test_the_command_line_starts_without_anything_heavy():
    assert loaded_by("import bondloop.cli.main") == set()


def test_listing_the_papers_imports_none_of_them():
    assert loaded_by("from bondloop import papers; papers.entries()") == set()


def test_help_is_answered_without_anything_heavy():
    statement = "from click.testing import CliRunner; from bondloop.cli.main import app\n"
    statement += "assert CliRunner().invoke(app, ['--help']).exit_code == 0"
    assert loaded_by(statement) == set()


def test_version_is_the_installed_one():
    assert bondloop.__version__ == metadata.version("bondloop")


def test_what_to_cite_has_the_version():
    text = (Path(__file__).parents[1] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {bondloop.__version__}\n" in text


def test_the_package_says_it_is_typed():
    assert files("bondloop").joinpath("py.typed").is_file()


@pytest.mark.parametrize("name", bondloop.__all__)
def test_every_public_name_can_be_used(name):
    assert getattr(bondloop, name) is not None
    assert name in dir(bondloop)


def test_only_public_names_are_shown():
    shown = {name for name in dir(bondloop) if not name.startswith("__")}
    assert shown == {name for name in bondloop.__all__ if not name.startswith("__")}


def test_what_belongs_elsewhere_is_not_offered():
    """π is bl.math's, and who needs the compiler's room imports it."""
    assert not {"pi", "codegen"} & {*bondloop.__all__}


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'bondgraf'"):
        bondloop.bondgraf  # noqa: B018


def test_the_doctests_of_a_module_alone_see_one_of_each_class(tmp_path):
    """pytest imports a package and then its module, again: one Multiport was made, another asked for."""
    module = next((SOURCE / "bondloop" / "bondgraph").rglob("multiport.py"))
    if not (SOURCE.parent / "pyproject.toml").is_file():
        pytest.skip("the package is installed, not checked out")
    words = ("-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'pytest'}", str(module))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        capture_output=True, text=True, check=False, cwd=SOURCE.parent, timeout=600,
    )  # fmt: skip
    assert "1 passed" in done.stdout, done.stdout + done.stderr
