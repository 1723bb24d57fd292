"""What a release says of itself in several places is the same in all of them."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import bondloop

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"


def versions_claimed():
    pattern = re.compile(r"Programming Language :: Python :: (3\.\d+)$")
    return [found[1] for line in PROJECT["classifiers"] if (found := pattern.match(line))]


def test_each_python_of_the_classifiers_is_tried_by_the_workflow():
    if not WORKFLOW.exists():
        pytest.skip("the archive was unpacked without its workflow")
    tried = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["release"]["strategy"]["matrix"][
        "python"
    ]
    assert versions_claimed() == tried
    assert PROJECT["requires-python"] == f">={tried[0]}"


def test_the_recipe_needs_what_the_package_needs():
    names = {"matplotlib": "matplotlib-base"}
    needed = [re.match(r"([\w-]+)(.*)", requirement).groups() for requirement in PROJECT["dependencies"]]
    run = [line for line in RECIPE["requirements"]["run"] if not line.startswith("python ")]
    assert run == [f"{names.get(name, name)} {bound}" for name, bound in needed]
    assert PROJECT["requires-python"] == f">={RECIPE['context']['python_min']}"
    (entry,) = PROJECT["scripts"].items()
    assert RECIPE["build"]["python"]["entry_points"] == [" = ".join(entry)]


def test_version_and_licence_are_one():
    assert RECIPE["context"]["version"] == CITATION["version"] == bondloop.__version__
    assert RECIPE["about"]["license"] == PROJECT["license"]
    assert all((ROOT / name).is_file() for name in RECIPE["about"]["license_file"])
    held = sorted(str(p.relative_to(ROOT)) for glob in PROJECT["license-files"] for p in ROOT.glob(glob))
    assert sorted(RECIPE["about"]["license_file"]) == held


def test_the_citation_has_what_its_format_asks_for():
    """The keys that version 1.2.0 of the Citation File Format requires, and none that it does not know."""
    assert {"cff-version", "message", "title", "authors"} <= CITATION.keys()
    assert CITATION["cff-version"] == "1.2.0"
    assert all(author.keys() & {"name", "family-names"} for author in CITATION["authors"])
    assert str(CITATION.get("date-released", "2026-01-01")) >= "2026-01-01"


def test_the_paper_cites_what_its_bibliography_holds():
    path = ROOT / "paper" / "bibliography.py"
    spec = importlib.util.spec_from_file_location("bibliography", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    paper = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    written = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")
    assert written == module.bibliography(paper), "run: python paper/bibliography.py"
    assert len(module.cited(paper)) > 10


def test_figures_of_the_paper_stand_in_the_benchmarks():
    """Every number of its table of comparisons, as it is written there."""
    paper = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    table = paper.partition("# Measured comparisons")[2].partition("The comparisons with")[0]
    measured = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    cells = [line.strip("|").split("|")[1] for line in table.splitlines() if line.startswith("| ")][1:]
    numbers = {n for cell in cells for n in re.findall(r"\d[\d,.]*(?:e-?\d+)?", cell.replace("twice", ""))}
    missing = {n.rstrip(".,") for n in numbers} - set(
        re.findall(r"\d[\d,.]*\d(?:e-?\d+)?|\d(?:e-?\d+)?", measured)
    )
    assert len(cells) >= 10
    assert not missing
