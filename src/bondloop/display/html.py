"""HTML in small pieces; whatever comes from a file is escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LOOKS = (
    ".bondloop td, .bondloop th {text-align: left !important} "
    ".bondloop .number {text-align: right !important} .bondloop pre {white-space: pre-wrap}"
)
"""How pieces look in a notebook; the rest is the notebook's own style."""


def notebook(title: str, parts: Iterable[str]) -> str:
    """Return pieces as what a notebook shows of one thing.

    >>> print(notebook("Run of <x>", ["<p>good</p>", ""]).partition("</style>")[2])
    <BLANKLINE>
    <div><b>Run of &lt;x&gt;</b></div>
    <p>good</p>
    </div>

    Parameters
    ----------
    title
        What it is.
    parts
        Pieces of HTML; empty ones are left out.
    """
    inner = "\n".join([f"<div><b>{escape(title)}</b></div>", *(part for part in parts if part)])
    return f'<div class="bondloop"><style>{LOOKS}</style>\n{inner}\n</div>'


def as_text(thing: object) -> str:
    """Return what a thing prints, for a notebook: the `_repr_html_` of what has no table of its own.

    Parameters
    ----------
    thing
        What prints well.
    """
    return notebook(type(thing).__name__, [preformatted(str(thing))])


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph.

    >>> paragraph("a < b", "note")
    '<p class="note">a &lt; b</p>'
    """
    return f"<p{_class(kind)}>{escape(text)}</p>"


def section(title: str, parts: Iterable[str], anchor: str) -> str:
    """Return a section with its heading; nothing where there are no parts."""
    inner = "\n".join(part for part in parts if part)
    return f'<section id="{anchor}">\n<h2>{escape(title)}</h2>\n{inner}\n</section>' if inner else ""


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], kinds: Sequence[str] = (), *, name: str = ""
) -> str:
    """Return a table.

    Parameters
    ----------
    head
        Of the columns; none for no head.
    rows
        Texts.
    kinds
        Class of each column: ``"number"`` stands to the right, ``"path"`` is broken after its dots.
    name
        Class of the whole.
    """
    kinds = [*kinds, *[""] * len(head)]
    lines = [f"<table{_class(name)}>"]
    if any(head):
        cells = "".join(f"<th{_class(k)}>{escape(h)}</th>" for h, k in zip(head, kinds, strict=False))
        lines.append(f"<thead><tr>{cells}</tr></thead>")
    lines.append("<tbody>")
    for row in rows:
        cells = "".join(f"<td{_class(k)}>{_cell(c, k)}</td>" for c, k in zip(row, kinds, strict=False))
        lines.append(f"<tr>{cells}</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def picture(figure: Figure, caption: str, name: str = "") -> str:
    """Return a figure with its caption, drawn into the page itself; a further class may be named."""
    from bondloop.display.figure import svg_text

    data = base64.b64encode(svg_text(figure).encode()).decode()
    kind = "wide" if figure.get_size_inches()[0] > 5 else "narrow"
    alt = escape(caption, quote=True)
    return (
        f'<figure class="{f"{kind} {name}".strip()}"><img alt="{alt}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def listed(texts: Sequence[str], most: int = 12) -> str:
    """Return texts as one, the first of many.

    >>> listed(["a", "b", "c"], 2), listed([])
    ('a, b, ... (3)', 'none')
    """
    if not texts:
        return "none"
    return ", ".join(texts[:most]) + (f", ... ({len(texts)})" if len(texts) > most else "")


def folded(title: str, inner: str, *, long: bool = False) -> str:
    """Return what is shown on demand, and in print unless it is long."""
    return f"<details{_class('long' if long else '')}><summary>{escape(title)}</summary>\n{inner}\n</details>"


def preformatted(text: str) -> str:
    """Return text as it stands."""
    return f"<pre>{escape(text)}</pre>"


def _cell(text: str, kind: str) -> str:
    """Return a cell; its lines stay lines."""
    cell = escape(text).replace("\n", "<br>")
    return cell.replace(".", ".<wbr>") if kind == "path" else cell


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
