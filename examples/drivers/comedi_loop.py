"""Run a test on a board: link_comedi.c with comedilib, or with the stub of it.

Run: python examples/drivers/comedi_loop.py examples/first_hybrid_test.py 10 \
         'comedi:///dev/comedi0?out=0,0.005&in=0,200&in=1,0.005&in=2,0.25'
With --inactive it starts nothing and prints what is measured, until Ctrl-C; with --stub, and the name of an
empty file instead of /dev/comedi0, it needs no board.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bondloop.engine.codegen import compiler
from bondloop.engine.codegen.toolchain import build_program
from bondloop.errors import CompileError
from bondloop.realtime import LoopProcess
from bondloop.realtime.machine_limits import safe_position
from bondloop.realtime.programs.build import driver_file, loop_sources
from bondloop.realtime.programs.interface import command_names
from bondloop.realtime.session import prepare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bondloop.engine.ir.tick import Tick
    from bondloop.hybrid import HybridTest
    from bondloop.realtime.session import Prepared
    from bondloop.rehearsal import Run

HERE = Path(__file__).parent


def build(tick: Tick, safe: Mapping[str, float] | None = None, options: Sequence[str] = ()) -> Path:
    """Build the loop with the driver and the stub, a board that does not exist; return the executable.

    Parameters
    ----------
    tick
        The computer's tick, `HybridTest.computer_tick`.
    safe
        Commands in the safe state, by name.
    options
        Further options of the compiler.
    """
    files = loop_sources(tick, safe=safe, drivers=[driver_file("comedi")])
    for path in sorted((HERE / "stub").glob("comedi*.[ch]")):
        files[path.name] = path.read_text(encoding="utf-8")
    using = compiler()
    if using is None:
        raise CompileError("no C compiler found; 'pip install ziglang' brings one")
    return build_program(files, f"{tick.name}-loop", using, extra=options)


def run(
    test: HybridTest,
    seconds: float,
    link: str,
    record: Path | None = None,
    *,
    stub: bool = False,
    **options: Any,
) -> Run:
    """Check the test, build it with the driver, run it; options as in `bondloop.realtime.LoopOptions`."""
    made = with_driver(test, seconds, link, stub=stub, **options)
    return made.run(record=record)


def with_driver(
    test: HybridTest, seconds: float, link: str, *, stub: bool = False, inactive: bool = False, **options: Any
) -> Prepared:
    """Check the test and build it with the driver; start nothing."""
    if not stub:
        return prepare(test, seconds, link=link, inactive=inactive, options=options)
    made = prepare(test, seconds, link="none://", emulated=True, inactive=inactive, options=options)
    safe = dict.fromkeys(command_names(made.test.computer_tick), safe_position(made.test))
    # The driver does not know that nothing hangs on its board, so it does not say so.
    return replace(
        made,
        loop=build(made.test.computer_tick, safe),
        options=replace(made.options, link=link, machine=True),
    )


def watch(test: HybridTest, link: str, *, stub: bool = False) -> Iterator[dict[str, float]]:
    """Open the link and stay inactive; yield what is measured and recorded under that name.

    The outputs are left alone.
    """
    made = with_driver(test, 1.0, link, stub=stub, inactive=True)
    with LoopProcess(made.loop, replace(made.options, start=False), made.table) as loop:
        names = loop.ring.metadata["measured"]
        while loop.running:
            values = loop.ring.read()["channels"]
            if len(values):
                shown = dict(zip(loop.ring.names, values[-1], strict=True))
                yield {name: float(shown[name]) for name in names if name in shown}


if __name__ == "__main__":
    from bondloop.cli.settings import find_test

    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    found, is_stub = find_test(words[0], [])[0], "--stub" in sys.argv
    if "--inactive" in sys.argv:
        for measured in watch(found, words[2], stub=is_stub):
            print(*(f"{name} {value:.6g}" for name, value in measured.items()), sep="   ", flush=True)
            time.sleep(0.5)
    else:
        done = run(found, float(words[1]), words[2], Path("run.h5"), stub=is_stub)
        print(*done.record.attributes["notes"], done.verdict, sep="\n")
