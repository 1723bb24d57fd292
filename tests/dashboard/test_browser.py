"""The operator's story in a real browser: Debian's Chromium, driven by Playwright."""

import contextlib
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bondloop.dashboard import Subject
from bondloop.results import Record

sys.path.insert(0, str(Path(__file__).parent))
from talk import talking

from conftest import Near, Server

CHROMIUM = shutil.which("chromium")
playwright = pytest.importorskip("playwright.sync_api")
pytestmark = [
    pytest.mark.realtime,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: `make browser` installs Debian's, as root"),
]
LIMIT = 120_000
"""Milliseconds after which what should have happened has not."""
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
SUBJECT = Path(__file__).parent / "subject.py"


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def runs(tmp_path):
    """A folder for rehearsals, which outlive their server: those that a failed test left are ended."""
    yield tmp_path
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().decode(errors="replace")
            if str(tmp_path) in words and "realtime" in words:
                os.kill(int(folder.name), signal.SIGTERM)


@pytest.fixture
def opened(chromium):
    """Open a page as a new person; whatever it complains of, or asks of others, fails the test."""
    contexts, trouble = [], []

    def open_page(url, **options):
        context = chromium.new_context(viewport={"width": 1280, "height": 720}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(LIMIT)
        page.on("pageerror", lambda error: trouble.append(str(error)))
        own = url.partition("://")[2].partition(":")[0]  # at any port: the stop has one of its own
        page.on(
            "request",
            lambda r: None if re.match(rf"(http|ws)s?://{own}[:/]", r.url) else trouble.append(r.url),
        )
        page.goto(url)
        page.wait_for_selector("#presence:not(:empty)")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []


def until(page, condition):
    """Wait until an expression is true in the page; asked from outside, as its policy demands."""
    end = time.monotonic() + LIMIT / 1000
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(50)


def state(page, word):
    page.wait_for_selector(f"#state[data-state={word}]")


def do(page, word, switch=None):
    """Press a button and wait until the loop has confirmed it."""
    page.click(f"[data-do={word}]" + (f"[data-switch={switch}]" if switch else ""))
    page.wait_for_selector("#answer.good")


def rms_error(page):
    """The error that the page shows of the first actuator, as a share; None where there is none."""
    text = page.inner_text("#estimates tbody tr td:nth-child(2)")
    found = re.fullmatch(r"([\d.e+-]+) %", text.strip())
    return float(found[1]) / 100 if found else None


def test_a_rehearsal_from_the_page_to_its_replay(opened, runs):  # noqa: PLR0915 - one story
    """Start, ramp in, watch the subspace plot close, change the span, ramp out, trip, reset, stop, replay."""
    with Server(SUBJECT, "--runs", runs, "--rehearsal", "--stale 100000") as server:
        page = opened(server.url)
        page.click("#take")
        page.fill("#rehearse-seconds", "0")
        page.click("#rehearse-start")
        state(page, "inactive")
        assert page.is_visible("#rehearsal-mark")
        until(
            page,
            "document.getElementById('starting').innerText === '⚠ Start couples: displacement and force'",
        )
        for switch in ("displacement", "force"):
            assert page.inner_text(f"#starting-{switch}") == "⚠ closes in 0.5 s after Start"  # subject.py
            assert not page.is_visible(f"#switch-{switch}-value")
        do(page, "ramp_out", "displacement")
        do(page, "ramp_out", "force")
        until(page, "document.getElementById('starting').innerText.startsWith('Start couples nothing')")
        assert page.inner_text("#starting-force") == "stays out until ramped in"
        do(page, "arm")
        state(page, "armed")
        do(page, "start")
        state(page, "active")
        until(page, "Number(document.querySelector('[data-strip=Motion]')?.dataset.points) > 100")
        until(page, "Number(document.querySelector('[data-plane=Synchronisation]')?.dataset.points) > 50")
        assert not page.is_visible("#starting")
        until(page, "document.getElementById('estimates').innerText.includes('100 %')")  # nothing follows
        do(page, "ramp_in", "displacement")
        until(page, "document.getElementById('switch-displacement-value').innerText === '100 %'")
        until(page, "parseFloat(document.querySelector('#estimates td:nth-child(2)').innerText) < 60")
        assert rms_error(page) < 0.6
        page.focus("#span")
        page.keyboard.press("Home")
        page.keyboard.press("PageUp")
        page.click("#span-set")
        until(page, "document.getElementById('answer').innerText.includes('excitation.scale')")
        viewer = opened(server.url)
        state(viewer, "active")
        assert viewer.is_disabled("#take")
        assert viewer.is_disabled("[data-do=hold]")
        for free in ("#trip", "[data-do=retreat]", "[data-do=stop]"):  # everybody may stop
            assert viewer.is_enabled(free)
        do(page, "ramp_out", "displacement")
        until(page, "document.getElementById('switch-displacement-value').innerText === '0 %'")
        page.keyboard.press("Escape")
        for each in (page, viewer):
            state(each, "tripped")
            assert "tripped by hand" in each.inner_text("#cause")
        until(page, "document.getElementById('cause').innerText.includes('Reset')")
        assert page.is_disabled("[data-do=start]")
        do(page, "reset")
        state(page, "inactive")
        until(page, "document.querySelectorAll('#estimates td').length === 0")  # those were of another run
        assert page.inner_text("#starting-displacement") == "⚠ closes in 0.5 s after Start"
        do(page, "arm")
        do(page, "start")
        for switch in ("displacement", "force"):
            until(page, f"document.getElementById('switch-{switch}-value').innerText === '100 %'")
        do(page, "stop")
        state(page, "finalized")
        until(page, "document.getElementById('events').innerText.includes('the rehearsal has ended')")
        page.click("#tab-replay")
        until(page, "document.querySelectorAll('#run-a option').length > 1")
        page.select_option("#run-a", index=1)
        until(page, "Number(document.querySelector('#replay-strips .strip')?.dataset.points) > 100")
        page.get_by_role("button", name="displacement is in").first.click()
        until(page, "document.documentElement.dataset.replayed !== undefined")
        before = page.inner_text("#replay-time")
        page.select_option(
            "#speed", "0.1"
        )  # at its end the run plays from its beginning: not in one slow frame
        page.click("#play")
        until(page, f"document.getElementById('replay-time').innerText !== '{before}'")


def test_the_page_of_a_dead_server_connects_again(opened, tmp_path):
    words = ("--segment", "bondloop-no-such-loop", "--runs", tmp_path)
    server = Server(*words)
    page = opened(server.url)
    server.kill()
    page.wait_for_selector("#lost:not([hidden])")
    assert page.is_disabled("#trip")
    with Server(*words, port=server.port):
        page.wait_for_selector("#lost", state="hidden")


@pytest.fixture
def far(loop, tmp_path):
    with Server("--segment", loop.name, "--runs", tmp_path) as served:
        yield served


@pytest.mark.nightly
@pytest.mark.parametrize("server", [{"viewers": 1}], indirect=True)
def test_a_page_without_a_place_says_why_and_gets_the_next(opened, server):
    with talking(server) as talk:
        talk.state("inactive")
        page = opened(server.url)
        page.wait_for_selector('#lost:has-text("viewers\' places are taken")')
    page.wait_for_selector("#lost", state="hidden")
    state(page, "inactive")


def test_a_page_that_hears_nothing_says_so(opened, far, loop):
    """A server that is stopped keeps its connections open: what is shown is old, and marked as old."""
    page, viewer = opened(far.url), opened(far.url)
    page.fill("#name", "Ada")
    page.click("#take")
    viewer.wait_for_selector("#presence:has-text('Ada')")
    state(page, "inactive")
    page.wait_for_selector("[data-do=arm]:enabled")
    assert viewer.is_disabled("[data-do=arm]")
    page.fill("[data-parameter=stiffness] input", "")
    page.click("[data-parameter=stiffness] button")
    until(page, "document.getElementById('answer').innerText.includes('a number is missing')")
    far.process.send_signal(signal.SIGSTOP)
    try:
        page.wait_for_selector("body.silent, body.lost")
        assert "What is shown is old" in page.inner_text("#lost")
        assert page.is_disabled("[data-do=arm]")
    finally:
        far.process.send_signal(signal.SIGCONT)
    page.wait_for_selector("#lost", state="hidden")
    page.wait_for_selector("[data-do=arm], #take:enabled")
    state(viewer, "inactive")
    viewer.keyboard.press("Escape")  # everybody may
    state(viewer, "tripped")
    loop.mailbox.stop()
    state(viewer, "finalized")
    viewer.keyboard.press("Escape")
    until(viewer, "document.getElementById('answer').innerText.includes('there is nothing to trip')")


@pytest.mark.nightly
def test_a_trip_fits_on_a_tablet(opened, server, loop):
    page = opened(server.url)
    page.click("#take")
    state(page, "inactive")
    do(page, "arm")
    do(page, "start")
    loop.segment.header["recording_words"][0] = b"the disk is full; nothing more is recorded"
    state(page, "active")
    page.keyboard.press("Escape")
    state(page, "tripped")
    page.wait_for_selector("#recording:has-text('disk')")
    until(page, "document.getElementById('cause').innerText.includes('Reset')")
    for theme in range(2):
        for width, height in ((1280, 720), (1024, 768), (820, 1180)):
            page.set_viewport_size({"width": width, "height": height})
            box = page.locator("#trip").bounding_box()
            assert box["x"] + box["width"] <= width, (theme, width)
            until(page, f"document.documentElement.scrollWidth <= {width}")  # plots follow when they redraw
            assert page.evaluate(CONTRAST) == []
        page.click("#theme")


@pytest.mark.nightly
def test_many_actuators_with_odd_names(opened, tmp_path):
    """Twelve interfaces that turn, and names and units that are HTML: text, and nothing else."""
    from many_actuators import odd_loop

    with (
        odd_loop(12, "<img src=x onerror=alert(1)>") as loop,
        Near(segment=loop.name, runs=tmp_path) as server,
    ):
        page = opened(server.url)
        state(page, "active")
        until(page, "document.querySelectorAll('.plane').length === 24")
        until(
            page, "Number(document.querySelector('[data-plane=\"Synchronisation 1\"]')?.dataset.points) > 50"
        )
        page.locator("[data-plane='Hysteresis 12']").scroll_into_view_if_needed()
        until(page, "Number(document.querySelector('[data-plane=\"Hysteresis 12\"]')?.dataset.points) > 50")
        assert page.evaluate("document.querySelectorAll('#view-live img').length") == 0
        page.locator("#strips summary").first.click()
        assert "<img src=x onerror=alert(1)> [<b>]" in page.inner_text("#strips .picker >> nth=0")
        assert page.inner_text("#answer") == ""


def test_the_longer_of_two_runs_is_drawn_to_its_end(opened, tmp_path):
    """And nothing of a run stays below the name of a file that is damaged."""
    for name, count in (("short.h5", 2000), ("long.h5", 5000)):
        time_ = np.arange(count) * 1e-3
        Record(time_, {"x": np.sin(9 * time_)}, {"x": "m"}).save(tmp_path / name)
    (tmp_path / "damaged.h5").write_bytes((tmp_path / "long.h5").read_bytes()[:3000])
    with Near(segment="bondloop-no-such-loop", runs=tmp_path) as server:
        page = opened(server.url)
        page.click("#tab-replay")
        compare(page, "short.h5", "long.h5")
        page.select_option("#replay-window", "1")
        until(page, "document.documentElement.dataset.replayed === '1.999'")
        page.focus("#scrub")
        page.keyboard.press("End")
        until(page, "document.documentElement.dataset.replayed === '4.999'")
        assert int(page.get_attribute("#replay-strips .strip", "data-points")) > 100
        page.select_option("#run-a", "damaged.h5")
        until(page, "/damaged|not an HDF5/.test(document.getElementById('run-about').innerText)")
        assert page.locator("#replay-strips .strip").count() == 0


def compare(page, run, other):
    """Choose two runs, and wait until both are open: what ends the scrub bar is the longer of them."""
    page.select_option("#run-a", run)
    page.select_option("#run-b", other)
    until(page, f"document.getElementById('run-about').innerText.endsWith('dashed: {other}')")


TWINS = """async ([a, b, pixels]) => {
  const { onGrid, widen } = await import("./twin.js");
  const block = ({ first, step, rows, peak }) => {
    const column = new Float32Array(rows).fill(1);
    column[peak] = 5;
    return { first, step, rows, columns: [new Float32Array(rows), column] };
  };
  const one = block(a), other = block(b);
  widen(one, other, pixels);
  const columns = [...one.columns, onGrid(other.columns[1], other, one, Math.max)];
  const { first, step, rows } = one;
  return { first, step, rows, columns: columns.map((c) => Array.from(c, (v) => (v === v ? v : null))) };
}"""


def test_a_run_that_ended_early_in_the_window_does_not_cut_the_other(opened, tmp_path):
    """It has a row for each of its few samples: as many for all of the other are more than a plot holds."""
    for name, count in (("short.h5", 10_300), ("long.h5", 20_000)):
        time_ = np.arange(count) * 1e-3
        Record(time_, {"x": np.sin(9 * time_)}, {"x": "m"}).save(tmp_path / name)
    with Near(segment="bondloop-no-such-loop", runs=tmp_path) as server:
        page = opened(server.url)
        page.click("#tab-replay")
        compare(page, "short.h5", "long.h5")
        page.select_option("#replay-window", "10")
        until(page, "document.documentElement.dataset.replayed === '10.299'")
        page.focus("#scrub")
        page.keyboard.press("End")
        until(page, "document.documentElement.dataset.replayed === '19.999'")
        assert 500 < int(page.get_attribute("#replay-strips .strip", "data-points")) < 4 * 1280
        for begin in (0.0, 3.0, 9.7):
            a = {"first": begin, "step": 0.001, "rows": 300, "peak": 299}
            b = {"first": 0.0, "step": 0.02, "rows": 500, "peak": 499}
            found = page.evaluate(TWINS, [a, b, 500])
            assert found["rows"] <= 1000
            assert found["first"] <= 0.0
            time_ = found["first"] + found["step"] * np.arange(found["rows"])
            _, one, other = (np.array(column, float) for column in found["columns"])
            assert (np.nanmax(one), np.nanmax(other)) == (5.0, 5.0)
            assert time_[np.nanargmax(one)] == pytest.approx(begin + 0.299, abs=0.0101)
            assert time_[np.nanargmax(other)] == pytest.approx(9.98)
            seen = time_[np.isfinite(one)]
            assert (seen[0], seen[-1]) == pytest.approx((begin, begin + 0.299), abs=0.0101)


def test_another_run_to_compare_with_does_not_move_the_time(opened, tmp_path):
    for name, count in (("one.h5", 2000), ("other.h5", 5000)):
        time_ = np.arange(count) * 1e-3
        Record(time_, {"x": np.sin(9 * time_)}, {"x": "m"}).save(tmp_path / name)
    with Near(segment="bondloop-no-such-loop", runs=tmp_path) as server:
        page = opened(server.url)
        page.click("#tab-replay")
        page.select_option("#replay-window", "1")
        compare(page, "one.h5", "other.h5")
        until(page, "document.documentElement.dataset.replayed === '1.999'")
        page.focus("#scrub")
        page.keyboard.press("Home")
        until(page, "document.documentElement.dataset.replayed === '0.000'")
        page.select_option("#run-b", "")
        until(page, "!document.getElementById('run-about').innerText.includes('dashed')")
        until(page, "document.getElementById('run-about').innerText.includes('samples')")
        assert page.inner_text("#replay-time") == "0.000 s"
        page.select_option("#run-b", "one.h5")
        until(page, "document.getElementById('run-about').innerText.endsWith('dashed: one.h5')")
        assert page.inner_text("#replay-time") == "0.000 s"
        page.select_option("#run-a", "other.h5")
        until(page, "document.documentElement.dataset.replayed === '4.999'")


def test_a_page_with_a_token_asks_for_it(chromium, tmp_path):
    token = tmp_path / "token"
    token.write_text("a-token-of-some-length")
    token.chmod(0o600)
    with Server("--segment", "bondloop-no-such-loop", "--token-file", token, "--runs", tmp_path) as server:
        page = chromium.new_page()
        page.set_default_timeout(LIMIT)
        page.goto(server.url)
        page.fill("#token", "not-the-right-token")
        page.click("#login-go")
        until(page, "document.getElementById('login-trouble').innerText.includes('wrong')")
        page.fill("#token", "a-token-of-some-length")
        page.click("#login-go")
        page.wait_for_selector("#presence:not(:empty)")
        page.close()


CONTRAST = """() => {
  const part = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const shine = (c) => {
    const [r, g, b] = c.match(/[\\d.]+/g).map(part);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (!/^rgba.*, 0\\)$|transparent/.test(c)) return c;
    }
    return "rgb(255, 255, 255)";
  };
  const poor = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.closest(":disabled") || e.tagName === "OPTION") continue;
    const [a, b] = [shine(getComputedStyle(e).color), shine(ground(e))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) poor.push(`${e.tagName} ${e.id} ${e.textContent.trim().slice(0, 30)} ${contrast}`);
  }
  return poor;
}"""
UNNAMED = """() => [...document.querySelectorAll("button, input, select")]
  .filter((e) => !(e.textContent.trim() || e.labels?.length || e.ariaLabel)).map((e) => e.outerHTML)"""


def test_every_text_can_be_read_and_every_control_reached(opened, tmp_path):
    """Contrast of WCAG AA in both themes and all views; names for all controls; nothing beyond the width."""
    shown = {"name": "x", "unit": "m", "role": "desired", "quantity": "displacement", "interface": 0}
    subject = Subject("subject.py", name="subject", channels=[shown])
    with Near(subject=subject, segment="bondloop-no-such-loop", runs=tmp_path) as server:
        page = opened(server.url)
        for _ in range(2):
            for view in ("prepare", "replay", "live"):
                page.click(f"#tab-{view}")
                page.wait_for_selector("#channel-table td", state="attached")
                assert page.evaluate(CONTRAST) == []
            page.click("#theme")
        assert page.evaluate(UNNAMED) == []
        for width in (1280, 820):
            page.set_viewport_size({"width": width, "height": 720})
            until(page, f"document.documentElement.scrollWidth <= {width}")  # plots follow when they redraw
        page.focus("#tab-live")
        page.keyboard.press("ArrowRight")
        assert page.is_visible("#view-replay")


@pytest.mark.parametrize("fate", [pytest.param(signal.SIGSTOP, marks=pytest.mark.nightly), signal.SIGKILL])
def test_trip_reaches_the_loop_though_the_server_is_frozen_or_dead(opened, loop, tmp_path, fate):
    """A viewer presses Esc; the page says that it went to the stop itself, and stays red there."""
    loop.mailbox.arm()
    loop.mailbox.start()
    with Server("--segment", loop.name, "--runs", tmp_path) as server:
        page = opened(server.url)
        state(page, "active")
        page.wait_for_selector("#direct[data-ready=true]")
        server.process.send_signal(fate)
        if fate == signal.SIGKILL:
            page.wait_for_selector("#lost:not([hidden])")
            assert "still reach the loop" in page.inner_text("#lost")
        try:
            page.keyboard.press("Escape")
            page.wait_for_selector("#answer.good")
            assert re.fullmatch(r"trip in \d+ ms: confirmed", page.inner_text("#answer"))
            until(page, "true")
            while loop.ring.state != "safe":
                time.sleep(0.01)
            assert loop.status().cause == 9
        finally:
            if fate == signal.SIGSTOP:
                server.process.send_signal(signal.SIGCONT)
            loop.stop()
            loop.wait(60)
