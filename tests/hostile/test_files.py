"""Files of strangers: read, or refused in one sentence; never a traceback, a crash, a hang, or all memory."""

import json
import os
import random
import struct
import sys
import zipfile
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy import io, sparse

from bondloop.containers import load_matlab
from bondloop.errors import BondloopError, InputError
from bondloop.readers import read_measurements, reader_process
from bondloop.rehearsal.prepared import rerun
from bondloop.rehearsal.repeating import repetition_of
from bondloop.results import Record
from bondloop.structures import read_matrices

sys.path.insert(0, str(Path(__file__).parent))  # for mutated_files.py


from mutated_files import KINDS, _run, fuzz, original


@pytest.mark.nightly
@pytest.mark.timeout(200)
def test_changed_files_are_read_or_refused():
    """20,000 changed bytes here; tests/hostile/mutated_files.py changes a million."""
    answer = fuzz(first=3_000_000, bytes_changed=20_000, seconds=120)
    assert answer["wrong"] == []
    assert answer["files"] > 20


@pytest.mark.parametrize("kind", KINDS)
def test_the_originals_are_good(kind, tmp_path):
    path = tmp_path / f"good{KINDS[kind].ending}"
    path.write_bytes(original(kind))
    KINDS[kind].read(path)


# ---------------------------------------------------------------------- sparse matrices


def parts(indices, pointers, data=(1.0, 2.0)):
    return {"data": np.array(data), "indices": np.array(indices), "indptr": np.array(pointers)}


FALSE = {
    "an index beyond the matrix": parts([0, 900_000_000], [0, 1, 2]),
    "an index below zero": parts([0, -5], [0, 1, 2]),
    "pointers that go back": parts([0, 1], [0, 5, 2]),
    "pointers beyond the entries": parts([0, 1], [0, 1, 2_000_000]),
    "fewer indices than entries": parts([0], [0, 1, 2]),
    "indices that are not whole": parts([0.0, 0.5], [0, 1, 2]),
}


@pytest.mark.parametrize("what", FALSE)
@pytest.mark.parametrize("form", ["own", "csr", "csc", "mat", "mat 7.3"])
def test_false_indices_never_reach_arithmetic(tmp_path, what, form):
    false = FALSE[what]
    path = tmp_path / ("a.mat" if form.startswith("mat") else "a.npz")
    if form == "own":
        np.savez(path, **{f"{n}_{k}": v for n in "MK" for k, v in false.items()})
    elif form == "mat":
        if len(false["indices"]) < 2 or false["indices"].dtype.kind == "f":
            pytest.skip("such a file cannot be made by changing numbers in a good one")
        good = sparse.csc_array((np.array([1.0, 2.0]), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2))
        io.savemat(path, {"M": good, "K": good}, do_compression=False)
        content = path.read_bytes()
        for name, was in (("indptr", [0, 1, 2]), ("indices", [0, 1])):
            old, new = (np.array(values, np.int32).tobytes() for values in (was, false[name]))
            assert content.count(old) >= 2
            content = content.replace(struct.pack("<I", len(old)) + old, struct.pack("<I", len(old)) + new)
        path.write_bytes(content)
    elif form == "mat 7.3":
        with h5py.File(path, "w", userblock_size=512) as file:
            for name in "MK":
                group = file.create_group(name)
                group.attrs["MATLAB_sparse"] = np.uint64(2)
                for theirs, ours in (("data", "data"), ("ir", "indices"), ("jc", "indptr")):
                    group[theirs] = false[ours]
        with path.open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    else:
        np.savez(path, format=np.array(form), shape=np.array([2, 2]), **false)
    with pytest.raises(InputError) as caught:
        read_matrices(path) if form in ("own", "mat", "mat 7.3") else read_matrices(M=path, K=path)
    said = str(caught.value)
    # The last two are words of SciPy, whose own reader refuses it first.
    assert any(w in said for w in ("not well formed", "whole numbers", "same size", "index pointer"))


