"""The rooms of the package in the order of the import rules: figure of docs/architecture.md.

Run: python docs/figures/rooms.py [FOLDER]
"""

# ruff: noqa: INP001 - a script, no part of a package

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]

STOREYS = {
    "What one calls": {
        "cli": "the command line",
        "extend": "to write parts of one's own",
        "dashboard": "in the browser",
        "report": "a page for a run",
        "files": "tests as files",
        "papers": "ready-made tests",
        "interop": "other people's programs",
        "studies": "sweeps and maps",
    },
    "A test": {
        "realtime": "loop, links, telemetry",
        "tuning": "a compensator that suits",
        "identify": "models from data",
        "hybrid": "tests, their wiring",
        "check": "before anything moves",
        "rehearsal": "runs in the computer",
        "results": "records, measures, figures",
    },
    "What a test is made of": {
        "safety": "limits, trips, switches",
        "rigs": "emulated rigs, sensors",
        "control": "controllers",
        "transfer": "actuators",
        "integrate": "time-stepping schemes",
        "signals": "excitations",
        "substructure": "cuts, assumptions",
    },
    "Models": {
        "fmu": "FMUs in and out",
        "structures": "finite elements",
        "readers": "files of measurements",
        "devices": "dampers, hysteresis",
        "bondgraph": "causality, equations",
        "math": "functions for laws",
    },
    "The engine": {
        "engine": "systems, ticks, code",
    },
    "The ground": {
        "display": "notebooks, progress",
        "containers": "arrays from files",
        "units": "text to SI",
        "errors": "what is refused",
        "lazy_names": "names on first use",
    },
}
"""What is in each room, highest first, as in the import rules; those that do not exist yet are not drawn."""

COLOURS = ("#dbe9f6", "#d5f0e3", "#fdeccb", "#f9dcd6", "#e6dff5", "#e4e4e4")
COLUMNS, WIDTH, HEIGHT, GAP, LABEL = 4, 172, 50, 10, 165
RULE = "A room imports only from rooms below it, and from those after it in its own storey."


def layers() -> list[str]:
    """Return the rooms in the order of the import rules, highest first."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    return [name.strip("()") for name in rules["contracts"][0]["layers"]]


def rooms() -> dict[str, dict[str, str]]:
    """Return the storeys with the rooms that exist."""
    package = ROOT / "src" / "bondloop"
    here = {
        path.stem for path in package.iterdir() if (path / "__init__.py").exists() or path.suffix == ".py"
    }
    return {
        storey: {room: words for room, words in inside.items() if room in here}
        for storey, inside in STOREYS.items()
    }


def svg() -> str:
    """Draw them: a card of its own colour, so that it can be read on light and on dark pages."""
    parts: list[str] = []
    y = 2 * GAP
    for colour, (storey, inside) in zip(COLOURS, rooms().items(), strict=True):
        rows = -(-len(inside) // COLUMNS)
        tall = rows * HEIGHT + (rows - 1) * GAP
        parts.append(f'<text class="storey" x="{2 * GAP}" y="{y + tall / 2 + 5:g}">{storey}</text>')
        for i, (room, words) in enumerate(inside.items()):
            left = 2 * GAP + LABEL + (i % COLUMNS) * (WIDTH + GAP)
            top = y + i // COLUMNS * (HEIGHT + GAP)
            middle = left + WIDTH / 2
            parts += [
                f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" rx="5" fill="{colour}"/>',
                f'<text class="room" x="{middle:g}" y="{top + 21}">{room}</text>',
                f'<text class="words" x="{middle:g}" y="{top + 39}">{words}</text>',
            ]
        y += tall + 2 * GAP
    wide = 4 * GAP + LABEL + COLUMNS * (WIDTH + GAP) - GAP
    parts.append(f'<text class="storey" x="{2 * GAP + LABEL}" y="{y + GAP}">{RULE}</text>')
    y += 3 * GAP
    style = (
        "text { font-family: Helvetica, Arial, sans-serif; fill: #222 } "
        ".storey { font-size: 13px; font-style: italic } "
        ".room { font-size: 15px; font-weight: bold; text-anchor: middle } "
        ".words { font-size: 12px; text-anchor: middle }"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {y}" width="{wide}" height="{y}">'
    card = f'<rect width="{wide}" height="{y}" rx="8" fill="#ffffff"/>'
    title = "<title>The rooms of bondloop, highest first</title>"
    return "\n".join([head, title, f"<style>{style}</style>", card, *parts, "</svg>", ""])


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    (folder / "rooms.svg").write_text(svg(), encoding="utf-8")
