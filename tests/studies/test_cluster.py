"""Studies on a real cluster of processes: workers die, results do not."""

import os
import re
import signal
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from bondloop.engine.codegen.cuda import gpu_obstacle
from bondloop.errors import BondloopError, InputError
from bondloop.papers import gawthrop_two_actuators, wagg_three_mass
from bondloop.studies import Interrupted, StudyPolicy, sample
from bondloop.studies.cluster import _client, _Received

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")

MASS = "rig.transfer.mass.mass"
VARIED = {"excitation.scale": "uniform(5, 40)", "numerical.mn1.I.mass": "normal(1, 5%)"}
MEASURES = ("error", "trip_time", "peak:force[0]")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def same(one, two):
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.stopped, two.stopped)
    for name, values in one.measured.items():
        np.testing.assert_array_equal(values, two.measured[name])
    assert one.causes == two.causes


def test_a_worker_dies_and_every_result_comes_once(client, tmp_path):
    """The same, to the last bit, as on one core; a worker is killed once some results are there."""
    test = gawthrop_two_actuators.test()
    alone = sample(test, VARIED, 2048, MEASURES, seconds=0.5, backend="lanes", jobs=1)
    before = client.run(os.getpid)
    killed, told = [], []

    def kill_one(done, wanted):
        told.append(done)
        assert wanted == 2048
        if not killed and done < 1024:
            killed.append(next(iter(before.values())))
            os.kill(killed[0], signal.SIGKILL)

    path = tmp_path / "samples.parquet"
    found = sample(
        test,
        VARIED,
        2048,
        MEASURES,
        seconds=0.5,
        backend="lanes",
        cluster=client,
        progress=kill_one,
        keep=path,
        policy=StudyPolicy(chunk_seconds=0.05),  # many chunks
    )
    assert killed
    assert told == sorted(told)
    assert told[-1] == 2048
    same(found, alone)
    from pyarrow import parquet

    assert parquet.read_table(path)["test"].to_pylist() == list(range(2048))
    client.wait_for_workers(2, timeout=60)
    assert killed[0] not in client.run(os.getpid).values()


def test_interrupted_on_a_cluster_and_gone_on_with_on_one_core(client, tmp_path):
    test, path = gawthrop_two_actuators.test(), tmp_path / "samples.parquet"

    def stop(done, _):
        if done > 64:
            raise KeyboardInterrupt

    options = {"seconds": 0.5, "backend": "lanes", "keep": path, "policy": StudyPolicy(chunk_seconds=0.02)}
    with pytest.raises(KeyboardInterrupt):
        sample(test, VARIED, 512, MEASURES, cluster=client, progress=stop, **options)
    found = sample(test, VARIED, 512, MEASURES, resume=True, jobs=1, **options)
    same(found, sample(test, VARIED, 512, MEASURES, seconds=0.5, backend="lanes", jobs=1))


def test_a_tick_on_a_worker_with_several_threads():
    """Threads of one worker do not disturb each other."""
    test = gawthrop_two_actuators.test()
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=3, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        policy = StudyPolicy(chunk_seconds=0.02)
        found = sample(
            test, VARIED, 512, MEASURES, seconds=0.5, backend="lanes", cluster=client, policy=policy
        )
    same(found, sample(test, VARIED, 512, MEASURES, seconds=0.5, backend="lanes", jobs=1))


@pytest.mark.skipif(not gpu_obstacle(), reason="there is a graphics processor")
def test_a_fault_on_a_worker_is_the_fault(client):
    with pytest.raises(BondloopError, match="cannot run so"):
        sample(
            wagg_three_mass.test(), {MASS: "normal(1, 5%)"}, 16, seconds=0.1, backend="cuda", cluster=client
        )


def test_bad_clusters_are_told():
    policy = StudyPolicy(patience=0.5)
    test = wagg_three_mass.test()
    for cluster, words in [
        (0, "from 1 up"), (2.5, "expected a number of workers"),
        ("tcp://127.0.0.1:9", "no Dask scheduler answers"), ("nonsense://x", "no Dask scheduler answers"),
    ]:  # fmt: skip
        with pytest.raises(InputError, match=words):
            sample(test, {MASS: "normal(1, 5%)"}, 16, seconds=0.1, cluster=cluster, policy=policy)


def test_workers_of_another_version_are_refused_by_name(tmp_path):
    """Whether they are there from the start, or come when the study is under way."""
    about = tmp_path / "bondloop-0.0.7.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: bondloop\nVersion: 0.0.7\n")
    other = {"preload": [f"import sys; sys.path.insert(0, {str(tmp_path)!r})"]}
    own = version("bondloop")
    test, options = wagg_three_mass.test(), {"seconds": 0.1, "backend": "lanes"}
    local = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=1, **other, **local) as cluster,
        distributed.Client(cluster) as client,
    ):
        [address] = client.scheduler_info()["workers"]
        words = rf"bondloop {re.escape(own)}, and .*{re.escape(address)} has 0\.0\.7: install bondloop"
        with pytest.raises(InputError, match=words):
            sample(test, {MASS: "normal(1, 5%)"}, 16, cluster=client, **options)
        with pytest.raises(BondloopError, match=words):  # what a worker says that came too late to be asked
            client.submit(_Received, b"", own).result()


def test_without_dask_it_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'bondloop\[cluster\]'"):
        sample(wagg_three_mass.test(), {MASS: "normal(1, 5%)"}, 16, seconds=0.1, cluster=2)


def _blocked(pid):
    """Return whether Ctrl-C is blocked in a process from its start on; yes, where nothing says so."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return True
    line = next(text for text in status.read_text().splitlines() if text.startswith("SigBlk"))
    return bool(int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1)


def test_ctrl_c_while_a_cluster_starts_ends_it_when_it_is_up(monkeypatch, capfd):
    started, blocked = [], []

    class Pressed(distributed.LocalCluster):
        def __init__(self, **options):
            os.kill(os.getpid(), signal.SIGINT)
            super().__init__(**options)
            started.append(self)
            blocked.extend(_blocked(nanny.process.pid) for nanny in self.workers.values())

    monkeypatch.setattr(distributed, "LocalCluster", Pressed)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted) as stop:
        sample(wagg_three_mass.test(), {"excitation.scale": "uniform(1, 2)"}, 64, seconds=0.1, cluster=1)
    assert len(stop.value.sampled) == 0
    assert started[0].status.name == "closed"
    assert blocked == [True]
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="sockets are listed by Linux")
def test_workers_of_ones_own_listen_on_this_machine_alone():
    with ExitStack() as stack:
        before = listening()
        client = _client(1, stack, 30.0)
        assert client.scheduler_info()["address"].startswith("tcp://127.0.0.1:")
        opened = listening() - before
    assert len(opened) >= 2
    assert {address for address, _ in opened} == {"0100007F"}  # 127.0.0.1 as Linux writes it


def listening():
    """Address and port of every socket that listens, of all processes, in hexadecimal digits."""
    texts = [Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6")]
    lines = [line.split() for text in texts for line in text.splitlines()[1:]]
    return {tuple(words[1].split(":")) for words in lines if words[3] == "0A"}
