"""Files of every kind that bondloop reads, changed at random: each is read, or refused in one sentence.

Run: python tests/hostile/mutated_files.py --bytes 1000000 (about an hour; --first SEED; --kind run)

A child process reads one file after the other, with bounded memory and an alarm, so that a crash or a hang is
a result too. Anything but a value or a BondloopError is told with its seed; ``mutated(seed)`` is that file.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 5
"""Longest that one file may take, in seconds of the processor: others' work is no hang."""

PATIENCE = 60
"""The same by the clock: for what waits instead of computing."""

MEMORY = 8 * 2**30
"""Address space of the child, in bytes."""

CHANGES = 30
"""Bytes changed in one file, at most, where it is long."""


@dataclass(frozen=True)
class Kind:
    """A kind of file: its ending, how to make a good one, how to read one."""

    ending: str
    make: Callable[[Path], None]
    read: Callable[[Path], Any]


def _matrices() -> Any:
    from bondloop.structures import ShearBuilding

    return ShearBuilding([1000.0, 800.0, 600.0], [2e5, 1e5, 5e4]).assemble()


def _write_matrices(path: Path) -> None:
    from bondloop.structures import write_matrices

    write_matrices(_matrices(), path)


def _scipy_npz(form: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        from scipy import sparse

        sparse.save_npz(path, _matrices().K.asformat(form), compressed=form == "csr")

    return make


def _npy(path: Path) -> None:
    np.save(path, _matrices().K.toarray())


def _mat73(path: Path) -> None:
    import h5py

    matrices = _matrices()
    with h5py.File(path, "w", userblock_size=512) as file:
        file["K"] = matrices.K.toarray()
        file["K"].attrs["MATLAB_class"] = np.bytes_("double")
        group = file.create_group("M")
        group.attrs["MATLAB_sparse"] = np.uint64(3)
        columns = matrices.M.tocsc()
        for name, values in (("data", columns.data), ("ir", columns.indices), ("jc", columns.indptr)):
            group[name] = values
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def _mtx(path: Path) -> None:
    from scipy import io

    io.mmwrite(path, _matrices().K.tocoo(), symmetry="symmetric")


def _dense_mtx(path: Path) -> None:
    from scipy import io

    io.mmwrite(path, _matrices().K.toarray())


def _read_stiffness(path: Path) -> Any:
    from bondloop.structures import read_matrices

    return read_matrices(M=path, K=path)


def _read_all(path: Path) -> Any:
    from bondloop.structures import read_matrices

    return read_matrices(path)


def _table_matrix(path: Path) -> None:
    path.write_text("a.ux;b.ux;c.rz\n3,5;-1;0\n-1;2;-1\n0;-1;1d0\n")


@cache
def _run() -> Any:
    from bondloop import papers

    return papers.find("gawthrop-three-mass").load().test().run(0.05)


def _read_run(path: Path) -> Any:
    from bondloop.rehearsal.run import Run

    run = Run.load(path)
    return run.record.description, str(run)


def _repeat(path: Path) -> Any:
    from bondloop.rehearsal.prepared import rerun

    return rerun(path, backend="numpy")


def _write_table(path: Path) -> None:
    _run().record.to_csv(path)


def _read_table(path: Path) -> Any:
    from bondloop.readers import read_measurements

    return read_measurements(path)


def _read_data(path: Path) -> Any:
    from bondloop.identify.data import read_data

    return read_data(path)


def _data_npz(path: Path) -> None:
    np.savez_compressed(path, t=np.arange(50) / 100, command=np.sin(np.arange(50)), rate=100.0)


def _data_mat(path: Path) -> None:
    _run().record.to_mat(path)


def _layout(name: str) -> Callable[[Path], None]:
    """Return what writes a text of a recorder, of tests/readers/recorders.py."""

    def make(path: Path) -> None:
        sys.path.insert(0, str(Path(__file__).parents[1] / "readers"))
        from recorders import LAYOUTS

        path.write_bytes(LAYOUTS[name](40))

    return make


def _mdf(path: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "readers"))
    from recorders import write_mdf

    write_mdf(path)


