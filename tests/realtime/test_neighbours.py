"""Neighbours on network and machine: who has not key, address and session moves nothing."""

import contextlib
import mmap
import os
import signal
import socket
import subprocess
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from test_udp import SIGNATURE, a_socket, echo_rig
from two_halves import PERIOD, LoopOptions, make_computer, make_rig, until
from wire import ACCEPT, ALIVE, BUSY, BYE, COMMAND, HELLO, MEASURED, pack, siphash, unpack

from bondloop.engine.codegen import compiler
from bondloop.engine.codegen.toolchain import build_program
from bondloop.errors import InputError
from bondloop.realtime import LoopProcess, RigOptions, RigProcess, Ring
from bondloop.realtime import segment as shared
from bondloop.realtime.options import fresh_key
from bondloop.realtime.programs.build import build_pair
from bondloop.realtime.stop_requests import FOLDER, PREFIX

KEY = "000102030405060708090a0b0c0d0e0f"
OFFER = [1.0, 1.0, PERIOD, 1.0, 0.0]

# Outputs of SipHash-2-4 for the empty message, 00, 00 01 ... and the key above: `vectors_sip64` of the
# authors' reference (github.com/veorq/SipHash, vectors.h).
VECTORS = """
310e0edd47db6f72 fd67dc93c539f874 5a4fa9d909806c0d 2d7efbd796666785 b7877127e09427cf 8da699cd64557618
cee3fe586e46c9cb 37d1018bf50002ab 6224939a79f5f593 b0e4a90bdf82009e f3b9dd94c5bb5d7a a7ad6b22462fb3f4
fbe50e86bc8f1e75 903d84c02756ea14 eef27a8e90ca23f7 e545be4961ca29a1 db9bc2577fcc2a3f 9447be2cf5e99a69
9cd38d96f0b3c14b bd6179a71dc96dbb 98eea21af25cd6be c7673b2eb0cbf2d0 883ea3e395675393 c8ce5ccd8c030ca8
94af49f6c650adb8 eab8858ade92e1bc f315bb5bb835d817 adcf6b0763612e2f a5c91da7acaa4dde 716595876650a2a6
28ef495c53a387ad 42c341d8fa92d832 ce7cf2722f512771 e37859f94623f3a7 381205bb1ab0e012 ae97a10fd434e015
b4a31508beff4d31 81396229f0907902 4d0cf49ee5d4dcca 5c73336a76d8bf9a d0a704536ba93e0e 925958fcd6420cad
a915c29bc8067318 952b79f3bc0aa6d4 f21df2e41d4535f9 87577519048f53a9 10a56cf5dfcd9adb eb75095ccd986cd0
51a9cb9ecba312e6 96afadfc2ce666c7 72fe52975a4364ee 5a1645b276d592a1 b274cb8ebf87870a 6f9bb4203de7b381
eaecb2a30b22a87f 9924a43cc1315724 bd838d3aafbf8db7 0b1a2a3265d51aea 135079a3231ce660 932b2846e4d70666
e1915f5cb1eca46c f325965ca16d629f 575ff28e60381be5 724506eb4c328a95
"""

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "siphash.h"
int main(int count, char **words)
{
    bl_key key;
    unsigned char bytes[64];
    if (count < 2 || bl_key_read(words[1], &key))
        return 1;
    for (int i = 0; i < 64; ++i) {
        printf("%016llx\\n", (unsigned long long)bl_siphash(&key, bytes, (size_t)i));
        bytes[i] = (unsigned char)i;
    }
    return 0;
}
"""


def test_the_hash_is_that_of_its_authors():
    folder = resources.files("bondloop.realtime") / "c"
    files = {n: (folder / n).read_text() for n in ("siphash.c", "siphash.h")}
    program = build_program({**files, "main.c": MAIN}, "vectors", compiler())
    ours = subprocess.check_output([program, KEY], text=True).split()
    theirs = [bytes.fromhex(text)[::-1].hex() for text in VECTORS.split()]  # little endian there
    assert ours == theirs
    assert [f"{siphash(bytes.fromhex(KEY), bytes(range(i))):016x}" for i in range(64)] == theirs
    for wrong in (KEY[:-1], KEY + "0", KEY[:-1] + "g", KEY.upper()):
        assert subprocess.run([program, wrong], check=False).returncode == 1


@pytest.fixture
def playing(programs):
    """A rig with a key, and a socket that is connected with it."""
    with (
        RigProcess(programs.rig, RigOptions(link="udp://127.0.0.1:0", timeout=20.0, key=KEY)) as rig,
        a_socket() as own,
    ):
        host, port = rig.link.removeprefix("udp://").split(":")
        own.connect((host, int(port)))
        yield own


def packed(*words, **more):
    return pack(*words, **more, key=bytes.fromhex(KEY))


def answer(own):
    return unpack(own.recv(2048), bytes.fromhex(KEY))


def opened(own, session=7):
    own.send(packed(HELLO, session, 0, 0, OFFER, SIGNATURE))
    reply = answer(own)
    assert reply["kind"] == ACCEPT
    return session ^ reply["echo"], reply["values"][0]


def test_who_has_not_the_key_gets_no_answer(programs, table, playing):
    playing.settimeout(0.2)
    for key in (bytes(16), bytes.fromhex(fresh_key())):
        playing.send(pack(HELLO, 7, 0, 0, OFFER, SIGNATURE, key=key))
        with pytest.raises(TimeoutError):
            playing.recv(2048)
    link = "udp://{}:{}".format(*playing.getpeername())
    with pytest.raises(InputError, match=r"no rig answers at .* or it has another key"):
        LoopProcess(programs.loop, LoopOptions(link=link, timeout=0.1), table)
    options = LoopOptions(link=link, key=KEY, lock_step=True, steps=20, retreat=0.005, timeout=20.0)
    with LoopProcess(programs.loop, options, table) as loop:
        assert loop.wait(60) == 0


def test_the_key_is_in_no_argument(programs, table):
    with RigProcess(programs.rig, RigOptions(link="udp://127.0.0.1:0", timeout=20.0, key=KEY)) as rig:
        options = LoopOptions(link=rig.link, key=KEY, start=False, retreat=0.005, timeout=20.0, stale=10**6)
        with LoopProcess(programs.loop, options, table) as loop:
            for child in (rig, loop):
                assert KEY.encode() not in Path(f"/proc/{child.pid}/cmdline").read_bytes()
            assert KEY not in repr(options)
            loop.stop()
            assert loop.wait(60) == 0


def test_only_the_address_of_the_handshake_is_heard(playing):
    """A neighbour with the key and the session, at another port: neither command nor farewell counts."""
    session, _ = opened(playing)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as neighbour:
        neighbour.settimeout(20)
        neighbour.connect(playing.getpeername())
        for kind, values in ((COMMAND, [0.5]), (BYE, []), (ALIVE, [])):
            neighbour.send(packed(kind, session, 9, 0, values))
        neighbour.send(packed(HELLO, 7, 0, 0, OFFER, SIGNATURE))  # a copy, from elsewhere
        reply = unpack(neighbour.recv(2048), bytes.fromhex(KEY))
    told = {name: reply[name] for name in ("sequence", "echo", "detail")}
    assert (reply["kind"], reply["values"], set(told.values())) == (BUSY, [], {0})
    playing.send(packed(COMMAND, session, 1, 0, [0.25]))
    reply = answer(playing)
    assert (reply["kind"], reply["echo"]) == (MEASURED, 1)


def test_a_session_that_was_recorded_cannot_be_played_again(playing):
    """The same HELLO is answered, but with another number: the recorded commands are of no session."""
    session, at_rest = opened(playing)
    recorded = [packed(COMMAND, session, n, 0, [0.5]) for n in range(1, 10)]
    playing.send(packed(BYE, session, 0, 0, []))
    until(lambda: _free(playing))
    for data in recorded:
        playing.send(data)
    new, force = opened(playing, 8)
    assert new ^ 8 != session ^ 7
    for data in recorded:
        playing.send(data)
    assert force == at_rest
    playing.send(packed(COMMAND, new, 1, 0, [0.0]))
    assert answer(playing)["echo"] == 1


def _free(own):
    own.send(packed(HELLO, 99, 0, 0, OFFER, SIGNATURE))
    reply = answer(own)
    if reply["kind"] == ACCEPT:
        own.send(packed(BYE, 99 ^ reply["echo"], 0, 0, []))
    return reply["kind"] == ACCEPT


@pytest.mark.parametrize("scheme", ["udp", "shm"])
def test_the_rigs_own_watchdog_goes_to_the_safe_position(scheme, shm, table):
    """The loop falls silent at 0.02 m; the rig goes to the 0.03 m that its loop has named, and not to 0.

    There the specimen shows 30 N/m times 0.03 m and 5 N/m² times its square.
    """
    safe = 0.03
    pair = build_pair(make_computer(), make_rig(), safe={"command": safe})
    link = shm if scheme == "shm" else "udp://127.0.0.1:0"
    with RigProcess(pair.rig, RigOptions(link=link, timeout=1.0)) as rig:
        if scheme == "udp":
            with a_socket() as own:
                host, port = rig.link.removeprefix("udp://").split(":")
                own.connect((host, int(port)))
                own.send(pack(HELLO, 5, 0, 0, [1.0, 1.0, PERIOD, 0.0, safe], SIGNATURE))
                reply = unpack(own.recv(2048))
                own.send(pack(COMMAND, 5 ^ reply["echo"], 1, 0, [0.02]))
                own.settimeout(0.5)
                force = []
                with contextlib.suppress(TimeoutError):  # the session is over
                    while True:
                        force.append(unpack(own.recv(2048))["values"][0])
            assert force[-1] == pytest.approx(30 * safe + 5 * safe**2, rel=0.02)
        else:
            options = LoopOptions(link=rig.link, retreat=0.005, timeout=20.0, stale=10**6)
            with LoopProcess(pair.loop, options, table) as loop:
                until(lambda: loop.ring.written > 20)
                loop.send(signal.SIGKILL)
                loop.wait()
                peek = _peek(rig.link)
                until(lambda: peek["owner"] == 0)
                assert peek["measured"] == pytest.approx(30 * safe + 5 * safe**2, rel=0.02)


def _peek(link):
    """The owner of a rig in shared memory, and what its sensor shows: by the layout of link_shm.c."""
    with (FOLDER / f"{PREFIX}link-{link.removeprefix('shm://')}").open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    class Peek:
        def __getitem__(self, name):
            if name == "owner":
                return int(np.frombuffer(memory, "<u8", 1, 64)[0])
            return float(np.frombuffer(memory, "<f8", 1, 192 + (4 + 252) * 8 + 4 * 8)[0])

    return Peek()


def test_a_loop_that_wakes_after_its_successor_started_is_ignored(programs, table, shm):
    """Frozen for longer than the rig waits; the next loop runs, the first wakes and finds its link lost."""
    with RigProcess(programs.rig, RigOptions(link=shm, timeout=0.3)) as rig:
        options = LoopOptions(link=rig.link, retreat=0.005, timeout=20.0, stale=10**6)
        with LoopProcess(programs.loop, options, table) as first:
            until(lambda: first.ring.written > 20)
            first.send(signal.SIGSTOP)
            try:
                with _started(programs.loop, options, table) as second:
                    until(lambda: second.ring.written > 20)
                    first.send(signal.SIGCONT)
                    assert first.wait(60) == 3
                    assert first.status().cause == 10
                    before = second.status().link["received"]
                    until(lambda: second.status().link["received"] > before + 20)
                    assert second.status().cause == 0
                    second.stop()
                    assert second.wait(60) == 0
            finally:
                first.send(signal.SIGCONT)


def _started(program, options, table):
    """A loop on a rig that will be free in a while."""
    loops, refusals = [], []

    def gets_in():
        try:
            loops.append(LoopProcess(program, options, table))
        except InputError as error:
            refusals.append(str(error))
            return False
        return True

    until(gets_in)
    assert all("in use by another loop" in text for text in refusals)
    return loops[0]


@pytest.fixture
def foreign():
    """Whatever lies under a name that loops and rigs use; removed afterwards."""
    made = []

    def make(name, kind, folder=FOLDER):
        path = folder / name
        if kind == "pipe":
            os.mkfifo(path, 0o600)
        elif kind == "link":
            path.symlink_to("/dev/zero")
        elif kind == "folder":
            path.mkdir()
        else:
            path.write_bytes(bytes(200_000))
            path.chmod(0o666 if kind == "open" else 0o600)
        made.append(path)
        return path

    yield make
    for path in made:
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)


@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "open"])
def test_foreign_files_under_our_names_keep_nobody_waiting(foreign, kind, tmp_path, monkeypatch):
    """A pipe, say, hung every start: whoever opens one waits for its other end."""
    monkeypatch.setattr(shared, "FOLDER", tmp_path)
    path = foreign(f"{PREFIX}foreign-{os.getpid()}", kind, tmp_path)
    os.utime(path, (1, 1), follow_symlinks=False)
    assert shared.sweep() == []
    assert path.is_symlink() or path.exists(), "what is not ours is not removed"
    with pytest.raises(InputError, match="no loop of yours has made it"):
        Ring.attach(path.name)


@pytest.mark.parametrize("kind", ["pipe", "link", "open", "other"])
def test_foreign_files_under_a_rigs_name(programs, table, foreign, kind):
    name = f"foreign-rig-{os.getpid()}"
    foreign(f"{PREFIX}link-{name}", kind)
    with pytest.raises(InputError, match="no rig answers"):
        LoopProcess(programs.loop, LoopOptions(link=f"shm://{name}", timeout=0.05), table)
    if kind in ("pipe", "link"):
        with pytest.raises(InputError, match="cannot be made"):
            RigProcess(programs.rig, RigOptions(link=f"shm://{name}"))


def test_a_rig_that_does_not_say_that_it_is_a_model(programs, table):
    """A link without limits is opened only to what says of itself that nothing moves."""
    with echo_rig() as rig, pytest.raises(InputError, match="does not say that it is a model"):
        LoopProcess(programs.loop, LoopOptions(link=rig.link, machine=False, timeout=20.0), table)
    assert not [p for p in rig.seen if p["kind"] == COMMAND]
