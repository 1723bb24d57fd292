"""The loop proves its safety layer at each start: a program from which any single condition was removed is refused.

Programs are built here from the sources with one text replaced, which must stand there exactly once.
"""

import os
import re
import subprocess

import pytest

from bondloop.records.hdf5 import read_run
from bondloop.compile import compiler
from bondloop.errors import InputError
from bondloop.program.tunable import Tunable
from bondloop.papers import gawthrop_two_actuators, mr_damper_building
from bondloop.realtime import LoopOptions, LoopProcess, run_realtime
from bondloop.realtime.build import loop_sources
from bondloop.realtime.programs import loop_program, signal_table
from bondloop.safety import Interlock, Limits, PowerTrip

INTERLOCK = Interlock(
    Limits(
        force=353.75,
        displacement=0.0215,
        velocity=0.8325,
        command=0.01925,
        command_rate=2.515625,
        tracking_error=0.00425,
    ),
    power=PowerTrip(7.25, cutoff=2.0),
    stale=31,
    retreat=0.02,
    release=0.01,
)
"""No limit is one, and no two are the same; two interfaces."""
REFUSED = 4
"""Exit code."""


def watched(interlock=INTERLOCK, **more):
    return gawthrop_two_actuators.test().replaced(interlock=interlock, limits=None, **more)


