"""The sources in an FMU build with FMPy's CMake, on their own, and give the same numbers."""

import shutil
import subprocess
import sys

import fmpy
import numpy as np
import pytest
from fmpy.build import build_platform_binary

from bondloop.papers import dubois_damper

needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")


@needs_cmake
@pytest.mark.slow
@pytest.mark.parametrize("version", [2, pytest.param(3, marks=pytest.mark.nightly)])
def test_sources_build_with_cmake(tmp_path, version, monkeypatch):
    test = dubois_damper.test()
    with_binary = test.write_fmu(tmp_path / "with.fmu", version=version, seconds=0.1)
    bare = test.write_fmu(tmp_path / "bare.fmu", version=version, seconds=0.1, binary=False)
    folder = tmp_path / "bare"
    fmpy.extract(str(bare), str(folder))
    monkeypatch.setattr(subprocess, "check_call", quietly)
    build = tmp_path / "build"
    build.mkdir()
    build_platform_binary(folder, build, cmake_options={})
    seen = fmpy.simulate_fmu(str(folder), stop_time=0.1, output_interval=test.period)
    own = fmpy.simulate_fmu(str(with_binary), stop_time=0.1, output_interval=test.period)
    assert len(seen) == round(0.1 / test.period) + 1
    for name in own.dtype.names:
        np.testing.assert_array_equal(seen[name], own[name])


def quietly(command, **_):
    """Call it, and show what it says only if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stdout.write(done.stdout + done.stderr)
    done.check_returncode()
