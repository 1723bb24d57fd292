"""The site, made by Sphinx from this folder: ``make docs``.

Pages in Markdown stand here. Written at each build into docs/generated: the reference from docstrings, the
commands from the program, and pages for files outside docs/ that are linked.
"""

# ruff: noqa: E402, INP001 - a script, no part of a package, that imports those beside it

import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import commands
import docstrings
import outside
import pictures
import reference

import bondloop

project = "bondloop"
author = "bondloop contributors"
project_copyright = author
version = release = bondloop.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown", ".markdown": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["figures"]
myst_heading_anchors = 4

default_role = "code"  # `x` in a docstring is code, as on the pages
napoleon_use_param = False  # what is described together stays together: E, A, rho
napoleon_custom_sections = [("Attributes", "params_style")]  # the same, and once: where the docstring does it
napoleon_use_rtype = False
napoleon_attr_annotations = False  # types stand in the signature
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = True
python_maximum_signature_line_length = 90
add_module_names = False
toc_object_entries = False

html_theme = "furo"
html_title = "bondloop"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
pygments_dark_style = "github-dark"  # the theme's own underlines modules, like links
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}


def write_pages(_app: Any) -> None:
    """Write what is generated; a page that has not changed is left, so that it is not read again."""
    texts = {f"generated/reference/{room}.rst": text for room, text in reference.room_pages().items()}
    texts |= {"generated/commands.markdown": commands.page(), **outside.pages()}
    old = {str(path.relative_to(DOCS)) for path in (DOCS / "generated").rglob("*") if path.is_file()}
    for name in old - set(texts):
        (DOCS / name).unlink()
    for name, text in texts.items():
        path = DOCS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def link_pages(app: Any, docname: str, source: list[str]) -> None:
    """Lead links out of docs/ to their pages, and names in the list of all names to their descriptions."""
    path = Path(app.env.doc2path(docname))
    if path.suffix == ".md":
        text = outside.rewritten(source[0], path.parent)[0]
        text = re.sub(r"\n\n```$", "\n```", text, flags=re.MULTILINE)  # the empty line that ends a doctest
        source[0] = re.sub(r"^[\w-]+\*\n", lambda match: _if_any(path, match[0]), text, flags=re.MULTILINE)
    if docname == "reference":
        source[0] = reference.with_links(source[0])


def _if_any(page: Path, pattern: str) -> str:
    """Return an entry of the contents such as ``fmu*`` if there is a page for it: else Sphinx would warn."""
    return pattern if any(page.parent.glob(pattern.strip() + ".md")) else ""


def miss_no_name(_app: Any, env: Any) -> None:
    """Warn of public names that the reference does not describe."""
    from sphinx.util import logging

    described = env.domains["py"].objects
    for things in reference.public().values():
        for name, thing in things.items():
            if (path := f"{reference.home(name, thing)}.{name}") not in described:
                logging.getLogger(__name__).warning("the reference misses %s", path)


def setup(app: Any) -> None:
    """Connect the above with the build."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", link_pages)
    app.connect("autodoc-process-docstring", docstrings.keep_marks)
    app.connect("env-check-consistency", miss_no_name)
    app.add_post_transform(docstrings.NoGuesses)
    app.add_post_transform(pictures.OneScale)