class Works:
    """Objects of a loop, built once; programs with one file replaced."""

    def __init__(self, folder):
        test = watched()
        safe = {"command[0]": 0.0, "command[1]": 0.0}
        self.files = loop_sources(test.computer_tick, rig=test.rig_tick(), safe=safe, interlock=INTERLOCK)
        self.folder = folder
        for name, text in self.files.items():
            (folder / name).write_text(text)
        self._cc("-c", *(n for n in self.files if n.endswith(".c")))
        self.tick = next(n for n in self.files if n.startswith("tick_") and "computer" in n)

    def _cc(self, *words):
        command = [*compiler().command, "-std=c99", "-O0", "-ffp-contract=off", *words]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True, timeout=120)

    def start(self, name, old, new):
        """Return what a program with other text says, and how it ends."""
        text = self.files[name]
        assert text.count(old) == 1, f"{name}: {text.count(old)} times: {old}"
        (self.folder / f"mutant_{name}").write_text(text.replace(old, new))
        self._cc("-c", f"mutant_{name}")
        own = [f"{n[:-2]}.o" for n in self.files if n.endswith(".c") and n != name]
        self._cc("-o", "loop", f"mutant_{name[:-2]}.o", *own, "-lm")
        words = ["./loop", "--link", "loopback://", "--steps", "2", "--retreat", "0.01", "--start", "--alone"]
        done = subprocess.run(
            [*words, "--lock-step"], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def works(tmp_path_factory):
    return Works(tmp_path_factory.mktemp("works"))


GUARD = [
    ("ceil(PI/2*fabs(run->commands[i] - tick->safe[i])/(tick->command_rate[i]*tick->period) - 1e-9)", "0.0"),
    ("PI/2*fabs(run->commands[i] - tick->safe[i])", "PI/2*(run->commands[i] - tick->safe[i])"),
    ("return run->step > 0 || run->options->approach_cycles == 0;", "return 1;"),
    ("return run->step > 0 || run->options", "return run->options"),
    ("return run->step > 0 || run->options->approach_cycles == 0;", "return run->step > 0;"),
    ("    if (s->cause != BL_CAUSE_NONE)\n        return;", ""),
    ("if (run->stage == BL_INACTIVE || run->stage == BL_UNCONFIGURED)", "if (0)"),
    ("&& trusted && knows", "&& knows"),
    ("&& trusted && knows_the_last_command(run)", "&& trusted"),
    (" && run->tick->interlock_trip >= 0", ""),
    ("} else if (run->stage == BL_ACTIVE || (run->stage", "} else if ((run->stage"),
    (" || (run->stage == BL_RETREAT && run->by_tick && !trusted)", ""),
    ("run->by_tick && !trusted", "!trusted"),
    ("run->by_tick && !trusted", "run->by_tick"),
    ("if (run->halted || run->stage", "if (run->stage"),
    ("if (run->halted || run->stage == BL_INACTIVE || (", "if (run->halted || ("),
    ("== BL_INACTIVE || (run->stage == BL_RETREAT && !run->commanded))", "== BL_INACTIVE)"),
    ("    run->halted = 1;", ""),
    ("    if (run->stage == BL_SAFE)\n        return;\n    note_cause", "    note_cause"),
    ("    note_cause(run, BL_CAUSE_EMERGENCY_STOP, 0, 0);", ""),
    ("if (run->wire->fault == 0)", "if (1)"),
    ("if (run->stage == BL_INACTIVE || run->stage == BL_SAFE", "if (run->stage == BL_SAFE"),
    ("BL_INACTIVE || run->stage == BL_SAFE ||", "BL_INACTIVE ||"),
    ("BL_SAFE || (run->stage == BL_RETREAT && !run->commanded))", "BL_SAFE)"),
    ("    if (s->cause == BL_CAUSE_NONE)\n        memcpy(s->fault", "        memcpy(s->fault"),
    ("if (!tick->is_place[i])", "if (0)"),
    ("else if (have >= 0 && bl", "else if (bl"),
    ("have >= 0 && bl_is_finite(run->measured[have])", "have >= 0"),
    ("return run->retreated >= run->options->retreat_cycles;", "return 1;"),
    ("return run->retreated >= run->options->retreat_cycles;", "return 0;"),
    ("if (run->stage != BL_ACTIVE && run->stage != BL_RETREAT)", "if (run->stage != BL_ACTIVE)"),
    ("if (run->stage != BL_ACTIVE && run->stage != BL_RETREAT)", "if (run->stage != BL_RETREAT)"),
    ("if (run->stage != BL_ACTIVE && run->stage != BL_RETREAT)", "if (0)"),
    ("    run->silenced = 1;", ""),
    ("    bl_guard_trip(run, BL_CAUSE_STOOD_STILL, 0, (double)pause_ns*1e-9, trusted);", ""),
    ("if (bl_is_finite(x))", "if (1)"),
    ("if (bl_is_finite(x))", "if (!bl_is_nan(x))"),
    ("if (bl_is_finite(x))", "if (x > 0 || bl_is_finite(x))"),
    ("if (bl_is_finite(x))", "if (bl_is_finite(x) && fabs(x) < 1e18)"),
    ("for (long i = 0; i < tick->judged; ++i)", "for (long i = 0; i < tick->measured; ++i)"),
    ("for (long i = 0; i < tick->judged; ++i)", "for (long i = 1; i < tick->judged; ++i)"),
    ("if (run->options->frozen > 0 && ", "if ("),
    (" && run->stage == BL_ACTIVE) {\n        run->same", ") {\n        run->same"),
    ("? run->same + 1 : 0;", "? run->same + 1 : run->same;"),
    ("run->same >= run->options->frozen", "run->same > run->options->frozen"),
    ("run->same >= run->options->frozen", "run->same + 1 >= run->options->frozen"),
    ("if (!bl_is_finite(run->channels[tick->command_at[i]]))", "if (0)"),
    (
        "if (!bl_is_finite(run->channels[tick->command_at[i]]))",
        "if (bl_is_nan(run->channels[tick->command_at[i]]))",
    ),
    ("if (run->status == 0)", "if (1)"),
    ("if (cause != 0) {", "if (0) {"),
    ("return run->by_tick;", "return 1;"),
    ("return run->by_tick;", "return 0;"),
    ("if (!(fabs(run->channels[i]) <= tick", "if (!(run->channels[i] <= tick"),
    ("if (!(fabs(run->channels[i]) <= tick", "if (!(-run->channels[i] <= tick"),
    ("<= tick->channel_bound[i] && bl_is_finite(run->channels[i]))", "<= tick->channel_bound[i])"),
    ("bl_is_finite(run->channels[i]) ? tick->channel_cause[i] : BL", "0 ? tick->channel_cause[i] : BL"),
    ("bl_is_finite(run->channels[i]) ? tick->channel_cause[i] : BL", "1 ? tick->channel_cause[i] : BL"),
    ("run->from[i] = have >= 0 && tick->is_place[i] ?", "run->from[i] = tick->is_place[i] ?"),
    ("run->from[i] = have >= 0 && tick->is_place[i] ?", "run->from[i] = 0 ?"),
    ("apart = have >= 0 && want", "apart = want"),
    ("!(fabs(apart) <= tick", "!(apart <= tick"),
    ("!(fabs(apart) <= tick", "!(-apart <= tick"),
    ("!(fabs(apart) <= tick->place_within[i])", "(fabs(apart) > tick->place_within[i])"),
    ("!(fabs(apart) <= tick->place_within[i])", "0"),
    ("rate = fabs(next - before[i])", "rate = (next - before[i])"),
    ("rate = fabs(next - before[i])", "rate = (before[i] - next)"),
    ("if (rate > tick->command_rate[i]*(1.0 + 1e-9))", "if (0)"),
    ("run->approach == cycles ? run->from : run->commands", "run->commands"),
    ("run->approach == cycles ? run->from : run->commands", "run->from"),
    ("return run->options->approach_cycles == 0 || is_gentle(run, run->commands, 1.0);", "return 1;"),
    ("return run->options->approach_cycles == 0 || is_gentle", "return is_gentle"),
    ("if (run->commands[i] != run->tick->safe[i])", "if (0)"),
    ("if (run->commands[i] != run->tick->safe[i])", "if (1)"),
    ("if (run->retreated >= cycles || bl", "if (bl"),
    ("if (run->retreated >= cycles || bl_guard_is_safe(run))", "if (run->retreated >= cycles)"),
    ("if (run->retreated >= cycles || bl_guard_is_safe(run))", "if (1)"),
]

EXECUTIVE = [
    ("    if (unanswered > run->given)\n        unanswered = run->given;", ""),
    ("    if (unanswered <= 0)\n        return silence;", ""),
    ("unanswered > BL_SENT ? unanswered", "0 ? unanswered"),
    ("return silence > wait ? silence : wait;", "return silence;"),
    ("return silence > wait ? silence : wait;", "return wait;"),
    ("    bl_guard_fault(run);\n    if (run->wire->stopped)", "    if (run->wire->stopped)"),
    ("if (run->wire->stopped)", "if (0)"),
    ("    if (came == BL_LINK_FRESH) {\n        run->flags", "    if (1) {\n        run->flags"),
    ("    if (came == BL_LINK_FRESH) {\n        run->flags", "    if (0) {\n        run->flags"),
    ("        bl_guard_measured(run);", ""),
    ("if (came == BL_LINK_LOST || age", "if (age"),
    ("|| age >= stale*period + period/2)", ")"),
    ("age >= stale*period + period/2)", "age > stale*period + period/2)"),
    ("age >= stale*period + period/2)", "age >= stale*period)"),
    ("return bl_guard_place(run);", "bl_guard_place(run); return 1;"),
    ("    try_first_tick(run);\n    if (bl_guard_tick(run))", "    try_first_tick(run);\n    if (1)"),
    ("if (bl_guard_tick(run) && (run", "bl_guard_tick(run); if ((run"),
    ("(run->step > 0 || bl_guard_first(run))", "1"),
    ("(run->step > 0 || bl_guard_first(run))", "bl_guard_first(run)"),
    ("o->steps > 0 && run->step >= o->steps", "run->step >= o->steps"),
    ("run->step >= o->steps", "run->step > o->steps"),
    ("run->by_tick && ++run->retreated > o->retreat_cycles + LEAD", "0"),
    ("++run->retreated > o->retreat_cycles + LEAD", "++run->retreated >= o->retreat_cycles + LEAD"),
    ("        if (bl_guard_is_safe(run))\n            run", "        if (1)\n            run"),
    ("if (run->stage == BL_ACTIVE && !run->met && !meet(run))", "if (0)"),
    ("if (run->stage == BL_ACTIVE && run->approach > 0)", "if (0)"),
    ("(run->halted && bl_guard_follow(run)) || (", "("),
    ("(!run->halted && leads && bl_guard_retreat(run))", "(leads && bl_guard_retreat(run))"),
    ("run->stage == BL_INACTIVE || !run->commanded;\n    const int enabled", "!run->commanded;\n    const int enabled"),
    ("== BL_INACTIVE || !run->commanded;\n    const int enabled", "== BL_INACTIVE;\n    const int enabled"),
    ("!silent && !run->halted && ", "!silent && "),
    ("!run->halted && !run->silenced && ", "!run->halted && "),
    (" && !(run->stage == BL_SAFE && was == BL_SAFE)", ""),
    ("!(run->stage == BL_SAFE && was == BL_SAFE)", "!(run->stage == BL_SAFE)"),
    ("run->cycle & 1 ? BL_BEAT : 0", "BL_BEAT"),
    ("return came == BL_LINK_LOST ? came : link", "return link"),
    ("    if (lost)\n", "    if (0)\n"),
    ("    bl_guard_fault(run); /* the", "    /* the"),
    ("    if (!moves(run))\n        return;", ""),
    ("run->options->overrun_limit > 0 && run->late", "run->late"),
    ("run->late >= run->options->overrun_limit", "run->late > run->options->overrun_limit"),
    ("    if (!is_late) {\n        run->late = 0;", "    if (!is_late) {"),
]

COMMANDS = [
    ("run->armed = !run->options->arm;", "run->armed = 1;"),
    ("    if (i >= (uint64_t)tick->parameters)\n        return BL_NO_PARAMETER;", ""),
    ("if (tick->parameter_least[i] > tick->parameter_most[i])", "if (0)"),
    ("if (!bl_is_finite(mail->value))", "if (0)"),
    ("mail->value < tick->parameter_least[i] || mail", "mail"),
    (" || mail->value > tick->parameter_most[i]", ""),
    ("mail->value == 0.0 && tick->parameter_nonzero[i]", "0"),
    ("mail->value == 0.0 && tick->parameter_nonzero[i]", "mail->value == 0.0"),
    ("        if (!bad) {\n            run->parameters", "        if (!own) {\n            run->parameters"),
    ("if (run->stage != BL_INACTIVE || run->options->inactive)\n        return BL_NOT_NOW;\n    if", "if"),
    ("    if (!run->armed)\n        return BL_NOT_ARMED;", ""),
    (
        "        if (run->stage != BL_INACTIVE || run->options->inactive)\n            return",
        "        if (run->options->inactive)\n            return",
    ),
    (
        "        if (run->stage != BL_INACTIVE || run->options->inactive)\n            return",
        "        if (run->stage != BL_INACTIVE)\n            return",
    ),
    ("if (run->stage != BL_SAFE || run->ending)", "if (run->ending)"),
    ("if (run->stage != BL_SAFE || run->ending)", "if (run->stage != BL_SAFE)"),
    ("    if (run->stage != BL_ACTIVE)\n        return BL_NOT_NOW;\n    run->parked", "    run->parked"),
    ("cause >= 1 && cause < 1000 ? (double)cause : BL_CAUSE_OPERATOR", "BL_CAUSE_OPERATOR"),
    ("cause >= 1 && cause < 1000", "cause < 1000"),
    ("cause >= 1 && cause < 1000", "cause >= 1"),
    ("            bl_guard_trip(run, (int)noted.value, 0, 0, 1);", ""),
    ("            stop(run);", ""),
    ("refused = retreat(run);", "refused = 0;"),
    ("        run->requests[i] = all;", ""),
    ("if (run->stage == BL_ACTIVE || run->stage == BL_INACTIVE)\n        bl_guard_ramp", "if (0)\n        bl_guard_ramp"),
    ("if (run->stage == BL_ACTIVE || run->stage == BL_INACTIVE)\n        bl_guard_ramp", "if (1)\n        bl_guard_ramp"),
    ("run->options->supervisor_ns > 0 && beat", "beat"),
    (" && beat > 0 && now", " && now"),
    ("now - beat > run->options->supervisor_ns", "0"),
    ("now - beat > run->options->supervisor_ns", "now - beat >= run->options->supervisor_ns"),
    ("run->options->operator_ns > 0 && run->stage", "run->stage"),
    ("operator_ns > 0 && run->stage == BL_ACTIVE", "operator_ns > 0"),
    ("seen > run->started ? seen : run->started", "seen"),
    ("seen > run->started ? seen : run->started", "run->started"),
    ("now - since > run->options->operator_ns", "0"),
    ("now - since > run->options->operator_ns", "now - since >= run->options->operator_ns"),
]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (name, *pair)
        for name, pairs in (("guard.c", GUARD), ("executive.c", EXECUTIVE), ("commands.c", COMMANDS))
        for pair in pairs
    ],
)
def test_a_layer_without_a_condition_is_refused(works, name, old, new):
    code, out, err = works.start(name, old, new)
    print("MUT", name, repr(old), "->", repr(new), ":", err.split(";")[0])
    assert code == REFUSED, (code, out, err)