def _save_record(path: Path) -> None:
    _run().record.save(path)


def _read_contents(path: Path) -> Any:
    from bondloop.identify.contents import read_contents

    return str(read_contents(path))


def _read_excitation(path: Path) -> Any:
    from bondloop.signals import Table

    return Table.from_file(path)


def _at2(path: Path) -> None:
    lines = ["PEER NGA STRONG MOTION DATABASE RECORD", "Somewhere, 1999", "ACCELERATION IN UNITS OF G"]
    lines += ["NPTS=  12, DT=   .0050 SEC", "  .1E-02  .2E-02 -.3E-02  .4E-03 -.5E-02", "  .1E-02 " * 5]
    path.write_text("\n".join([*lines, "  .3E-02 -.1E-03"]) + "\n")


def _read_at2(path: Path) -> Any:
    from bondloop.results.motions.accelerograms import read_at2

    return read_at2(path)


def _esm(path: Path) -> None:
    head = [
        "EVENT_NAME: NORCIA",
        "STATION_CODE: AMT",
        "STREAM: HGE",
        "SAMPLING_INTERVAL_S: 0.005000",
        "NDATA: 6",
    ]
    head += ["UNITS: cm/s^2", "DATA_TYPE: ACCELERATION", "USER5:"]
    path.write_text("\n".join([*head, "0.0", "-850.8", "12.5", "3.1", "-4.25", "0.5"]) + "\n")


def _cosmos(path: Path) -> None:
    lines = ["Corrected acceleration    (Format v01.20 with 13 text lines) Converted", *["text"] * 12]
    lines += ["  20 Integer-header values follow on   2 lines, Format= (10I8)", *["       1" * 10] * 2]
    lines += [" 100 Real-header values follow on  20 lines, Format= (5F15.6)"]
    reals = [-999.0] * 100
    reals[61] = 5.0
    lines += ["".join(f"{x:15.6f}" for x in reals[i : i + 5]) for i in range(0, 100, 5)]
    lines += ['   1 Comment line(s) follow, each starting with a "|":', "| nothing"]
    lines += ["      10 acceleration pts, approx  0 secs, units=cm/sec2 (04),Format=(8F10.5)"]
    lines += ["-123.45678" * 8, "   1.00000-123.45678", "End-of-data for Chan  1 acceleration"]
    path.write_text("\n".join(lines) + "\n")


def _motion_csv(path: Path) -> None:
    rows = "\n".join(f"{20 * k};{k % 7 / 10};{k % 3}" for k in range(40))
    path.write_text(f"# Kobe\ntime [ms];EW [g];NS [cm/s^2]\n{rows}\n")


def _read_motion_csv(path: Path) -> Any:
    from bondloop.results import read_ground_motion

    return read_ground_motion(path, channel="NS").corrected("high-pass", 1.0).spectrum([0.1, 1.0])


def _read_any_motion(path: Path) -> Any:
    from bondloop.results import read_ground_motion

    motion = read_ground_motion(path).corrected("linear")
    return motion.displacement()(motion.time), motion.arias_intensity, motion.significant_duration()


def _motion_mat(path: Path) -> None:
    from scipy.io import savemat

    savemat(
        path, {"eq": {"t": np.arange(50) / 100, "acc": np.sin(np.arange(50)), "unit": "g"}, "name": "Kobe"}
    )


def _read_motion(path: Path) -> Any:
    from bondloop.results.motions.accelerograms import read_matlab_motion

    return read_matlab_motion(path)


def _toml(path: Path) -> None:
    from bondloop import files, papers

    files.to_toml(papers.find("gawthrop-three-mass").load().test(), path)


def _read_toml(path: Path) -> Any:
    from bondloop.files import load

    return load(path).tick