TAGS = {
    "a kind beyond the table of kinds": (b"\x09\x00\x00\x00\x20\x00\x00\x00", 1, 0x18),
    "a kind that is no number": (b"\x09\x00\x00\x00\x20\x00\x00\x00", 0, 14),
    "no dimensions": (b"\x05\x00\x00\x00\x08\x00\x00\x00\x02\x00\x00\x00", 4, 0),
    "an imaginary part that is not there": (b"\x06\x00\x00\x00\x00\x00\x00\x00\x05", 1, 8),
    "more than there is": (b"\x09\x00\x00\x00\x20\x00\x00\x00", 6, 9),
}
"""What stands in a good file, and which of its bytes becomes what; SciPy dies of three of them."""


@pytest.mark.parametrize("what", TAGS)
@pytest.mark.parametrize("compressed", [False, True])
def test_false_elements_of_matlab_files_end_no_process_of_the_users(tmp_path, what, compressed):
    good, at, new = TAGS[what]
    path = tmp_path / "a.mat"
    io.savemat(path, {"s": {"a": np.eye(2), "b": np.eye(2)}})
    content = bytearray(path.read_bytes())
    content[content.index(good, 200) + at] = new
    if compressed:
        packed = zlib.compress(content[128:])
        content[128:] = struct.pack("<II", 15, len(packed)) + packed
    path.write_bytes(content)
    for read in (read_measurements, read_matrices):
        with pytest.raises(InputError, match=r"a\.mat"):
            read(path)


def test_every_kind_of_matlab_variable_is_read(tmp_path):
    variables = {
        "complex": np.array([1 + 2j]),
        "text": "Kobe",
        "texts": np.array(["ab", "cde"]),
        "cells": np.array([1, "x", np.eye(2)], object),
        "structure": {"p": 1, "q": {"r": np.arange(3), "empty": []}},
        "structures": np.array([(1, 2.0), (3, 4.0)], dtype=[("x", int), ("y", float)]),
        "sparse": sparse.csc_array(np.eye(3)),
        "sparse_complex": sparse.csc_array(np.eye(3) * 1j),
        "logical": np.array([True, False]),
        "small": np.int8([1, 2, 3]),
        "none": np.zeros((0, 3)),
    }
    for compressed in (False, True):
        io.savemat(tmp_path / "a.mat", variables, do_compression=compressed)
        content = load_matlab(tmp_path / "a.mat", simple=True)
        assert content is not None
        assert set(content) == set(variables)
        assert content["structure"]["q"]["r"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("shape", [b"(99999999999,)", b"(3, 99999999)"])
def test_an_array_larger_than_its_file_is_refused(tmp_path, shape):
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(3))
    content, padded = path.read_bytes(), b"(3,), }" + b" " * (len(shape) - 4)
    assert padded in content
    path.write_bytes(content.replace(padded, shape + b", }", 1))
    with pytest.raises(InputError, match=r"a\.npy (asks for more memory|is damaged)"):
        read_matrices(K=path, M=path)


def test_a_small_archive_that_claims_all_memory_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("K.npy", "w") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f8", "fortran_order": False, "shape": (2**18, 2**18)}
        )
        file.write(bytes(2**20))
    with pytest.raises(InputError, match=r"a\.npz asks for more memory"):
        read_matrices(path)
    with pytest.raises(InputError, match=r"a\.npz asks for more memory"):
        read_measurements(path)


def test_objects_are_not_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="Object arrays cannot be loaded"):
        read_matrices(K=tmp_path / "a.npy", M=tmp_path / "a.npy")


# ---------------------------------------------------------------------- HDF5


def run_file(path):
    _run().save(path)
    return path


def replaced(path, name, make):
    """Replace a dataset of a run file by another of the same shape; what it says of itself stays."""
    with h5py.File(path, "r+") as file:
        shape, kind, said = file[name].shape or (1,), file[name].dtype, dict(file[name].attrs)
        del file[name]
        make(file, name, shape, kind)
        if isinstance(file.get(name, getlink=True), h5py.HardLink):
            for word, value in said.items():
                file[name].attrs[word] = value


