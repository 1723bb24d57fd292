"""`bondloop draw`."""

import json

import pytest

NAME = "gawthrop-three-mass"


@pytest.mark.parametrize(("suffix", "magic"), [(".svg", b"<"), (".png", b"\x89PNG")])
def test_draws_to_the_file_asked_for(bondloop, tmp_path, suffix, magic):
    path = tmp_path / f"chain{suffix}"
    answer = bondloop("draw", NAME, "--out", path)
    assert answer.exit_code == 0
    assert answer.stdout == f"wrote {path}\n"
    assert path.read_bytes().startswith(magic)


def test_the_model_names_the_file_when_none_is_given(bondloop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = bondloop("draw", NAME, "--json")
    assert json.loads(answer.stdout) == {"model": NAME, "file": f"{NAME}.svg"}
    assert (tmp_path / f"{NAME}.svg").is_file()


def test_sub_models_are_folded_and_unfolded(bondloop, tmp_path):
    sizes = []
    for options in (["--fold"], ["--fold", "--unfold", "m2"], ["--no-fold"]):
        assert bondloop("draw", NAME, "--out", tmp_path / "chain.svg", *options).exit_code == 0
        sizes.append((tmp_path / "chain.svg").stat().st_size)
    assert sizes == sorted(set(sizes)), "each shows more than the last"
    answer = bondloop("draw", NAME, "--out", tmp_path / "chain.svg", "--unfold", "m9")
    assert answer.exit_code == 1
    assert "m9" in answer.stderr


@pytest.mark.parametrize(
    ("out", "sentence"),
    [("chain.bmp", "the file must end in .svg or .png"), ("absent/chain.svg", "there is no folder")],
)
def test_a_file_that_cannot_be_drawn_to_is_refused_before_any_work(bondloop, tmp_path, out, sentence):
    answer = bondloop("draw", NAME, "--out", tmp_path / out)
    assert answer.exit_code == 1
    assert sentence in answer.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_loops_of_a_device_are_drawn(bondloop, tmp_path):
    file = tmp_path / "braced.py"
    file.write_text(
        "from bondloop.bondgraph import I, Model, One, Se\n"
        "from bondloop.devices import Bilinear\n"
        "model = Model('braced')\n"
        "model.push, model.v = Se('push'), One()\n"
        "model.mass, model.brace = I(mass=1.0), Bilinear().element()\n"
        "model.push >> model.v >> [model.mass, model.brace]\n",
        encoding="utf-8",
    )
    picture = tmp_path / "loops.png"
    result = bondloop("draw", str(file), "--loops", "brace", "--out", str(picture))
    assert result.exit_code == 0, result.output
    assert picture.read_bytes()[:4] == b"\x89PNG"
    for path, words in (("mass", "no device"), ("bracing", "brace")):
        result = bondloop("draw", str(file), "--loops", path, "--out", str(picture))
        assert result.exit_code == 1
        assert words in result.stderr
