"""The loop proves its safety layer at each start: a program without any single condition is refused.

Programs are built here from the sources with one text replaced, which must stand there exactly once.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bondloop.engine.codegen import compiler
from bondloop.engine.ir.tick import Tunable
from bondloop.errors import InputError
from bondloop.papers import gawthrop_two_actuators, mr_damper_building
from bondloop.realtime import LoopOptions, LoopProcess, run_realtime
from bondloop.realtime.programs.build import loop_program, loop_sources, signal_table
from bondloop.results import read_run
from bondloop.safety import Interlock, Limits, PowerTrip

sys.path.insert(0, str(Path(__file__).parent.parent / "codegen"))
from compilers_here import COMPILERS

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

    def _cc(self, *words, command=None):
        command = [*(command or compiler().command), "-std=c99", "-O0", "-ffp-contract=off", *words]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True, timeout=120)

    def start(self, name, old, new):
        """Return what a program with other text says, and how it ends."""
        text = self.files[name]
        assert text.count(old) == 1, f"{name}: {text.count(old)} times: {old}"
        (self.folder / f"mutant_{name}").write_text(text.replace(old, new))
        self._cc("-c", f"mutant_{name}")
        own = [f"{n[:-2]}.o" for n in self.files if n.endswith(".c") and n != name]
        self._cc("-o", "loop", f"mutant_{name[:-2]}.o", *own, "-lm")
        return self.ended()

    def compiled(self, name, *flags):
        """Return the same of all sources, compiled by another compiler and with other options."""
        files = [n for n in self.files if n.endswith(".c")]
        self._cc(*flags, "-o", "loop", *files, "-lm", command=COMPILERS[name].command)
        return self.ended()

    def ended(self):
        """Run the loop, and return how it ends and what it says."""
        words = ["./loop", "--link", "loopback://", "--steps", "2", "--retreat", "0.01", "--start", "--alone"]
        done = subprocess.run(
            [*words, "--lock-step"], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def works(tmp_path_factory):
    return Works(tmp_path_factory.mktemp("works"))


GUARD = {
    "a step of the way to safety is faster than the limit of the rate, or the way is too short": [
        (
            "ceil(PI/2*fabs(run->commands[i] - tick->safe[i])/(tick->command_rate[i]*tick->period) - 1e-9)",
            "0.0",
        ),
        ("PI/2*fabs(run->commands[i] - tick->safe[i])", "PI/2*(run->commands[i] - tick->safe[i])"),
        ("if (run->commands[i] != run->tick->safe[i])", "if (0)"),
        ("if (run->retreated >= cycles || bl_guard_is_safe(run))", "if (1)"),
    ],
    "the tick leads to safety from a command that it does not know": [
        ("return run->step > 0 || run->options->approach_cycles == 0;", "return 1;"),
        ("&& trusted && knows_the_last_command(run)", "&& trusted"),
    ],
    "after an approach the tick's interlock never leads to safety": [
        ("return run->step > 0 || run->options", "return run->options"),
    ],
    "a trip in the first tick is not led by it": [
        ("return run->step > 0 || run->options->approach_cycles == 0;", "return run->step > 0;"),
    ],
    "the first cause did not stay": [
        ("    if (s->cause != BL_CAUSE_NONE)\n        return;", ""),
        ("    if (s->cause == BL_CAUSE_NONE)\n        memcpy(s->fault", "        memcpy(s->fault"),
    ],
    "a trip before the start is not noticed": [
        ("if (run->stage == BL_INACTIVE || run->stage == BL_UNCONFIGURED)", "if (0)"),
    ],
    "a trip of a tick that cannot be trusted is led by it": [
        ("&& trusted && knows", "&& knows"),
        ("} else if (run->stage == BL_ACTIVE || (run->stage", "} else if ((run->stage"),
    ],
    "a tick without an interlock leads to safety": [
        (" && run->tick->interlock_trip >= 0", ""),
    ],
    "the tick leads to safety though it cannot be trusted": [
        (" || (run->stage == BL_RETREAT && run->by_tick && !trusted)", ""),
    ],
    "a second trip began the executive's way to safety again": [
        ("run->by_tick && !trusted", "!trusted"),
    ],
    "a second trip began the way to safety again, or changed the cause": [
        ("run->by_tick && !trusted", "run->by_tick"),
    ],
    "an emergency stop that stays pressed begins again and again": [
        ("if (run->halted || run->stage", "if (run->stage"),
    ],
    "an emergency stop before the start tripped": [
        ("if (run->halted || run->stage == BL_INACTIVE || (", "if (run->halted || ("),
    ],
    "an emergency stop tripped what was commanded nothing": [
        ("== BL_INACTIVE || (run->stage == BL_RETREAT && !run->commanded))", "== BL_INACTIVE)"),
    ],
    "a pressed emergency stop did not trip": [
        ("    run->halted = 1;", ""),
        ("    note_cause(run, BL_CAUSE_EMERGENCY_STOP, 0, 0);", ""),
    ],
    "an emergency stop in the safe state led out of it, or was not noticed": [
        ("    if (run->stage == BL_SAFE)\n        return;\n    note_cause", "    note_cause"),
    ],
    "a fault of the rig's controller did not trip": [
        ("if (run->wire->fault == 0)", "if (1)"),
    ],
    "a fault before the start tripped": [
        ("if (run->stage == BL_INACTIVE || run->stage == BL_SAFE", "if (run->stage == BL_SAFE"),
    ],
    "a fault in the safe state tripped": [
        ("BL_INACTIVE || run->stage == BL_SAFE ||", "BL_INACTIVE ||"),
    ],
    "a fault tripped what was commanded nothing": [
        ("BL_SAFE || (run->stage == BL_RETREAT && !run->commanded))", "BL_SAFE)"),
    ],
    "after an emergency stop the commands do not follow the rig": [
        ("if (!tick->is_place[i])", "if (0)"),
    ],
    "after an emergency stop the command leaves its place though nothing tells where to": [
        ("else if (have >= 0 && bl", "else if (bl"),
    ],
    "after an emergency stop the command follows what is no number": [
        ("have >= 0 && bl_is_finite(run->measured[have])", "have >= 0"),
    ],
    "after an emergency stop the safe state came too early": [
        ("return run->retreated >= run->options->retreat_cycles;", "return 1;"),
    ],
    "after an emergency stop the safe state is never reached": [
        ("return run->retreated >= run->options->retreat_cycles;", "return 0;"),
    ],
    "a loop that stood still did not trip, or enabled the rig again": [
        ("if (run->stage != BL_ACTIVE && run->stage != BL_RETREAT)", "if (run->stage != BL_ACTIVE)"),
        ("if (run->stage != BL_ACTIVE && run->stage != BL_RETREAT)", "if (run->stage != BL_RETREAT)"),
        ("    run->silenced = 1;", ""),
        ("    bl_guard_trip(run, BL_CAUSE_STOOD_STILL, 0, (double)pause_ns*1e-9, trusted);", ""),
    ],
    "a loop that stood still tripped though nothing moved": [
        ("if (run->stage != BL_ACTIVE && run->stage != BL_RETREAT)", "if (0)"),
    ],
    "NaN in a measured value did not trip": [
        ("if (bl_is_finite(x))", "if (1)"),
        ("for (long i = 0; i < tick->judged; ++i)", "for (long i = 1; i < tick->judged; ++i)"),
    ],
    "+infinity in a measured value did not trip": [
        ("if (bl_is_finite(x))", "if (!bl_is_nan(x))"),
        ("if (bl_is_finite(x))", "if (x > 0 || bl_is_finite(x))"),
    ],
    "a measured value was refused that the tick is to judge, or that is only recorded": [
        ("if (bl_is_finite(x))", "if (bl_is_finite(x) && fabs(x) < 1e18)"),
        ("for (long i = 0; i < tick->judged; ++i)", "for (long i = 0; i < tick->measured; ++i)"),
    ],
    "commands without an answer tripped a tick too early": [
        ("if (run->options->frozen > 0 && ", "if ("),
    ],
    "a frozen measurement tripped before the start": [
        (" && run->stage == BL_ACTIVE) {\n        run->same", ") {\n        run->same"),
    ],
    "a measurement that repeats less often than the limit tripped": [
        ("? run->same + 1 : 0;", "? run->same + 1 : run->same;"),
        ("run->same >= run->options->frozen", "run->same + 1 >= run->options->frozen"),
    ],
    "a frozen measurement did not trip": [
        ("run->same >= run->options->frozen", "run->same > run->options->frozen"),
    ],
    "a command that is no number did not trip, or was given out": [
        ("if (!bl_is_finite(run->channels[tick->command_at[i]]))", "if (0)"),
        (
            "if (!bl_is_finite(run->channels[tick->command_at[i]]))",
            "if (bl_is_nan(run->channels[tick->command_at[i]]))",
        ),
        ("if (run->status == 0)", "if (1)"),
        ("bl_is_finite(run->channels[i]) ? tick->channel_cause[i] : BL", "1 ? tick->channel_cause[i] : BL"),
    ],
    "a trip of the tick's own interlock is not taken over, or its command was held back": [
        ("if (cause != 0) {", "if (0) {"),
        ("return run->by_tick;", "return 0;"),
    ],
    "a first tick that trips was given out though it does not know the last command": [
        ("return run->by_tick;", "return 1;"),
    ],
    "a channel beyond its bound is taken for another cause, or its tick was given out": [
        ("if (!(fabs(run->channels[i]) <= tick", "if (!(run->channels[i] <= tick"),
        ("if (!(fabs(run->channels[i]) <= tick", "if (!(-run->channels[i] <= tick"),
        ("bl_is_finite(run->channels[i]) ? tick->channel_cause[i] : BL", "0 ? tick->channel_cause[i] : BL"),
    ],
    "an infinite channel did not trip": [
        ("<= tick->channel_bound[i] && bl_is_finite(run->channels[i]))", "<= tick->channel_bound[i])"),
    ],
    "a place was judged that is not measured": [
        ("run->from[i] = have >= 0 && tick->is_place[i] ?", "run->from[i] = tick->is_place[i] ?"),
        ("apart = have >= 0 && want", "apart = want"),
    ],
    "the way to the first command does not begin where the rig stands": [
        ("run->from[i] = have >= 0 && tick->is_place[i] ?", "run->from[i] = 0 ?"),
    ],
    "a rig that stands elsewhere than where the test begins did not trip": [
        ("!(fabs(apart) <= tick", "!(apart <= tick"),
        ("!(fabs(apart) <= tick", "!(-apart <= tick"),
        ("!(fabs(apart) <= tick->place_within[i])", "0"),
    ],
    "a rig of which nobody knows where it stands did not trip": [
        ("!(fabs(apart) <= tick->place_within[i])", "(fabs(apart) > tick->place_within[i])"),
    ],
    "a step of the approach that is faster than the limit of the rate did not trip": [
        ("rate = fabs(next - before[i])", "rate = (next - before[i])"),
        ("rate = fabs(next - before[i])", "rate = (before[i] - next)"),
        ("if (rate > tick->command_rate[i]*(1.0 + 1e-9))", "if (0)"),
    ],
    "a step of the approach within the limit of the rate tripped": [
        ("run->approach == cycles ? run->from : run->commands", "run->commands"),
        ("run->approach == cycles ? run->from : run->commands", "run->from"),
    ],
    "the first command that is faster than the limit of the rate did not trip": [
        ("return run->options->approach_cycles == 0 || is_gentle(run, run->commands, 1.0);", "return 1;"),
    ],
    "a rig that stands where the test begins tripped": [
        ("return run->options->approach_cycles == 0 || is_gentle", "return is_gentle"),
    ],
    "a trip before the start moved the rig": [
        ("if (run->commands[i] != run->tick->safe[i])", "if (1)"),
        ("if (run->retreated >= cycles || bl_guard_is_safe(run))", "if (run->retreated >= cycles)"),
    ],
    "the way to safety does not end at the safe command in its time": [
        ("if (run->retreated >= cycles || bl", "if (bl"),
    ],
}

EXECUTIVE = {
    "commands of another run tripped this one": [
        ("    if (unanswered > run->given)\n        unanswered = run->given;", ""),
    ],
    "a measurement that came did not count as news": [
        ("    if (unanswered <= 0)\n        return silence;", ""),
        ("    if (came == BL_LINK_FRESH) {\n        run->flags", "    if (0) {\n        run->flags"),
    ],
    "commands that nothing has answered for very long did not trip": [
        ("unanswered > BL_SENT ? unanswered", "0 ? unanswered"),
    ],
    "commands that nothing answers did not trip": [
        ("return silence > wait ? silence : wait;", "return silence;"),
    ],
    "a link without news did not trip while its answers were fresh": [
        ("return silence > wait ? silence : wait;", "return wait;"),
    ],
    "a fault of the rig's controller did not trip": [
        ("    bl_guard_fault(run);\n    if (run->wire->stopped)", "    if (run->wire->stopped)"),
    ],
    "a pressed emergency stop did not trip": [
        ("if (run->wire->stopped)", "if (0)"),
    ],
    "a link without news did not trip": [
        ("    if (came == BL_LINK_FRESH) {\n        run->flags", "    if (1) {\n        run->flags"),
        ("|| age >= stale*period + period/2)", ")"),
        ("age >= stale*period + period/2)", "age > stale*period + period/2)"),
    ],
    "a frozen measurement did not trip": [
        ("        bl_guard_measured(run);", ""),
    ],
    "a lost link did not trip": [
        ("if (came == BL_LINK_LOST || age", "if (age"),
    ],
    "a link without news tripped a tick too early": [
        ("age >= stale*period + period/2)", "age >= stale*period)"),
    ],
    "a rig that stands elsewhere than where the test begins did not trip": [
        ("return bl_guard_place(run);", "bl_guard_place(run); return 1;"),
        ("if (run->stage == BL_ACTIVE && !run->met && !meet(run))", "if (0)"),
    ],
    "the approach leads to what cannot be trusted": [
        ("    try_first_tick(run);\n    if (bl_guard_tick(run))", "    try_first_tick(run);\n    if (1)"),
    ],
    "a command that is no number did not trip, or was given out": [
        ("if (bl_guard_tick(run) && (run", "bl_guard_tick(run); if ((run"),
    ],
    "the first command that is faster than the limit of the rate did not trip": [
        ("(run->step > 0 || bl_guard_first(run))", "1"),
    ],
    "a later command was judged as if it were the first": [
        ("(run->step > 0 || bl_guard_first(run))", "bl_guard_first(run)"),
    ],
    "a tick without fault was not given out": [
        ("o->steps > 0 && run->step >= o->steps", "run->step >= o->steps"),
    ],
    "the test does not end with its last tick, on the way to safety": [
        ("run->step >= o->steps", "run->step > o->steps"),
    ],
    "a tick that does not reach safety in its time leads on": [
        ("run->by_tick && ++run->retreated > o->retreat_cycles + LEAD", "0"),
        ("        if (bl_guard_is_safe(run))\n            run", "        if (1)\n            run"),
    ],
    "the tick's way to safety was cut short": [
        ("++run->retreated > o->retreat_cycles + LEAD", "++run->retreated >= o->retreat_cycles + LEAD"),
    ],
    "a step of the approach within the limit of the rate tripped": [
        ("if (run->stage == BL_ACTIVE && run->approach > 0)", "if (0)"),
    ],
    "after an emergency stop the commands do not follow the rig": [
        ("(run->halted && bl_guard_follow(run)) || (", "("),
        ("(!run->halted && leads && bl_guard_retreat(run))", "(leads && bl_guard_retreat(run))"),
    ],
    "the rig is enabled or commanded before the start": [
        (
            "run->stage == BL_INACTIVE || !run->commanded;\n    const int enabled",
            "!run->commanded;\n    const int enabled",
        ),
    ],
    "the rig is enabled or commanded before its first command": [
        (
            "== BL_INACTIVE || !run->commanded;\n    const int enabled",
            "== BL_INACTIVE;\n    const int enabled",
        ),
    ],
    "the rig is enabled though its emergency stop is pressed": [
        ("!silent && !run->halted && ", "!silent && "),
    ],
    "a loop that stood still did not trip, or enabled the rig again": [
        ("!run->halted && !run->silenced && ", "!run->halted && "),
    ],
    "the rig is still enabled in the safe state": [
        (" && !(run->stage == BL_SAFE && was == BL_SAFE)", ""),
    ],
    "the rig is not enabled for its first safe command": [
        ("!(run->stage == BL_SAFE && was == BL_SAFE)", "!(run->stage == BL_SAFE)"),
    ],
    "the beat does not change from cycle to cycle": [
        ("run->cycle & 1 ? BL_BEAT : 0", "BL_BEAT"),
    ],
    "a lost link was waited for": [
        ("return came == BL_LINK_LOST ? came : link", "return link"),
    ],
    "a link that is lost while it sends did not trip": [
        ("    if (lost)\n", "    if (0)\n"),
    ],
    "a fault that the rig's controller reports on a command did not trip": [
        ("    bl_guard_fault(run); /* the", "    /* the"),
    ],
    "late ticks tripped though nothing moved": [
        ("    if (!moves(run))\n        return;", ""),
    ],
    "late ticks tripped where no limit is set": [
        ("run->options->overrun_limit > 0 && run->late", "run->late"),
    ],
    "late ticks in a row did not trip": [
        ("run->late >= run->options->overrun_limit", "run->late > run->options->overrun_limit"),
    ],
    "fewer late ticks in a row than the limit tripped": [
        ("    if (!is_late) {\n        run->late = 0;", "    if (!is_late) {"),
    ],
}

COMMANDS = {
    "a loop that is to be armed is so from the beginning": [
        ("run->armed = !run->options->arm;", "run->armed = 1;"),
    ],
    "a parameter was set beyond what it may be: above its most": [
        ("    if (i >= (uint64_t)tick->parameters)\n        return BL_NO_PARAMETER;", ""),
        (" || mail->value > tick->parameter_most[i]", ""),
    ],
    "a parameter was set beyond what it may be: it is not tunable": [
        ("if (tick->parameter_least[i] > tick->parameter_most[i])", "if (0)"),
    ],
    "a parameter was set beyond what it may be: no number": [
        ("if (!bl_is_finite(mail->value))", "if (0)"),
    ],
    "a parameter was set beyond what it may be: below its least": [
        ("mail->value < tick->parameter_least[i] || mail", "mail"),
    ],
    "a parameter was set beyond what it may be: zero": [
        ("mail->value == 0.0 && tick->parameter_nonzero[i]", "0"),
    ],
    "a value within its bounds was refused": [
        ("mail->value == 0.0 && tick->parameter_nonzero[i]", "mail->value == 0.0"),
    ],
    "one of two values was set though the other was refused": [
        (
            "        if (!bad) {\n            run->parameters",
            "        if (!own) {\n            run->parameters",
        ),
    ],
    "a START, an ARM or a RESET was obeyed while the test runs": [
        (
            "if (run->stage != BL_INACTIVE || run->options->inactive)\n        return BL_NOT_NOW;\n    if",
            "if",
        ),
        (
            "        if (run->stage != BL_INACTIVE || run->options->inactive)\n            return",
            "        if (run->options->inactive)\n            return",
        ),
        ("if (run->stage != BL_SAFE || run->ending)", "if (run->ending)"),
    ],
    "a START without ARM was obeyed": [
        ("    if (!run->armed)\n        return BL_NOT_ARMED;", ""),
    ],
    "a loop that only looks was started or armed": [
        (
            "        if (run->stage != BL_INACTIVE || run->options->inactive)\n            return",
            "        if (run->stage != BL_INACTIVE)\n            return",
        ),
    ],
    "a reset was obeyed though the test ends": [
        ("if (run->stage != BL_SAFE || run->ending)", "if (run->stage != BL_SAFE)"),
    ],
    "a retreat that the operator wants does not lead to the safe state, or was obeyed when nothing moved": [
        ("    if (run->stage != BL_ACTIVE)\n        return BL_NOT_NOW;\n    run->parked", "    run->parked"),
        ("refused = retreat(run);", "refused = 0;"),
    ],
    "the operator's trip did not trip": [
        ("cause >= 1 && cause < 1000 ? (double)cause : BL_CAUSE_OPERATOR", "BL_CAUSE_OPERATOR"),
        ("cause >= 1 && cause < 1000", "cause < 1000"),
        ("cause >= 1 && cause < 1000", "cause >= 1"),
        ("            bl_guard_trip(run, (int)noted.value, 0, 0, 1);", ""),
    ],
    "the operator's stop does not lead to the safe state, or trips": [
        ("            stop(run);", ""),
        (
            "if (run->stage == BL_ACTIVE || run->stage == BL_INACTIVE)\n        bl_guard_ramp",
            "if (0)\n        bl_guard_ramp",
        ),
        (
            "if (run->stage == BL_ACTIVE || run->stage == BL_INACTIVE)\n        bl_guard_ramp",
            "if (1)\n        bl_guard_ramp",
        ),
    ],
    "one request to retreat was obeyed twice": [
        ("        run->requests[i] = all;", ""),
    ],
    "somebody is missed though nobody is expected": [
        ("run->options->supervisor_ns > 0 && beat", "beat"),
        ("run->options->operator_ns > 0 && run->stage", "run->stage"),
    ],
    "a supervisor is missed who never was there": [
        (" && beat > 0 && now", " && now"),
    ],
    "a supervisor who is gone did not trip": [
        ("now - beat > run->options->supervisor_ns", "0"),
    ],
    "a supervisor who is there tripped": [
        ("now - beat > run->options->supervisor_ns", "now - beat >= run->options->supervisor_ns"),
    ],
    "an operator is missed before the start": [
        ("operator_ns > 0 && run->stage == BL_ACTIVE", "operator_ns > 0"),
    ],
    "an operator who is there tripped": [
        ("seen > run->started ? seen : run->started", "seen"),
        ("seen > run->started ? seen : run->started", "run->started"),
        ("now - since > run->options->operator_ns", "now - since >= run->options->operator_ns"),
    ],
    "an operator who is gone did not trip": [
        ("now - since > run->options->operator_ns", "0"),
    ],
}


@pytest.mark.parametrize(
    ("name", "words", "old", "new"),
    [
        (name, words, *pair)
        for name, groups in (("guard.c", GUARD), ("executive.c", EXECUTIVE), ("commands.c", COMMANDS))
        for words, pairs in groups.items()
        for pair in pairs
    ],
)
def test_a_layer_without_a_condition_is_refused(works, name, words, old, new):
    code, out, err = works.start(name, old, new)
    assert (code, out) == (REFUSED, "")
    assert err.startswith(f"loop: the safety layer fails its self-test: {words}; nothing was enabled; ")


def test_what_was_not_changed_is_not_refused(works):
    """The conditions above are what the programs are refused for, not how they were built."""
    code, out, err = works.start("guard.c", "/* The first cause stays. */", "")
    assert (code, err) == (0, "")
    assert out.startswith("ready ")


def outside(value, limit):
    return f"!(fabs({value}) <= {limit})"


VALUES = [
    ("interlock_displacement_{}_guarded", 0.0215,
     "'measured.displacement[{}]' at {}, {} the limit of the displacement,"),
    ("interlock_velocity_{}_guarded", 0.8325, "'measured.velocity[{}]' at {}, {} the limit of the velocity,"),
    ("interlock_force_{}_guarded", 353.75, "'measured.force[{}]' at {}, {} the limit of the force,"),
    ("interlock_{}_wanted", 0.01925, "'command[{}]' at {}, {} the limit of the command,"),
    ("interlock_{}_change", 2.515625, "a change of 'command[{}]' {} the limit of the command's rate"),
    ("interlock_{0}_target - interlock_displacement_{0}_guarded", 0.00425,
     "'measured.displacement[{}]' with a tracking error of {}, {} its limit,"),
]  # fmt: skip


@pytest.mark.parametrize("interface", [0, 1])
@pytest.mark.parametrize(("value", "limit", "words"), VALUES)
def test_an_interlock_without_a_limit_is_refused(works, value, limit, words, interface):
    """A limit that is gone, one of a single sign, one that is a thousandth too wide or too narrow."""
    value = value.format(interface)
    whole = outside(value, repr(limit))
    wrong = ["0", f"!(({value}) <= {limit!r})", f"!(-({value}) <= {limit!r})", outside(value, 1.001 * limit)]
    if interface:
        wrong = wrong[:1]
    for other in wrong:
        code, out, err = works.start(works.tick, whole, other)
        assert (code, out) == (REFUSED, ""), other
        assert words.split(" {}")[0].split("{}")[0] in err
        assert "did not trip" in err
    if not interface and "wanted" not in value:  # a command that trips early is not driven any further
        code, out, err = works.start(works.tick, whole, outside(value, 0.999 * limit))
        assert (code, out) == (REFUSED, "")
        assert re.search(r"within .* limit.*, tripped|within the limit of the command's rate tripped", err)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("!(interlock_power_1_square <= 52.5625)", "0", "a power discrepancy beyond 7.25 W did not trip"),
        ("!(interlock_power_0_square <= 52.5625)", "!(interlock_power_0_square <= 7.25)",
         "a power discrepancy within 7.25 W tripped"),
        ("(interlock_power_0_discrepancy*interlock_power_0_discrepancy)", "interlock_power_0_discrepancy",
         "a force that moves does not add to the power discrepancy, or takes away from it"),
        ("(interlock_power_1_discrepancy*interlock_power_1_discrepancy)", "0.0",
         "a force that moves does not add to the power discrepancy, or takes away from it"),
        ("(interlock_velocity_1_repeated >= 31.0)", "0",
         "'measured.velocity[1]', the same 31 times, did not trip"),
        ("(interlock_force_0_repeated >= 31.0)", "(interlock_force_0_repeated >= 30.0)",
         "'measured.force[0]' tripped before it was the same 31 times"),
        ("(double)(!(fabs(interlock_force_1_raw) <= 1.7976931348623157e+308))", "0.0",
         "NaN in measured value 'measured.force[1]' did not trip the interlock, or its command"),
        ("(double)(!(fabs(interlock_displacement_0_raw) <= 1.7976931348623157e+308))",
         "(double)(interlock_displacement_0_raw != interlock_displacement_0_raw)",
         "+infinity in measured value 'measured.displacement[0]' did not trip the interlock"),
        ("((interlock_cause_now != 0.0) ? interlock_share*s->interlock_last_1 : interlock_1_wanted)",
         "interlock_1_wanted", "did not trip the interlock, or its command follows, or a state"),
        ("interlock_share*s->interlock_last_0 :", "s->interlock_last_0 :",
         "the interlock's way to safety does not lead from the last command to the safe one"),
        ("    s->interlock_latched = interlock_cause_now;", "", "a trip of the interlock does not stay"),
    ],
)  # fmt: skip
def test_an_interlock_without_a_condition_is_refused(works, old, new, words):
    code, out, err = works.start(works.tick, old, new)
    assert (code, out) == (REFUSED, "")
    assert words in err


@pytest.mark.parametrize(
    ("name", "flag"), [("clang", "-fno-honor-nans"), ("gcc", "-fsingle-precision-constant")]
)
def test_options_of_which_no_macro_tells_are_found_in_the_binary(works, name, flag):
    """The sources cannot refuse them, and the package does only where it is what calls the compiler."""
    if name not in COMPILERS:
        pytest.skip(f"no {name}")
    if name == "clang":
        assert works.compiled(name, "-O1")[0] == 0
    code, out, err = works.compiled(name, "-O1", flag)
    assert (code, out) == (REFUSED, "")
    assert "the safety layer fails its self-test" in err


def self_test_of(test, **more):
    """Start the loop of a test, and return what its self-test says."""
    options = LoopOptions("loopback://", lock_step=True, steps=2, retreat=0.01, start=True, gap=60.0, **more)
    with LoopProcess(loop_program(test, loopback=True), options, signal_table(test, 5)) as loop:
        assert loop.wait(60) in {0, 3}  # what a test does after its start is its own affair
        return loop.ring.self_test


@pytest.mark.parametrize(
    ("interlock", "not_tried"),
    [
        (None, ["an interlock (the test states none)"]),
        (Interlock(), []),
        (Interlock(power=PowerTrip(0.0625)), []),
        (Interlock(Limits(force=20.5), stale=1, safe_position=-0.0125), []),
        (Interlock(Limits(force=20.5, displacement=0.5, command=30.0), stale=2, safe_position=0.25), []),
        (INTERLOCK, []),
        (
            Interlock(Limits(displacement=0.003, velocity=5.0, tracking_error=0.5, command_rate=0.75)),
            ["the tracking error of 'measured.displacement[0]' from each side (another limit comes first)",
             "the tracking error of 'measured.displacement[1]' from each side (another limit comes first)"],
        ),
    ],
)  # fmt: skip
def test_a_sound_loop_passes_and_says_what_was_not_tried(interlock, not_tried):
    found = self_test_of(watched(interlock))
    assert (found["passed"], found["failures"], found["words"]) == (True, 0, "")
    assert found["cases"] > 230 + (0 if interlock is None else 20)
    assert found["not_tried"] == [
        *not_tried,
        "limits of outputs (the link has no channels)",
        "pauses and late ticks by the clock itself",
    ]  # fmt: skip
    assert found["seconds"] < 5.0  # a few ms, where nobody else wants the processor


def test_one_interface_and_a_test_with_limits_of_its_own():
    test = mr_damper_building.test().replaced(
        interlock=Interlock(Limits(force=5000.5), power=PowerTrip(77.5))
    )
    found = self_test_of(test)
    assert found["passed"]
    assert found["cases"] > 230


def test_a_limit_that_is_tightened_counts_and_one_that_is_widened_is_refused():
    name = "interlock.limits.force"
    test = watched(tunable={name: Tunable(least=1.0, most=353.75, rate=10.0)})
    assert self_test_of(test, parameters={name: 21.5})["passed"]
    with pytest.raises(InputError, match=r"the limit of the force is set to 353\.8; the test states 353\.75"):
        self_test_of(test, parameters={name: 353.8})


def test_the_result_is_in_the_run_file(tmp_path):
    """The record is made of what the loop itself wrote, not of what the session believes."""
    run = run_realtime(watched(), 0.01, lock_step=True, record=tmp_path / "run.h5")
    assert run.self_test.startswith("passed, ")
    found = read_run(tmp_path / "run.h5").attributes["self_test"]
    assert (found["passed"], found["words"]) == (True, "")
    assert found["cases"] > 300
    assert found["not_tried"][-1] == "pauses and late ticks by the clock itself"


def test_a_refusal_is_an_error_of_the_session_and_leaves_nothing(works):
    """That no segment is left is looked at after every test here."""
    code, out, _ = works.start("guard.c", "if (bl_is_finite(x))", "if (1)")
    assert (code, out) == (REFUSED, "")
    with pytest.raises(
        InputError, match=r"fails its self-test: NaN in a measured value did not trip; nothing"
    ):
        LoopProcess(works.folder / "loop", LoopOptions("loopback://", lock_step=True))