def external(file, name, shape, kind):
    outside = [("/etc/passwd", 0, h5py.h5f.UNLIMITED)]
    file.create_dataset(name, shape, kind, external=outside)


def virtual(file, name, shape, kind):
    layout = h5py.VirtualLayout(shape, kind)
    layout[...] = h5py.VirtualSource("elsewhere.h5", "x", shape)
    file.create_virtual_dataset(name, layout)


def linked(file, name, *_):
    file[name] = h5py.ExternalLink("elsewhere.h5", "x")


def soft(file, name, *_):
    file[name] = h5py.SoftLink("/description")


def huge(file, name, shape, kind):
    file.create_dataset(name, (10**12, *shape[1:]), kind, chunks=(1000, *shape[1:]))


ATTACKS = [
    (external, "in other files"),
    (virtual, "in other files"),
    (linked, "a link"),
    (soft, "a link"),
    (huge, r"claims|samples; time has"),
]
PLACES = [
    "channels",
    "time",
    "channel_names",
    "channel_units",
    "channel_meanings",
    "description",
    "attributes",
]


@pytest.mark.parametrize(("make", "words"), ATTACKS)
@pytest.mark.parametrize("name", PLACES)
def test_a_run_file_holds_its_numbers_itself(tmp_path, name, make, words):
    path = run_file(tmp_path / "run.h5")
    with h5py.File(path, "r+") as file:  # texts of one length, which alone can lie elsewhere
        if file[name].dtype.kind == "O":
            text = np.array(file[name][()], "S")
            del file[name]
            file[name] = text
    replaced(path, name, make)
    with pytest.raises(InputError, match=words):
        Record.load(path)


@pytest.mark.parametrize("rows", [10**12, 10**7])
def test_a_table_claims_no_more_than_it_holds(tmp_path, rows):
    """Time may claim as much as the table does; neither is believed. Nor are a billion names."""
    path = run_file(tmp_path / "run.h5")
    with h5py.File(path, "r+") as file:
        width = file["channels"].shape[1]
        del file["channels"]
        file.create_dataset("channels", (rows, width), "f8", chunks=(1000, width))
    with pytest.raises(InputError, match="'channels' has"):
        Record.load(path)
    with h5py.File(path, "r+") as file:
        del file["time"]
        file["time"] = np.arange(10**6)
        del file["channels"]
        file.create_dataset("channels", (10**6, width), "f8", chunks=(1000, width))
    with pytest.raises(InputError, match=r"'/channels' claims \d+ MB but holds 0 bytes"):
        Record.load(path)
    with h5py.File(path, "r+") as file:
        del file["channel_names"]
        file.create_dataset("channel_names", (rows,), "S1", chunks=(1000,), compression="gzip")
    with pytest.raises(InputError, match=r"claims [0-9,]+ texts of 1 bytes; at most 100,000"):
        Record.load(path)


def test_a_run_is_the_same_through_another_process(tmp_path):
    path = run_file(tmp_path / "run.h5")
    near, far = Record.load(path), Record.load(path, isolated=True)
    assert list(near) == list(far)
    assert all(np.array_equal(near[name], far[name]) for name in near)
    assert (near.units, near.meanings, near.attributes) == (far.units, far.meanings, far.attributes)
    assert near.description == far.description
    with pytest.raises(InputError, match="channel"):
        Record.load(path, ["nothing"], isolated=True)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(InputError, match=r"run\.h5"):
        Record.load(path, isolated=True)
    with pytest.raises(InputError, match="there is no run file"):
        Record.load(tmp_path / "none.h5", isolated=True)


