"""Which classes an example uses: an import brings a name, and is no use of it."""

import ast
import doctest
import importlib
import inspect
import re
import sys
from functools import cache, cached_property
from pathlib import Path

from public_names import PAGES, ROOT, public


def imported(tree):
    """What the imports of a piece of Python bring of the package, ``{"Sine": <class ...>}``."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "bondloop":
                    module = importlib.import_module(alias.name)
                    names[alias.asname or "bondloop"] = module if alias.asname else sys.modules["bondloop"]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "bondloop":
            module = importlib.import_module(node.module)
            for alias in node.names:
                names[alias.asname or alias.name] = getattr(module, alias.name, None)
    return names


def meant(node, names):
    """What a name, or names with dots between them (``bl.rigs.Sensor``), stands for; None: not known."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute) and inspect.ismodule(room := meant(node.value, names)):
        return getattr(room, node.attr, None)
    return None


def used(text, around):
    """Classes that a piece of Python uses, among names that it has around it or imports."""
    tree = ast.parse(text)
    own = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    own |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    names = {name: thing for name, thing in around.items() if name not in own} | imported(tree)
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Name, ast.Attribute))]
    return {thing for node in nodes if inspect.isclass(thing := meant(node, names))}


def examples_of(text):
    """The Python of a page's or a docstring's examples."""
    return "".join(example.source for example in doctest.DocTestParser().get_examples(text))


def docstrings(path):
    """Those of a file of the package that have an example."""
    source = path.read_text(encoding="utf-8")
    nodes = ast.walk(ast.parse(source)) if ">>>" in source else ()
    for node in nodes:
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            text = ast.get_docstring(node) or ""
            if ">>>" in text:
                yield text


def refused(text):
    """Errors that an example ends with."""
    names = re.findall(r"^\s*bondloop\.errors\.(\w+): ", text, re.MULTILINE)
    return {getattr(importlib.import_module("bondloop.errors"), name) for name in names}


@cache
def module_of(path):
    """A file of the package as a module, if it has been imported."""
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return sys.modules.get(".".join(part for part in parts if part != "__init__"))


@cache
def used_in_examples():
    """Classes that are used by what is run as an example: in docstrings, on pages, in examples/."""
    public()  # every room is imported
    things = set()
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        things |= used(examples_of(text), {}) | refused(text)
    for path in sorted((ROOT / "examples").rglob("*.py")):
        things |= used(path.read_text(encoding="utf-8"), {})
    for path in sorted((ROOT / "src").rglob("*.py")):
        around = vars(module_of(path)) if module_of(path) else {}
        for text in docstrings(path):
            things |= used(examples_of(text), around) | refused(text)
    return things


def functions_of(thing):
    """A function, or those of a class: its methods and properties."""
    members = vars(thing).values() if inspect.isclass(thing) else [thing]
    for member in members:
        found = member.func if isinstance(member, cached_property) else getattr(member, "fget", member)
        found = inspect.unwrap(getattr(found, "__func__", found)) if callable(found) else found
        if inspect.isfunction(found):
            yield found


@cache
def annotated_names(path):
    """What a file imports of the package, also for the eye of a type checker alone."""
    return imported(ast.parse(Path(path).read_text(encoding="utf-8")))


@cache
def returned():
    """Classes that an example returns: by the annotations of what has a doctest."""
    things = set()
    for thing in public().values():
        for function in functions_of(thing):
            if ">>>" in (function.__doc__ or ""):
                names = {**annotated_names(inspect.getsourcefile(function)), **function.__globals__}
                words = re.findall(r"\w+", str(function.__annotations__.get("return", "")))
                things |= {names[word] for word in words if inspect.isclass(names.get(word))}
    return things


def is_shown(thing):
    """Whether an example uses it, returns one, or stands in its docstring or a method's."""
    docs = [thing.__doc__, *(function.__doc__ for function in functions_of(thing))]
    if any(">>>" in (text or "") for text in docs):
        return True
    return thing in used_in_examples() or thing in returned()
