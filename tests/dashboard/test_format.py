"""How the page writes a size beside its limit: by the page's own JavaScript, judged by units of SI alone."""

import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bondloop.dashboard

PAGE = Path(bondloop.dashboard.__file__).parent / "page"
PREFIXES = {"µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6}
DASH = "\N{EN DASH}"
UNITS = ("m", "m/s", "N", "N*m", "N m", "rad/s", "V", "A", "Pa", "W", "rad", "K", "")
ASK = """
import { ofLimit } from "./format.mjs";
import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(ofLimit(JSON.parse(line))));
"""
sizes = st.one_of(st.just(0.0), st.floats(1e-9, 1e9), st.floats(-9, 9).map(lambda power: 10**power))


def node():
    """Node.js: the machine's own, or the one that Playwright brings."""
    found = shutil.which("node")
    if found is None:
        playwright = pytest.importorskip("playwright")
        found = str(Path(playwright.__file__).parent / "driver" / "node")
    return found


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("format")
    (folder / "format.mjs").write_bytes((PAGE / "format.js").read_bytes())
    (folder / "ask.mjs").write_text(ASK, encoding="utf-8")
    with subprocess.Popen(
        [node(), folder / "ask.mjs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:

        def ask(**bar):
            process.stdin.write(json.dumps(bar) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()


def factor(shown, unit):
    """Return what a unit with a prefix stands for."""
    plain = unit.replace("*", " ")
    for prefix, size in PREFIXES.items():
        if shown in (prefix + plain, prefix + unit):
            return size
    raise AssertionError(f"{shown!r} is no unit for {unit!r}")


def test_the_example_that_was_misread(written):
    """It read: force 86.3, most 0 mN of 200 N."""
    assert written(now=0.0863, most=0.0, limit=200.0, unit="N") == "0.1, most 0.0 of 200 N"
    assert written(now=0.003, most=0.0251, limit=0.025, unit="m") == "3.00, most 25.10 of 25 mm"
    assert written(now=None, most=2400.0, limit=50e3, unit="N") == f"{DASH}, most 2.40 of 50 kN"
    assert written(now=0.0863, most=1500.0, limit=None, unit="N") == "8.63e-5, most 1.5 kN, no limit"
    assert written(now=0.5, most=2.0, limit=1e-15, unit="m") == "5.00e+5, most 2.00e+6 of 1.0000e-9 µm"


@given(now=st.none() | sizes, most=sizes, limit=sizes.filter(bool), unit=st.sampled_from(UNITS))
def test_all_three_are_in_one_unit_and_close_to_what_they_are(written, now, most, limit, unit):
    text = written(now=now, most=most, limit=limit, unit=unit)
    number = rf"({DASH}|\d+(?:\.\d+)?(?:e[+-]\d+)?)"
    found = re.fullmatch(rf"{number}, most {number} of {number}(?: (\D+))?", text)
    assert found, text
    by = factor(found[4] or "", unit)
    assert math.isclose(float(found[3]) * by, limit, rel_tol=1e-4), text
    assert (found[1] == DASH) == (now is None), text
    for shown, size in ((found[1], now), (found[2], most)):
        if size is not None:
            assert abs(float(shown) * by - size) <= max(5.1e-4 * limit, 5.1e-3 * size), text
            if size <= limit:
                assert "e" not in shown or limit / by >= 1e5 or limit / by < 1e-8, text
