"""Works of the literature, and which of them a test should cite."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING

import bondloop

if TYPE_CHECKING:
    from bondloop.hybrid import Rehearsable
    from bondloop.rehearsal import Run


@dataclass(frozen=True)
class Work:
    """A published work.

    Attributes
    ----------
    kind
        BibTeX's word: article, book, inproceedings, techreport, software.
    authors
        Family name and initials of each, ``"Gawthrop, P. J."``.
    title
        Its title.
    year
        Its year.
    where
        The other fields of BibTeX: journal, volume, number, pages, publisher, institution, doi.

    Examples
    --------
    >>> print(WORKS["wallace2005"].words)
    Wallace, M. I., Wagg, D. J. and Neild, S. A. (2005). An adaptive polynomial based forward prediction
    algorithm for multi-actuator real-time dynamic substructuring. Proceedings of the Royal Society A,
    461(2064), 3807-3826.
    """

    kind: str
    authors: tuple[str, ...]
    title: str
    year: int
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The work in a line, as reference lists have it."""
        *first, last = self.authors
        names = f"{', '.join(first)} and {last}" if first else last
        places = ("journal", "booktitle", "publisher", "institution", "type")
        place = ", ".join(self.where[p] for p in places if p in self.where)
        issue = self.where.get("volume", "") + (f"({self.where['number']})" if "number" in self.where else "")
        rest = ", ".join(part for part in (place, issue, self.where.get("pages", "")) if part)
        return f"{names} ({self.year}). {self.title}." + (f" {rest}." if rest else "")

    def bibtex(self, key: str) -> str:
        """Return the entry of a bibliography, under a key."""
        fields = {
            "author": " and ".join(self.authors),
            "title": f"{{{self.title}}}",
            **{k: v.replace("-", "--") if k == "pages" else v for k, v in self.where.items()},
            "year": str(self.year),
        }
        lines = ",\n".join(f"  {name} = {{{_escaped(value)}}}" for name, value in fields.items())
        return f"@{self.kind}{{{key},\n{lines}\n}}"


def _escaped(text: str) -> str:
    r"""Return text for BibTeX; letters with accents are left, since UTF-8 has long been understood.

    >>> _escaped("Smith & Sons, 5 %")
    'Smith \\& Sons, 5 \\%'
    """
    return text.replace("&", r"\&").replace("%", r"\%").replace("#", r"\#")


OWN = Work(
    "software",
    ("{bondloop contributors}",),
    "bondloop: real-time hybrid tests from one model in Python",
    2026,
)
"""bondloop itself."""

_READ = tomllib.loads(files(__package__).joinpath("literature.toml").read_text(encoding="utf-8"))

WORKS = {key: Work(**{**entry, "authors": tuple(entry["authors"])}) for key, entry in _READ["works"].items()}
"""Published works by first author and year."""

SOURCES: dict[str, tuple[str, ...]] = {part: tuple(keys) for part, keys in _READ["sources"].items()}
"""The works by what a description calls a part."""

TEXTBOOK = frozenset(_READ["textbook"])
"""Controllers, integrators and devices that are textbook matter, or bondloop's own."""

MEASURES: tuple[str, ...] = tuple(_READ["measures"])
"""Behind the measures of every run with a transfer system."""


def cite(source: Rehearsable | Run) -> str:
    """Return the BibTeX entries of bondloop and of the works whose methods a test uses.

    Parameters
    ----------
    source
        A test, or a run of one.

    Examples
    --------
    >>> from bondloop.papers import gawthrop_three_mass
    >>> print(cite(gawthrop_three_mass.test()))
    @software{bondloop,
      author = {{bondloop contributors}},
      title = {{bondloop: real-time hybrid tests from one model in Python}},
      version = {...},
      year = {2026}
    }
    <BLANKLINE>
    @article{gawthrop2005,
    ...
    """
    described = source.describe() if hasattr(source, "describe") else source.record.description
    own = OWN.bibtex("bondloop").replace("  year", f"  version = {{{bondloop.__version__}}},\n  year")
    return "\n\n".join([own, *(WORKS[key].bibtex(key) for key in works_of(described))])


def works_of(description: Mapping[str, object]) -> list[str]:
    """Return the keys of the works behind what a description names, each once, in its order.

    Parameters
    ----------
    description
        Of a test.

    Examples
    --------
    >>> works_of({"controller": {"controller": "MCS"}, "integrator": {"integrator": "RK4"}})
    ['wagg2001']
    """
    found = [key for word in _words(description) for key in SOURCES.get(word, ())]
    if description.get("rig") is not None:
        found += MEASURES
    return list(dict.fromkeys(found))


def _words(value: object) -> Iterator[str]:
    """Yield every text of a description, but those of the recorded tick."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key != "repeat":
                yield from _words(inner)
    elif isinstance(value, list):
        for inner in value[:100]:
            yield from _words(inner)
