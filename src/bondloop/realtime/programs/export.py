"""A test as a folder of C that builds with one ``make`` and needs nothing but a C compiler on Linux."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from bondloop.engine.codegen import LARGE_FLAGS, PROGRAM_FLAGS, write_c_sized
from bondloop.engine.ir import calls
from bondloop.errors import InputError
from bondloop.fmu import described
from bondloop.realtime.machine_limits import safe_position, start_rate, start_within
from bondloop.realtime.programs.build import loop_sources, rig_sources, signal_table
from bondloop.realtime.programs.interface import command_names, measured_names
from bondloop.rehearsal import steps_of

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest


TARGET = "aarch64-linux-musl"
"""With musl the programs are static, and run on any Linux of that processor."""

_MAKEFILE = Template("""\
# Written by bondloop. `make` builds bin/loop and bin/rig; `make aarch64` the same for 64-bit ARM, with the
# compiler of the Python package ziglang; `make try` runs the loop against the rig inside it.
CC = cc
CFLAGS = $flags
PYTHON = python3
ZIG = $$(PYTHON) -m ziglang cc -target $target -static

COMMON = $common
LOOP = $$(COMMON) $loop
RIG = $$(COMMON) $rig
HEADERS = $headers

all: bin/loop bin/rig

rig: bin/rig

bin/loop: $$(LOOP) $$(HEADERS)
	mkdir -p bin
	$$(CC) $$(CFLAGS) -Icommon -o $$@ $$(LOOP) -lm

bin/rig: $$(RIG) $$(HEADERS)
	mkdir -p bin
	$$(CC) $$(CFLAGS) -Icommon -o $$@ $$(RIG) -lm

aarch64: bin/aarch64/loop bin/aarch64/rig

bin/aarch64/loop: $$(LOOP) $$(HEADERS)
	mkdir -p bin/aarch64
	$$(ZIG) $$(CFLAGS) -Icommon -o $$@ $$(LOOP) -lm

bin/aarch64/rig: $$(RIG) $$(HEADERS)
	mkdir -p bin/aarch64
	$$(ZIG) $$(CFLAGS) -Icommon -o $$@ $$(RIG) -lm

try: bin/loop
	bin/loop --link loopback:// --lock-step --steps $steps --start --alone$table
	@echo '$steps ticks against the rig inside the loop, none tripped'

clean:
	rm -rf bin

.PHONY: all rig aarch64 try clean
""")

_README = Template("""\
# $name, as C

Written by bondloop $version. `make` builds two programs, with nothing but a C compiler on Linux:

- `bin/loop`: the computer's half of the test, $rate samples a second, on the clock;
- `bin/rig`: the emulated rig, $rig_rate steps a second, for rehearsals.

With Python and the package `ziglang`, `make aarch64` builds the same for 64-bit ARM into `bin/aarch64`:
static programs that are copied to the target as they are. `make try` runs the loop against the rig that is
built into it.

    bin/rig --link udp://127.0.0.1:5005 &
    bin/loop --link udp://127.0.0.1:5005 --steps $steps --start --alone$table --gap $gap --priority 80 --cpu 1

The loop opens only links to rigs that say of themselves that they are models, as `bin/rig` does. `--machine`
says that the rig is a machine, and then it is for you to see that the test has limits and a way to safety
(the interlock of a test that `bondloop realtime` accepts for a machine), and that late ticks trip
(`--overrun trip`). It is led to the first command in as long as to the safe one (`--approach`, `--retreat`;
an hour at most), no faster than the limit of the command's rate. A key of the packets over UDP,
32 hexadecimal digits, is taken from the environment of both programs, `BONDLOOP_KEY`.

The loop ends by itself after its steps, on Ctrl-C or SIGTERM, when the rig is lost, and when it stood still
for longer than `--gap`, $gap s in this test; always through its safe state: the command goes to $safe along
a raised cosine. Exit code 0: all steps were taken; 2: the rig was not there; 3: the test was stopped, for the
cause that is printed; 4: the test of its own guard and interlock, with which it begins, failed. `bin/loop`
without arguments lists its options.

| signal | direction |
|---|---|
$signals

`common/packet.h` describes the packets, `common/segment.h` the telemetry: every channel of every tick, in
POSIX shared memory under the name given with `--telemetry`. Where bondloop is installed,
`python -m bondloop.realtime.recorder NAME FILE.h5` records it. `common/link.h` is the interface to hardware:
a driver of your own is one more C file in `loop/`, named in `Makefile` and in the list in `loop/drivers.c`.

