"""Put what the operator's page takes from npm into the package: uPlot, as pinned by the lock file.

Hatch runs it for every wheel and every editable install; `make page` runs it by hand. Without npm, or without
a network, the package is built all the same, and `bondloop dashboard` says what is missing.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "src" / "bondloop" / "dashboard" / "page"
TAKEN = {"dist/uPlot.esm.js": "uplot.js", "dist/uPlot.min.css": "uplot.css", "LICENSE": "LICENSE-uplot"}
PATIENCE = 300
"""Seconds for npm."""


def take_uplot() -> str:
    """Fetch uPlot into the page's folder; return what went wrong, nothing if all is well."""
    vendor = PAGE / "vendor"
    lock = PAGE / "package-lock.json"
    mark = vendor / "package-lock.json"
    if mark.is_file() and mark.read_bytes() == lock.read_bytes():
        return ""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PAGE / name, folder)
        words = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        try:
            done = subprocess.run(  # noqa: S603 - npm itself
                words, check=False, cwd=folder, capture_output=True, text=True, timeout=PATIENCE
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"npm did not end well: {error}"
        if done.returncode:
            return f"npm ci failed: {done.stderr.strip()[-300:]}"
        vendor.mkdir(exist_ok=True)
        for source, name in TAKEN.items():
            shutil.copy(Path(folder) / "node_modules" / "uplot" / source, vendor / name)
        shutil.copy(lock, mark)
    return ""


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by hand
    BuildHookInterface = None

if BuildHookInterface is not None:

    class PageHook(BuildHookInterface):  # type: ignore[type-arg]
        """Fetches uPlot before a wheel or an editable install is made."""

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Fetch it, or say why not."""
            del version, build_data
            if trouble := take_uplot():
                self.app.display_warning(f"the operator's page is built without its plots: {trouble}")


if __name__ == "__main__":
    if trouble := take_uplot():
        sys.exit(f"uPlot is not there: {trouble}")