KINDS: dict[str, Kind] = {
    "matrices npz": Kind(".npz", _write_matrices, _read_all),
    "matrices mat": Kind(".mat", _write_matrices, _read_all),
    "matrices mat 7.3": Kind(".mat", _mat73, _read_all),
    "csr npz": Kind(".npz", _scipy_npz("csr"), _read_stiffness),
    "csc npz": Kind(".npz", _scipy_npz("csc"), _read_stiffness),
    "npy": Kind(".npy", _npy, _read_stiffness),
    "mtx": Kind(".mtx", _mtx, _read_stiffness),
    "dense mtx": Kind(".mtx", _dense_mtx, _read_stiffness),
    "table of a matrix": Kind(".csv", _table_matrix, _read_stiffness),
    "run": Kind(".h5", lambda path: _run().save(path), _read_run),
    "run again": Kind(".h5", lambda path: _run().save(path), _repeat),
    "table": Kind(".csv", _write_table, _read_table),
    "data npz": Kind(".npz", _data_npz, _read_data),
    "data mat": Kind(".mat", _data_mat, _read_data),
    "data h5": Kind(".h5", lambda path: _run().save(path), _read_data),
    "DAQ text": Kind(".txt", _layout("daq"), _read_data),
    "MTS text": Kind(".dat", _layout("mts"), _read_contents),
    "text with decimal commas": Kind(".csv", _layout("commas"), _read_excitation),
    "text in UTF-16": Kind(".txt", _layout("utf16"), _read_contents),
    "LVM": Kind(".lvm", _layout("lvm"), _read_data),
    "TDMS": Kind(".tdms", _save_record, _read_contents),
    "MDF": Kind(".mf4", _mdf, _read_contents),
    "Parquet": Kind(".parquet", _save_record, _read_contents),
    "ground motion": Kind(".at2", _at2, _read_at2),
    "ground motion ESM": Kind(".asc", _esm, _read_any_motion),
    "ground motion COSMOS": Kind(".v2", _cosmos, _read_any_motion),
    "ground motion csv": Kind(".csv", _motion_csv, _read_motion_csv),
    "ground motion mat": Kind(".mat", _motion_mat, _read_motion),
    "test": Kind(".toml", _toml, _read_toml),
}

NUMBERS = [
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**62,
    2**63 - 1,
    2**64 - 1,
]
WORDS = [
    b"nan",
    b"inf",
    b"1e999",
    b"-1",
    b"0",
    b"99999999999",
    b"1 g^-200",
    b"{",
    b"[[",
    b'"',
    b"\n",
    b"\x00",
]


