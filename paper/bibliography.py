"""Write paper.bib: what paper.md cites, from bondloop's own literature and the works below.

python paper/bibliography.py
"""

import re
from pathlib import Path

from bondloop.report.literature import WORKS, Work

EESD = "Earthquake Engineering & Structural Dynamics"

PAPER = Path(__file__).with_name("paper.md")

BESIDE: dict[str, Work] = {
    "ballance2005": Work(
        "inproceedings",
        ("Ballance, D. J.", "Bevan, G. P.", "Gawthrop, P. J.", "Diston, D. J."),
        "Model Transformation Tools (MTT): the open source bond graph project",
        2005,
        {"booktitle": "International Conference on Bond Graph Modeling and Simulation"},
    ),
    "cudmore2021": Work(
        "article",
        ("Cudmore, P.", "Pan, M.", "Gawthrop, P. J.", "Crampin, E. J."),
        "Analysing and simulating energy-based models in biology using BondGraphTools",
        2021,
        {
            "journal": "The European Physical Journal E",
            "volume": "44",
            "doi": "10.1140/epje/s10189-021-00152-4",
        },
    ),
    "harris2020": Work(
        "article",
        ("Harris, C. R.", "others"),
        "Array programming with NumPy",
        2020,
        {"journal": "Nature", "volume": "585", "pages": "357-362", "doi": "10.1038/s41586-020-2649-2"},
    ),
    "horiuchi1999": Work(
        "article",
        ("Horiuchi, T.", "Inoue, M.", "Konno, T.", "Namita, Y."),
        "Real-time hybrid experimental system with actuator delay compensation and its application to a "
        "piping system with energy absorber",
        1999,
        {"journal": EESD, "volume": "28", "number": "10"},
    ),
    "mckenna2011": Work(
        "article",
        ("McKenna, F.",),
        "OpenSees: a framework for earthquake engineering simulation",
        2011,
        {"journal": "Computing in Science & Engineering", "volume": "13", "number": "4"},
    ),
    "meurer2017": Work(
        "article",
        ("Meurer, A.", "others"),
        "SymPy: symbolic computing in Python",
        2017,
        {"journal": "PeerJ Computer Science", "volume": "3", "pages": "e103", "doi": "10.7717/peerj-cs.103"},
    ),
    "nakashima1992": Work(
        "article",
        ("Nakashima, M.", "Kato, H.", "Takaoka, E."),
        "Development of real-time pseudo dynamic testing",
        1992,
        {"journal": EESD, "volume": "21", "number": "1"},
    ),
    "schellenberg2009": Work(
        "techreport",
        ("Schellenberg, A. H.", "Mahin, S. A.", "Fenves, G. L."),
        "Advanced implementation of hybrid simulation",
        2009,
        {"institution": "Pacific Earthquake Engineering Research Center", "number": "PEER 2009/104"},
    ),
    "virtanen2020": Work(
        "article",
        ("Virtanen, P.", "others"),
        "SciPy 1.0: fundamental algorithms for scientific computing in Python",
        2020,
        {"journal": "Nature Methods", "volume": "17", "pages": "261-272", "doi": "10.1038/s41592-019-0686-2"},
    ),
    "zhu2018": Work(
        "article",
        ("Zhu, M.", "McKenna, F.", "Scott, M. H."),
        "OpenSeesPy: Python library for the OpenSees finite element framework",
        2018,
        {"journal": "SoftwareX", "volume": "7", "pages": "6-11"},
    ),
}
"""Works of the field that no part of a test rests on."""


def cited(paper: str) -> list[str]:
    """Return the keys that a paper cites, in alphabetical order.

    >>> cited("as [@wagg2001; @gawthrop2005] say; @wagg2001 too, name@place not")
    ['gawthrop2005', 'wagg2001']
    """
    return sorted(set(re.findall(r"(?<![\w])@([a-z]+\d{4})", paper)))


def bibliography(paper: str) -> str:
    """Return BibTeX of all that a paper cites; a key that nobody knows is a KeyError."""
    works = WORKS | BESIDE
    return "\n\n".join(works[key].bibtex(key) for key in cited(paper)) + "\n"


if __name__ == "__main__":
    text = bibliography(PAPER.read_text(encoding="utf-8"))
    PAPER.with_name("paper.bib").write_text(text, encoding="utf-8")
