"""How the site reads docstrings: bars are absolute values, and a type that could be several is no link."""

# ruff: noqa: INP001 - a script, no part of a package

import re
from typing import Any

from sphinx.addnodes import pending_xref
from sphinx.transforms.post_transforms import SphinxPostTransform

MARKS = re.compile(r"(`+[^`]+`+)|(\||_(?=\]))")


def keep_marks(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    r"""Escape what reStructuredText would take for marks: bars in formulas, |v|, and NumPy's ``bool_``.

    Parameters are those of Sphinx's event ``autodoc-process-docstring``; code is left alone.

    >>> lines = ["F = c |v|, or ``|v|``::", "", "   a | b", "", ">>> 1 | 2", "3"]
    >>> keep_marks(None, "", "", None, None, lines)
    >>> print(lines[0], lines[2:5])
    F = c \|v\|, or ``|v|``:: ['   a | b', '', '>>> 1 | 2']
    """
    margin = None  # of the text before a literal block
    doctest = False
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        doctest = bool(line.strip()) and (doctest or line.lstrip().startswith(">>>"))
        if margin is not None and line.strip() and indent <= margin:
            margin = None
        if margin is None and not doctest:
            lines[i] = MARKS.sub(lambda match: match[1] or f"\\{match[2]}", line)
            margin = indent if line.rstrip().endswith("::") else None


class NoGuesses(SphinxPostTransform):
    """Shows as plain text what could lead to several descriptions.

    Annotations are written short, ``Structure``, and are looked up by their last word: of two classes of that
    name the first would be taken, whichever is meant.
    """

    default_priority = 5  # before Sphinx resolves links, at 10

    def run(self, **_options: Any) -> None:
        """Look at every link to Python that is no full name."""
        names = self.env.domains["py"].objects
        ends: dict[str, set[str]] = {}
        for name, entry in names.items():
            ends.setdefault(name.rpartition(".")[2], set()).add(entry.node_id)
        for node in list(self.document.findall(pending_xref)):
            target = node.get("reftarget", "").lstrip(".")
            python = node.get("refdomain") == "py" and target not in names
            if python and len(ends.get(target.rpartition(".")[2], ())) > 1:
                node.replace_self(node.children)
