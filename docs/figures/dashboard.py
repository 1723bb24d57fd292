"""Screenshots of the operator's page: figures of docs/dashboard.md, from a rehearsal that trips.

Run: python docs/figures/dashboard.py [FOLDER]
"""

# ruff: noqa: INP001 - a script, no part of a package

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[2]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
PATIENCE = 600_000


def state(page: Page, word: str) -> None:
    """Wait for a state of the loop."""
    page.wait_for_selector(f"#state[data-state={word}]")


def shots(page: Page, folder: Path) -> None:
    """Rehearse, trip, replay and prepare, and keep a picture of each."""
    page.fill("#name", "Ada")
    page.click("#take")
    page.fill("#rehearse-seconds", "0")
    page.click("#rehearse-start")
    state(page, "inactive")
    page.click("[data-do=ramp_out][data-switch=force]:enabled")
    page.wait_for_selector("#starting-force[data-couples=false]")
    page.click("[data-do=arm]:enabled")
    state(page, "armed")
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=folder / "dashboard_start.png")
    page.click("[data-do=start]:enabled")
    state(page, "active")
    page.click("[data-do=ramp_in][data-switch=force]:enabled")
    page.select_option("#window", "2")
    page.wait_for_timeout(9000)
    page.screenshot(path=folder / "dashboard_live.png", full_page=True)
    page.fill("[data-parameter='interlock.limits.force'] input", "3000")
    page.click("[data-parameter='interlock.limits.force'] button")
    state(page, "tripped")
    page.select_option("#window", "5")
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(1500)
    page.screenshot(path=folder / "dashboard_trip.png")
    page.click("[data-do=stop]:enabled")
    state(page, "finalized")
    page.wait_for_timeout(4000)
    page.click("#theme")
    page.click("#tab-replay")
    page.wait_for_timeout(1500)
    page.select_option("#run-a", index=1)
    page.select_option("#replay-window", "1")
    page.wait_for_timeout(2000)
    page.screenshot(path=folder / "dashboard_replay.png", full_page=True)
    page.click("#theme")
    page.click("#tab-prepare")
    page.click("#check-now")
    page.wait_for_selector("#verdict[data-level]")
    page.wait_for_timeout(2000)
    page.screenshot(path=folder / "dashboard_prepare.png", full_page=True)


def main() -> None:
    """Serve a test of a damper and take the pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "figures"
    subject = Path(__file__).with_name("operated_damper.py")
    with tempfile.TemporaryDirectory() as runs, sync_playwright() as play:
        words = ["dashboard", subject, "--port", "0", "--runs", runs]
        words += ["--rehearsal", "--priority 50 --stale 100000"]
        command = [sys.executable, "-m", "bondloop", *map(str, words)]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
        assert server.stdout is not None
        url = server.stdout.readline().split("page is at ")[1].split(";")[0]
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.set_default_timeout(PATIENCE)
        page.goto(url)
        page.wait_for_selector("#crew:not(:empty)")
        shots(page, folder)
        browser.close()
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
