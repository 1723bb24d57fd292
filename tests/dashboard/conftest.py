"""A small loop, and servers of the operator's page: in processes of their own, and near."""

import contextlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bondloop.engine.codegen import compiler

sys.path.insert(0, str(Path(__file__).parents[1] / "realtime"))  # for two_halves.py

linux = sys.platform == "linux" and compiler() is not None
collect_ignore_glob = (
    [] if linux else [f"test_{name}.py" for name in ("attached", "server", "steering", "lockout", "browser")]
)


class Server:
    """`bondloop dashboard` with some words, until it is closed; `port` says where."""

    def __init__(self, *words, port=0, stderr=None):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bondloop", "dashboard", "--port", str(port), *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
        line = self.process.stdout.readline()
        assert "page is at" in line, line
        self.url = line.split("page is at ")[1].split("/;")[0].split("/#")[0]
        self.port = int(self.url.rpartition(":")[2])
        self.stop_port = int(line.rpartition("listens at port ")[2])

    @property
    def socket(self):
        return f"ws://127.0.0.1:{self.port}/socket"

    def kill(self):
        self.process.kill()
        self.close()

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Near:
    """A server with some settings in a thread of this process, until it is closed: it starts at once."""

    def __init__(self, **settings):
        from bondloop.dashboard import Settings
        from bondloop.dashboard.access import listening
        from bondloop.dashboard.server import server_of

        self._ending = contextlib.ExitStack()
        listener = self._ending.enter_context(listening("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self.url, self.socket = f"http://127.0.0.1:{self.port}", f"ws://127.0.0.1:{self.port}/socket"
        self._server = server_of(Settings(**settings), self.port)
        self.hub = self._server.config.app.app.state.hub
        self._thread = threading.Thread(target=self._server.run, args=([listener],))
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.should_exit = True
        self._thread.join()
        self._ending.close()


@pytest.fixture(scope="session")
def programs():
    from two_halves import make_computer, make_rig

    from bondloop.realtime.programs.build import build_pair

    return build_pair(make_computer("operated"), make_rig())


@pytest.fixture
def loop(programs):
    """A loop that waits for its operator."""
    import numpy as np
    from two_halves import LoopOptions

    from bondloop.realtime import LoopProcess

    table = np.sin(0.02 * np.arange(20_001))[:, None]
    options = LoopOptions(link="loopback://", start=False, arm=True, hold=True, retreat=0.2)
    with LoopProcess(programs.loop, options, table) as process:
        yield process


@pytest.fixture
def server(loop, tmp_path, request):
    """A server in this process that waits as long as a busy machine may take; parameters change that."""
    from bondloop.dashboard import PagePolicy

    patient = {"grace": 600.0, "confirm": 60.0, "old": 50.0}
    policy = PagePolicy(**(patient | getattr(request, "param", {})))
    with Near(segment=loop.name, runs=tmp_path, policy=policy) as served:
        yield served
