"""Every figure of the five pages is written, under its own name, by a script that a test runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DUBOIS = [3, 4, 5, 6, 7, 8, 9, 1, 10, 11, 12, 13, 14, 15]
WRITTEN = {
    "bayer-2000.md": {
        "examples/sub_steps.py": [*(f"bayer_figure_{n}.png" for n in (2, 3, 5, 6)), "bayer_map.png"],
        "examples/papers/bayer_findings.py": ["bayer_figure_4.png"],
        "examples/papers/bayer_compensation.py": ["bayer_compensation.png"],
    },
    "dasilva-1994.md": {
        "examples/papers/dasilva_figures.py": [
            *(f"dasilva_figure_{n}.svg" for n in (2, 3, 5, 6, 8)),
            "dasilva_figure_9.png", "dasilva_modes.png",
        ],
    },
    "du-bois-2010.md": {
        "examples/papers/dubois_figures.py": [
            *(f"dubois_figure_{n}.{'svg' if n in (8, 9) else 'png'}" for n in DUBOIS), "dubois_trip.png",
        ],
        "examples/papers/dubois_outlook_figures.py": ["dubois_benches.png", "dubois_outlook.png"],
    },
    "gawthrop-2005.md": {
        "examples/virtual_junction.py": ["gawthrop_figure_7.png"],
        "examples/two_actuators.py": [f"gawthrop_figure_{n}.png" for n in (13, 14, 15)],
        "examples/papers/gawthrop_figures.py": [
            *(f"gawthrop_figure_{n}.svg" for n in ("1", "2a", "2b", "3")), "gawthrop_figure_12.png",
        ],
    },
    "wagg-2001.md": {
        "examples/papers/wagg.py": [
            "wagg_figure_5.png", "wagg_two_mass_rig.png", "wagg_passivity.png", "wagg_bursts.png",
        ],
    },
}  # fmt: skip
"""By page and script; the script's own test looks at what it writes."""


@pytest.mark.parametrize("page", WRITTEN)
def test_every_figure_of_a_page_has_its_script(page):
    text = (ROOT / "docs" / "papers" / page).read_text(encoding="utf-8")
    shown = set(re.findall(r"\.\./figures/([\w.]+)", text))
    assert shown == {name for names in WRITTEN[page].values() for name in names}
    assert all((ROOT / "docs" / "figures" / name).exists() for name in shown)
    tests = "".join(
        p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("test_*.py") if p != Path(__file__)
    )
    for script in WRITTEN[page]:
        assert (ROOT / script).exists()
        assert Path(script).stem in tests, f"no test runs {script}"