def first_of_all(folder, monkeypatch, *lines):
    """Let every Python that is started from here on execute some lines first."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("\n".join(lines))
    monkeypatch.setattr(reader_process, "_shared", {})  # another reader than that of the tests before
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{os.environ.get('PYTHONPATH', '')}")


def test_the_start_of_the_reader_does_not_count(tmp_path, monkeypatch):
    """A good file was called damaged where Python took long to start, as it does on a busy machine."""
    path = run_file(tmp_path / "run.h5")
    monkeypatch.setattr(reader_process, "BASE_SECONDS", 1.0)
    first_of_all(tmp_path / "slow", monkeypatch, "import time", "time.sleep(2.5)")
    assert len(Record.load(path, isolated=True)) == len(Record.load(path))


def test_a_reader_has_only_so_much_processor_time(tmp_path, monkeypatch):
    path = run_file(tmp_path / "run.h5")
    # Patience by the clock: others may take the processor.
    monkeypatch.setattr(reader_process, "BASE_SECONDS", 1.0)
    monkeypatch.setattr(reader_process, "PATIENCE", 1000.0)
    lines = (
        "import bondloop.results.records.hdf5 as it",
        "def read_content(*_):",
        "    while True: pass",
    )
    first_of_all(tmp_path / "slow", monkeypatch, *lines, "it.read_content = read_content")
    with pytest.raises(InputError, match=r"run\.h5 was not read in 2 s of processor time: it is damaged"):
        Record.load(path, isolated=True)


def test_limits_of_the_users_own_leave_good_files_readable(tmp_path, monkeypatch):
    """Batch systems set them (ulimit -t, -v); lower than the reader's they cannot be raised again."""
    path = run_file(tmp_path / "run.h5")
    limits = [
        f"resource.setrlimit(resource.RLIMIT_{word})" for word in ("CPU, 2 * [900]", "AS, 2 * [6 << 30]")
    ]
    first_of_all(tmp_path / "limited", monkeypatch, "import resource", *limits)
    assert len(Record.load(path, isolated=True)) == len(Record.load(path))


def test_a_machine_that_was_too_busy_says_nothing_of_the_file(tmp_path, monkeypatch):
    """The page remembers unreadable files until they change; this one may be read at the next press."""
    path, code = run_file(tmp_path / "run.h5"), None

    def ended(*_, **__):
        raise reader_process.WorkerEndedError("there was no answer", code)

    monkeypatch.setattr(reader_process.Worker, "call", ended)
    with pytest.raises(InputError, match="too busy; try again") as caught:
        Record.load(path, isolated=True)
    assert not isinstance(caught.value, reader_process.UnreadableError)
    code = -11
    with pytest.raises(reader_process.UnreadableError, match="damaged"):
        Record.load(path, isolated=True)


# ---------------------------------------------------------------------- what a run file asks for


ODD = [None, True, -1, 0, 1e308, 10**7, 10**30, "x", "", [], {}, [[]], {"v": 99999}, float("nan")]


def places(value, at=()):
    """Every place in nested lists and dictionaries."""
    yield at
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*at, key))


@pytest.mark.parametrize("seed", range(300))
def test_what_is_to_be_repeated_is_read_or_refused(seed):
    rng = random.Random(seed)
    description = json.loads(json.dumps(_run().record.description))
    wanted = {k: description[k] for k in ("repeat", "every") if k in description}
    for _ in range(rng.randint(1, 3)):
        *path, last = rng.choice(list(places(wanted))[1:])
        holder = wanted
        for key in path:
            holder = holder[key]
        if rng.random() < 0.2:
            del holder[last]
        else:
            holder[last] = rng.choice(ODD)
    said = "run.h5"
    try:
        repetition_of(wanted, "run.h5")
    except BondloopError as error:
        said = str(error)
    assert "run.h5" in said


def test_repeats_within_repeats_are_counted(tmp_path):
    path = run_file(tmp_path / "run.h5")
    with h5py.File(path, "r+") as file:
        description = json.loads(file["description"][()])
        tick = description["repeat"]["tick"]
        body = tick["tick"]["steps"]
        for depth in range(3):
            tick["variables"].append(f"turn {depth}")
            body = [{"kind": "Repeat", "count": 10**7, "counter": len(tick["variables"]) - 1, "body": body}]
        tick["tick"]["steps"] = body
        del file["description"]
        file["description"] = json.dumps(description)
    with pytest.raises(InputError, match=r"executes \S+e\+\d+ statements"):
        rerun(path)