@cache
def original(kind: str) -> bytes:
    """Return a good file of a kind."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"good{KINDS[kind].ending}"
        KINDS[kind].make(path)
        return path.read_bytes()


def mutated(seed: int, only: str | None = None) -> tuple[str, bytes, int]:
    """Return the kind of a file, its content, and how many bytes of it were changed."""
    rng = random.Random(seed)
    kind = only or rng.choice(list(KINDS))
    content = bytearray(original(kind))
    changed = 0
    for _ in range(rng.choice((1, 1, 1, 2, 3, rng.randint(1, CHANGES)))):
        at = rng.randrange(len(content)) if content else 0
        how = rng.random()
        if how < 0.45 and content:
            content[at] = rng.randrange(256)
            changed += 1
        elif how < 0.65:
            size = rng.choice((1, 2, 4, 8))
            number = struct.pack("<Q", rng.choice(NUMBERS))[:size]
            content[at : at + size] = number
            changed += size
        elif how < 0.75:
            word = rng.choice(WORDS)
            content[at : at + rng.choice((0, len(word)))] = word
            changed += len(word)
        elif how < 0.85:
            length = rng.randint(1, min(64, len(content) or 1))
            del content[at : at + length]
            changed += length
        elif how < 0.95:
            length, to = rng.randint(1, 64), rng.randrange(len(content) + 1)
            content[to:to] = content[at : at + length]
            changed += length
        else:
            changed += min(len(content) - at, 64)
            del content[at:]
    return kind, bytes(content), changed


def read(kind: str, content: bytes, folder: Path) -> str:
    """Read a file; return nothing if it was read or refused, otherwise what went wrong."""
    path = folder / f"file{KINDS[kind].ending}"
    path.write_bytes(content)
    return read_by(KINDS[kind].read, path)


def read_by(reader: Callable[[Path], Any], path: Path) -> str:
    """Return nothing if a file was read or refused, otherwise what went wrong."""
    from bondloop.errors import BondloopError

    try:
        reader(path)
    except BondloopError as error:
        lines = str(error).splitlines()
        return "" if lines and lines[0].strip() else "an error without words"
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return f"{type(error).__name__}: {error}"
    return ""


def child(first: int, count: int, only: str | None) -> None:
    """Read files one after the other; print the seed before each, and what went wrong after it."""
    import resource
    import warnings

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            kind, content, changed = mutated(seed, only)
            print("file", seed, changed, kind, flush=True)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.alarm(PATIENCE)
            wrong = read(kind, content, Path(folder))
            signal.alarm(0)
            signal.setitimer(signal.ITIMER_PROF, 0)
            if wrong:
                print("wrong", seed, kind, "|", " ".join(wrong.split())[:300], flush=True)


def library(seed: int, only: str | None) -> str:
    """Whether it was the HDF5 library that crashed or hung: then a process of its own refuses the file."""
    from bondloop.results import Record

    kind, content, _ = mutated(seed, only)
    if KINDS[kind].ending != ".h5":
        return ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.h5"
        path.write_bytes(content)
        wrong = read_by(lambda path: Record.load(path, isolated=True), path)
    return wrong or "refused where it is read by a process of its own"


def fuzz(first: int, bytes_changed: int, seconds: float = 1e9, only: str | None = None) -> dict[str, Any]:
    """Change that many bytes, or as many as the time allows; return counts and what went wrong."""
    done, files, seed = 0, 0, first
    wrong: list[str] = []
    outside: list[str] = []
    ends = time.monotonic() + seconds
    kind = ["--kind", only] if only else []
    while done < bytes_changed and time.monotonic() < ends:
        command = [sys.executable, str(Path(__file__)), "--child", str(seed), "400", *kind]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            last, enough = "", False
            for line in process.stdout or ():
                word, number, *rest = line.split()
                if word == "file":
                    seed, last = int(number) + 1, line
                    done, files = done + int(rest[0]), files + 1
                else:
                    wrong.append(line.strip())
                enough = done >= bytes_changed or time.monotonic() > ends
                if enough:
                    process.kill()
                    break
            code = process.wait()
        if code and not enough:
            what = "took too long" if code in (-signal.SIGALRM, -signal.SIGPROF) else f"ended with {code}"
            alone = library(seed - 1, only)
            told = f"{what}: {last.strip()} {alone}"
            (outside if alone.startswith("refused") else wrong).append(told)
    return {"bytes": done, "files": files, "next": seed, "wrong": wrong, "library": outside}


def main() -> None:
    """Read mutated files, and print what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bytes", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--kind", choices=sorted(KINDS))
    parser.add_argument("--child", type=int, nargs=2)
    given = parser.parse_args()
    if given.child:
        child(*given.child, given.kind)
        return
    answer = fuzz(given.first, given.bytes, given.seconds, given.kind)
    print(f"{answer['bytes']:,} bytes in {answer['files']:,} files, up to seed {answer['next'] - 1}")
    print("\n".join(["in the HDF5 library:", *answer["library"]]) if answer["library"] else "")
    print("\n".join(answer["wrong"]) or "every file was read, or refused in a sentence")
    sys.exit(bool(answer["wrong"]))


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    main()
