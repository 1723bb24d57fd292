"""Kinds that no import has brought yet are found when a file names them."""

import subprocess
import sys

import pytest

FIRST = "from bondloop.engine.data.kinds import FAMILIES, import_all_kinds\n"


@pytest.mark.parametrize(
    "lines",
    [
        "from bondloop.rigs import Imperfection\nassert 'Backlash' in FAMILIES['imperfection']",
        """import_all_kinds()
assert {'controller', 'signal', 'test', 'part'} <= set(FAMILIES)
assert FAMILIES['controller'].get('NoSuchThing') is None
assert len(FAMILIES['controller']) == len(list(FAMILIES['controller'])) > 20""",
    ],
)
def test_a_family_is_whole_when_it_is_looked_at(lines):
    subprocess.run([sys.executable, "-c", FIRST + lines], check=True, timeout=120)


def test_what_the_package_promises_brings_every_kind():
    lines = """
import importlib, pkgutil, bondloop
import_all_kinds()
promised = {(f, k) for f in FAMILIES for k in FAMILIES[f]._known}
for module in pkgutil.walk_packages(bondloop.__path__, "bondloop."):
    if "__main__" not in module.name and ".papers." not in module.name:
        importlib.import_module(module.name)
assert promised == {(f, k) for f in FAMILIES for k in FAMILIES[f]._known}
"""
    subprocess.run([sys.executable, "-c", FIRST + lines], check=True, timeout=300)
