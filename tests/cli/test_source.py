"""A model by name, or from a Python file."""

import sys

import pytest

from bondloop.bondgraph import Model
from bondloop.cli.settings import find_model
from bondloop.errors import InputError

MASS = """
from bondloop.bondgraph import I, Model, One, R, Se

made = Model("cart")
made.force, made.v, made.mass, made.damper = Se("F"), One(), I(mass=2), R(damping=3)
made.force >> made.v >> [made.mass, made.damper]
"""


@pytest.fixture
def write(tmp_path):
    def file(text, name="cart.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return file


def test_a_name_is_looked_up_in_the_papers():
    assert isinstance(find_model("gawthrop-three-mass"), Model)


@pytest.mark.parametrize("last", ["model = made", "def model():\n    return made", "model = lambda: made"])
def test_a_file_gives_a_model_or_a_function_that_makes_one(write, last):
    assert isinstance(find_model(write(MASS + last)), Model)


def test_a_file_may_import_its_neighbour_and_leaves_the_search_path_alone(write):
    write(MASS, name="neighbouring_cart.py")
    before = list(sys.path)
    assert isinstance(
        find_model(write("def model():\n    from neighbouring_cart import made\n    return made")), Model
    )
    assert sys.path == before


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = 1", r"cart\.py defines no `model`"),
        ("model = 3", r"cart\.py: `model` is of type int; a bondloop\.bondgraph\.Model was expected"),
        ("\nmodel = mas", r"cart\.py, line 2: NameError: name 'mas' is not defined"),
        ("model = (", r"cart\.py, line 1: '\(' was never closed"),
        (
            "def model(mass):\n    pass",
            r"cart\.py: TypeError: .*missing 1 required positional argument: 'mass'",
        ),
        ("def model():\n    return 1 / 0", r"cart\.py, line 2: ZeroDivisionError: division by zero"),
        ("raise SystemExit(0)", r"cart\.py ended the program \(exit 0\) before it gave a model"),
    ],
)
def test_a_file_without_a_model_is_refused_with_its_line(write, text, sentence):
    with pytest.raises(InputError, match=sentence):
        find_model(write(text))


def test_a_file_that_does_not_exist():
    with pytest.raises(InputError, match=r"absent\.py: there is no such file"):
        find_model("absent.py")


def test_an_unknown_name_is_one_sentence_with_a_suggestion(bondloop):
    answer = bondloop("equations", "gawthrop-three-mas")
    assert answer.exit_code == 1
    assert answer.stdout == ""
    assert answer.stderr.count("\n") == 1
    assert answer.stderr.startswith("bondloop: unknown model 'gawthrop-three-mas'; did you mean")


@pytest.mark.parametrize("verb", ["check", "run", "draw"])
def test_a_file_that_is_not_there_is_no_unknown_model(bondloop, tmp_path, verb):
    (tmp_path / "pi.toml").write_text("rate = 1000\n")
    (tmp_path / "pi.csv").write_text("1,2\n")
    result = bondloop(verb, tmp_path / "pi.tml")
    assert result.exit_code == 1
    assert f"pi.tml: there is no such file; did you mean {tmp_path / 'pi.toml'}?" in result.stderr
    assert "expected a file that ends in .toml or .py" in bondloop(verb, tmp_path / "pi.csv").stderr
