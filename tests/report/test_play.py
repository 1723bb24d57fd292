"""Pages that play: what the browser computes is what the rehearsal computes; sliders move parameters."""

import base64
import importlib.metadata
import json
import re
import shutil

import numpy as np
import pytest

from bondloop.cli.dashboard import slider_of, variant_of
from bondloop.control import Direct
from bondloop.engine.codegen.toolchain import zig
from bondloop.engine.codegen.wasm import wasm_compiler, write_wasm
from bondloop.errors import CompileError, InputError
from bondloop.papers import dubois_damper, gawthrop_two_actuators, mr_damper_building
from bondloop.report import write_play

CHROMIUM = shutil.which("chromium")
SECONDS = 3.0
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


def can_compile():
    try:
        return bool(wasm_compiler())
    except CompileError:
        return False


compiled = pytest.mark.skipif(
    not can_compile(), reason="no compiler for WebAssembly: `make browser` installs one"
)
browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium: `make browser` installs Debian's, as root"
)


def diverging():
    return gawthrop_two_actuators.test().replaced(controller=Direct())


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def opened(chromium, tmp_path_factory):
    """Open a page of tests by name; whatever it complains of, or fetches, fails the test."""
    folder, trouble = tmp_path_factory.mktemp("play"), []

    def open_page(tests, **options):
        file = folder / f"{len(list(folder.iterdir()))}.html"
        write_play(tests, file, seconds=SECONDS, **options)
        page = chromium.new_page(viewport={"width": 1280, "height": 720})
        page.set_default_timeout(300_000)  # ms, however busy the machine is
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda r: None if r.url == file.as_uri() else trouble.append(r.url))
        page.goto(file.as_uri())
        return page

    yield open_page
    assert trouble == []


@compiled
@browser
@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [gawthrop_two_actuators.test, diverging, mr_damper_building.test, dubois_damper.test]
)
def test_the_browser_computes_what_the_rehearsal_does(opened, make):
    test = make()
    run = test.run(SECONDS)
    page = opened(test)
    steps = round(SECONDS / test.period)
    found = page.evaluate("steps => bondloop.rehearse(steps)", steps)
    assert (found["status"] == 0) == run.completed
    assert set(found["columns"]) == set(run.record.channels)
    for name, values in found["columns"].items():
        own = run[name][: len(values)]
        assert len(values) >= min(len(own), steps)
        # Sine and its kin are rounded differently in the last digit; a stable loop forgets that.
        assert np.abs(np.asarray(values[: len(own)]) - own).max() <= 1e-9 * np.abs(own).max()


ASKING = bytes.fromhex("0061736d01000000 0104 01600000 0207 01 0161 0162 00 00".replace(" ", ""))
"""A module that imports the function b of a."""


def swapped(page, module):
    """Return a page with another module in place of its own."""
    text = base64.b64encode(module).decode()
    return re.sub(r'"wasm": "[^"]*"', f'"wasm": "{text}"', page)


@compiled
@browser
@pytest.mark.slow
def test_a_page_that_cannot_run_says_why(chromium, tmp_path):
    page = write_play(gawthrop_two_actuators.test(), seconds=1)

    def said(text, words, *, before="", during="", scripts=True):
        file = tmp_path / "page.html"
        file.write_text(text, encoding="utf-8")
        context = chromium.new_context(java_script_enabled=scripts)
        opened = context.new_page()
        opened.set_default_timeout(300_000)
        opened.add_init_script(before)
        opened.goto(file.as_uri())
        if during:
            opened.locator("#state", has_text="running").wait_for()
            opened.evaluate(during)
        opened.locator("#state", has_text=words).wait_for()
        shown = opened.locator("main").is_visible()
        context.close()
        return shown

    assert not said(page, "cannot run: this browser has no WebAssembly", before="delete window.WebAssembly")
    assert not said(swapped(page, ASKING), "cannot run: the compiled test asks for a.b, which no browser has")
    assert not said(swapped(page, ASKING[:-2]), re.compile(r"cannot run: WebAssembly\.Module\(\): .+"))
    assert not said(
        swapped(page, ASKING[:8]), re.compile("cannot run: .+undefined")
    )  # it has no memory, no tick
    trap = "void (tick.run = () => { throw new WebAssembly.RuntimeError('unreachable'); })"
    assert not said(page, "cannot run: unreachable", during=trap)
    assert said(page, "has not started: it needs a browser of the last years, with JavaScript", scripts=False)
    assert said(page, "running")