`loop/description.json` and `rig/description.json` tell what the arrays of each tick hold
(`common/interface.h`): states, inputs, parameters and channels with names, units and values. What is both an
input and a channel has one `path` and two names.

Test signals that are no formulas are in `signals.f64`, rows of doubles, if the test has any.
""")


def export_c(test: HybridTest, folder: str | os.PathLike[str], *, seconds: float | str = 10.0) -> list[Path]:
    """Write executive, links, generated ticks, Makefile and README into a folder; return the files.

    Parameters
    ----------
    test
        The test; its coupling must be sampled.
    folder
        New, empty, or one that was exported before: files of the same names are replaced.
    seconds
        Length of tabulated signals, and of the commands that the README shows, or text, ``"2 min"``.
    """
    import bondloop

    if not hasattr(test, "computer_tick"):
        raise InputError(
            "a plain simulation has no rig, and nothing to run in real time; write_c writes its tick"
        )
    steps = steps_of(seconds, test.period)
    computer, safe = test.computer_tick, safe_position(test)
    commands, measured = command_names(computer), measured_names(computer)
    rig = test.rig_tick(test.period / test.rig.substeps)
    for function in (*calls(computer).values(), *calls(rig).values()):
        raise InputError(
            f"{function.__qualname__} is a program of its own on this machine (a Python function, an FMU), "
            "so the folder would not run on another"
        )
    parts = {
        "loop": loop_sources(
            computer,
            rig=test.rig_tick(),
            safe=dict.fromkeys(commands, safe),
            within=start_within(test),
            rate=start_rate(test),
            interlock=test.interlock,
        ),
        "rig": rig_sources(rig, commands=commands, measured=measured),
    }
    files = _sorted(parts)
    table = signal_table(test, steps)
    option = "" if table is None else " --table signals.f64"
    large = any(write_c_sized(tick)[1] for tick in (computer, rig))
    files["Makefile"] = _MAKEFILE.substitute(
        flags=" ".join((*PROGRAM_FLAGS, *(LARGE_FLAGS if large else ()))),
        target=TARGET,
        steps=steps,
        table=option,
        headers=_listed(files, "common", ".h"),
        **{part: _listed(files, part, ".c") for part in ("common", "loop", "rig")},
    )
    signals = [(n, "to the rig") for n in commands] + [(n, "from the rig") for n in measured]
    files["README.md"] = _README.substitute(
        name=test.name,
        version=bondloop.__version__,
        rate=f"{test.rate:,.12g}",
        rig_rate=f"{test.rate * test.rig.substeps:,.12g}",
        steps=steps,
        table=option,
        safe=f"{safe:g}",
        gap=f"{test.gap:g}",
        signals="\n".join(f"| `{name}` | {way} |" for name, way in signals),
    )
    tables = len(computer.inputs) - len(measured)
    for part, about in (("loop", described(computer, tables)), ("rig", described(rig))):
        files[f"{part}/description.json"] = f"{json.dumps(about, indent=1)}\n"
    written = _write(Path(folder), files)
    if table is not None:
        written.append(Path(folder) / "signals.f64")
        written[-1].write_bytes(table.astype("<f8").tobytes())
    return written


def _sorted(parts: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the files of all programs by path; those that two share, to the letter, are in ``common``."""
    loop, rig = parts["loop"], parts["rig"]
    shared = {name for name in loop if rig.get(name) == loop[name]}
    shared |= {name for name in (*loop, *rig) if name.endswith(".h")}
    files = {}
    for part, sources in parts.items():
        for name, text in sources.items():
            files[f"{'common' if name in shared else part}/{name}"] = text
    return files


def _listed(files: Mapping[str, str], part: str, ending: str) -> str:
    return " ".join(sorted(f for f in files if f.startswith(f"{part}/") and f.endswith(ending)))


def _write(folder: Path, files: Mapping[str, str]) -> list[Path]:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"cannot write {folder}: it is a file; give the name of a folder")
    strange = [p.name for p in folder.iterdir()] if folder.is_dir() else []
    if strange and not (folder / "Makefile").exists():
        raise InputError(
            f"the folder {folder} is not empty and no earlier export ({_few(strange)}); give a new one"
        )
    written = []
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def _few(names: Sequence[str]) -> str:
    return ", ".join(sorted(names)[:3]) + (", ..." if len(names) > 3 else "")
