"""What modules of the package take from each other is public where it is: by its name, and by ``__all__``.

A name with an underscore is its own module's. Another room takes only what a module lists in its ``__all__``.
Both rules hold for ``from module import name`` and for ``module.name``.
"""

import ast
from pathlib import Path

import pytest

import bondloop

SOURCE = Path(bondloop.__file__).parents[1]


def modules():
    """The modules of the package by name, read but not imported."""
    trees = {}
    for path in sorted(SOURCE.glob("bondloop/**/*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        trees[name] = ast.parse(path.read_text(encoding="utf-8"))
    return trees


def listed(tree):
    """The ``__all__`` of a module; None where there is none."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and [getattr(t, "id", "") for t in node.targets] == ["__all__"]:
            return set(ast.literal_eval(node.value))
    return None


def dotted(node):
    """``a.b.c`` as a text; empty for what is no name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := dotted(node.value)):
        return f"{owner}.{node.attr}"
    return ""


def taken(tree, trees):
    """Pairs (module, name) of what a module takes from modules of the package; modules are no such names."""
    bound, pairs = {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a module is imported by its whole name"
            for alias in node.names:
                if (whole := f"{node.module}.{alias.name}") in trees:
                    bound[alias.asname or alias.name] = whole
                elif node.module in trees:
                    pairs.add((node.module, alias.name))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "bondloop":
                    bound[alias.asname or "bondloop"] = alias.name if alias.asname else "bondloop"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, _, rest = dotted(node.value).partition(".")
            owner = ".".join(filter(None, [bound.get(first, ""), rest]))
            if first in bound and owner in trees and f"{owner}.{node.attr}" not in trees:
                pairs.add((owner, node.attr))
    return pairs


def room(module):
    return module.removeprefix("bondloop").lstrip(".").partition(".")[0]


def faults(trees):
    """What is wrong with the imports of the modules, as sentences."""
    public = {name: listed(tree) for name, tree in trees.items()}
    for user, tree in trees.items():
        for owner, name in sorted(taken(tree, trees)):
            if name.startswith("__"):
                continue
            if name.startswith("_") and owner != user:
                yield f"{user} takes {name} from {owner}: give it a public name there"
            elif room(user) != room(owner) and name not in (public[owner] or ()):
                yield f"{user} takes {name} from {owner}, another room, whose __all__ does not list it"


def test_modules_take_from_each_other_what_is_public():
    assert list(faults(modules())) == []


def test_every_name_listed_is_there():
    """In the module itself: defined, imported, or given by ``__getattr__``."""
    for name, tree in modules().items():
        here = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        if "__getattr__" not in here:
            bodies = [s for node in tree.body for s in (node, *getattr(node, "body", ()))]
            imports = [a for s in bodies if isinstance(s, (ast.Import, ast.ImportFrom)) for a in s.names]
            here |= {a.asname or a.name for a in imports}
            here |= {
                n.id
                for s in tree.body
                for n in ast.walk(s)
                if isinstance(getattr(n, "ctx", None), ast.Store) and isinstance(n, ast.Name)
            }
            assert (listed(tree) or set()) <= here, name


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("from bondloop.b.m import good", 0),
        ("from bondloop.b import m\nm.good", 0),
        ("from bondloop.b.m import other", 1),
        ("from bondloop.b.m import _own", 1),
        ("from bondloop.b import m\nm.other", 1),
        ("import bondloop.b.m as it\nit._own", 1),
        ("import bondloop\nbondloop.b.m.other", 1),
        ("def f():\n    from bondloop.b.m import other", 1),
        ("from bondloop.a.n import other", 0),
        ("from bondloop.a.n import _own", 1),
        ("from bondloop.b import __doc__", 0),
    ],
)
def test_the_rule_finds_what_breaks_it(line, count):
    other = ast.parse("__all__ = ['good']\ngood = other = _own = 1")
    names = ("bondloop", "bondloop.a", "bondloop.b", "bondloop.a.n", "bondloop.b.m")
    trees = {**dict.fromkeys(names, ast.parse("")), "bondloop.a.n": other, "bondloop.b.m": other}
    assert len(list(faults({**trees, "bondloop.a.user": ast.parse(line)}))) == count