@pytest.mark.skipif(zig() is None, reason="the ziglang package (410 MB) is not installed")
@browser
@pytest.mark.slow
def test_zig_makes_pages_as_good_as_clang(opened, monkeypatch):
    """As any ziglang that `bondloop[zig]` allows: 0.13.0 to 0.17.0 were tried, each with seven tests."""
    monkeypatch.setattr("bondloop.engine.codegen.wasm.shutil.which", lambda _: None)
    test = gawthrop_two_actuators.test()
    run = test.run(SECONDS)
    found = opened(test).evaluate("steps => bondloop.rehearse(steps)", round(SECONDS / test.period))
    for name, values in found["columns"].items():
        own = run[name][: len(values)]
        error = np.abs(np.asarray(values[: len(own)]) - own).max()
        assert error <= 1e-9 * np.abs(own).max(), importlib.metadata.version("ziglang")


@compiled
@browser
@pytest.mark.slow
def test_a_slider_moves_its_parameter_and_a_variant_starts_again(opened):
    page = opened(
        {"junction": gawthrop_two_actuators.test(), "direct": diverging()},
        sliders={"rig.transfer[0].damper.damping": (50, 500), "excitation.scale": None},
    )
    assert page.locator(".slider").count() == 2
    # Locators, for a page that lets no text be evaluated does not let a test wait for one either.
    page.locator("#clock", has_text="error").wait_for()
    page.locator("#slider-0").focus()
    page.keyboard.press("End")
    assert page.locator(".slider output").first.inner_text() == "5"  # five times the excitation, at most
    page.get_by_role("button", name="excitation.scale back to 1").click()
    assert page.locator(".slider output").first.inner_text() == "1"
    page.select_option("#speed", "20")
    page.locator("#state", has_text="the test is over").wait_for()
    page.select_option("#variant", "direct")
    page.locator("#state", has_text="STOPPED: ").wait_for()
    assert "limit" in page.inner_text("#state")
    made = page.evaluate("({frames: bondloop.frames, ...bondloop.work})")
    assert made["frames"] > 0
    assert made["drawing"] > 0


@compiled
@browser
@pytest.mark.slow
def test_what_is_drawn_is_the_end_of_the_run(opened):
    """The rings hold the last six seconds; here the whole run, whose last value the rehearsal gives."""
    test = gawthrop_two_actuators.test()
    page = opened(test)
    page.select_option("#speed", "20")
    page.locator("#state", has_text="the test is over").wait_for()
    end, last = page.evaluate(
        "() => { const at = (recent.end - 1) % recent.size;"
        " return [recent.end, tick.about.pairs.map(p => recent.rings.get(p.actual)[at])]; }"
    )
    run = test.run(SECONDS)
    assert end == len(run.time)
    for (_, actual), value in zip(run.pairs, last, strict=True):
        assert value == pytest.approx(run[actual][-1], rel=1e-9)


@compiled
def test_a_page_holds_all_it_needs_and_nothing_that_could_break_out(tmp_path):
    test = gawthrop_two_actuators.test()
    page = write_play({"</script><script>alert(1)</script>": test}, tmp_path / "page.html", seconds=1)
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert page.count("<script") == 2
    assert "http:" not in page.replace("http-equiv", "")
    text = page.split('id="data">')[1].split("</script>")[0]
    about = next(iter(json.loads(text)["variants"].values()))
    assert [c["name"] for c in about["channels"]] == [c.name for c in test.tick.channels]


def test_bad_arguments_are_refused(tmp_path):
    test = gawthrop_two_actuators.test()
    with pytest.raises(InputError, match=r"\.html"):
        write_play(test, tmp_path / "page.txt")
    with pytest.raises(InputError, match="no test"):
        write_play({})
    with pytest.raises(InputError, match="too many for a page"):
        write_play(mr_damper_building.test(), seconds=1e5)


@compiled
def test_sliders_of_nothing_and_upside_down_are_refused():
    test = gawthrop_two_actuators.test()
    with pytest.raises(InputError, match=r"unknown parameter 'rig\.transfer\[0\]\.damping'"):
        write_play(test, seconds=1, sliders=["rig.transfer[0].damping"])
    with pytest.raises(InputError, match="smaller value first"):
        write_play(test, seconds=1, sliders={"excitation.scale": (2, 1)})


def test_the_command_line_refuses_what_it_cannot_read():
    with pytest.raises(InputError, match="LEAST:MOST"):
        slider_of("rate=slow")
    for text in ("", "slow:", "slow: fast", ": rate=1"):
        with pytest.raises(InputError, match="--variant"):
            variant_of(text)


def test_without_a_compiler_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("bondloop.engine.codegen.wasm.zig", lambda: None)
    with pytest.raises(CompileError, match="wasi-libc"):
        write_wasm(gawthrop_two_actuators.test().tick)
