"""What modules of the package take from each other is public where it is: by its name, and by ``__all__``.

A name with an underscore is its own module's. Another room takes only what a module lists in its ``__all__``.
Both rules hold for ``from module import name`` and for ``module.name``. Nor does a module take from an object
an attribute with an underscore that only classes of other rooms have.
"""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import bondloop

SOURCE = Path(bondloop.__file__).parents[1]


@cache
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


HOOKS = {
    "bondloop.program.kinds": {"_allowed", "_mark"},
}
"""What a module asks of any class by a private name that it states itself: on a model, a public one would be
taken from its parts. This list may become shorter, not longer."""


def is_private(name):
    return isinstance(name, str) and name.startswith("_") and not name.startswith("__")


def attributes(tree):
    """Private attributes that the classes of a module have, by their bodies or by what they are given."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for statement in node.body:
                names.add(getattr(statement, "name", ""))
                targets = getattr(statement, "targets", [getattr(statement, "target", None)])
                names |= {n.id for t in targets if t for n in ast.walk(t) if isinstance(n, ast.Name)}
                if "__slots__" in {getattr(t, "id", "") for t in targets}:
                    names |= {c.value for c in ast.walk(statement) if isinstance(c, ast.Constant)}
        elif isinstance(node, ast.Attribute) and dotted(node.value) in ("self", "cls"):
            names |= {node.attr} if isinstance(node.ctx, ast.Store) else set()
        elif isinstance(node, ast.Call) and dotted(node.func).endswith("setattr__") and len(node.args) == 3:
            names.add(getattr(node.args[1], "value", ""))
    return set(filter(is_private, names))


def reached(tree):
    """Private attributes that a module takes of anything but ``self`` and ``cls``, with the lines."""
    for node in ast.walk(tree):
        owner, name = getattr(node, "value", None), getattr(node, "attr", "")
        if isinstance(node, ast.Call) and dotted(node.func) in ("getattr", "hasattr", "setattr"):
            owner, name = node.args[0], getattr(node.args[1], "value", "")
        if is_private(name) and dotted(owner) not in ("self", "cls"):
            yield name, node.lineno


def private_faults(trees, hooks):
    """Where modules reach into objects of other rooms, as sentences."""
    owners = {}
    for user, tree in trees.items():
        for name in attributes(tree):
            owners.setdefault(name, set()).add(room(user))
    for user, tree in trees.items():
        for name, line in reached(tree):
            rooms = owners.get(name, {room(user)})
            if room(user) not in rooms and name not in hooks.get(user, ()):
                there = " and ".join(sorted(rooms))
                yield f"{user}:{line} takes {name} of another room: give it a public name in {there}"


def test_modules_take_no_private_attribute_of_another_room():
    assert list(private_faults(modules(), HOOKS)) == []


def test_no_hook_outlives_its_use():
    trees = modules()
    for user, names in HOOKS.items():
        assert names <= {name for name, _ in reached(trees[user])}


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("thing._kept", 1),
        ("thing.inner._made()", 1),
        ("thing._kept = 2", 1),
        ("getattr(thing, '_kept', None)", 1),
        ("hasattr(type(thing), '_made')", 1),
        ("thing._set", 1),
        ("thing._slot", 1),
        ("self._kept", 0),
        ("thing.kept", 0),
        ("thing.__dict__", 0),
        ("thing._asdict()", 0),
        ("class Own:\n    _kept = 1\n\nthing._kept", 0),
        ("thing._hook", 0),
    ],
)
def test_the_rule_of_private_attributes_finds_what_breaks_it(line, count):
    other = """
class Other:
    __slots__ = ("_slot",)
    _hook = None
    def __init__(self):
        self._kept = 1
        object.__setattr__(self, "_set", 1)
    def _made(self): ...
"""
    trees = {"bondloop.b.m": ast.parse(other), "bondloop.a.user": ast.parse(line)}
    assert len(list(private_faults(trees, {"bondloop.a.user": {"_hook"}}))) == count


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


def test_the_doctests_of_a_module_alone_see_one_of_each_class(tmp_path):
    """pytest imports a package and then its module, again: one Multiport was made, another asked for."""
    module = SOURCE / "bondloop" / "bondgraph" / "multiport.py"
    if not (SOURCE.parent / "pyproject.toml").is_file():
        pytest.skip("the package is installed, not checked out")
    words = ("-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'pytest'}", str(module))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        capture_output=True, text=True, check=False, cwd=SOURCE.parent, timeout=600,
    )  # fmt: skip
    assert "1 passed" in done.stdout, done.stdout + done.stderr
