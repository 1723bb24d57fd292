#define _GNU_SOURCE
#include "commands.h"

#include <string.h>

#include "words.h"

#define COMMANDS_PER_CYCLE 4
#define MAILS_PER_CYCLE BL_BATCH

void bl_begin(bl_run *run)
{
    const bl_interface *tick = run->tick;
    memcpy(run->state, tick->initial, sizeof(double)*(size_t)tick->states);
    memcpy(run->parameters, run->options->parameters, sizeof(double)*(size_t)tick->parameters);
    bl_words_put(run->shown, run->parameters, (size_t)tick->parameters);
    memset(run->channels, 0, sizeof(double)*(size_t)tick->channels);
    memcpy(run->commands, tick->safe, sizeof(double)*(size_t)tick->commands);
    run->step = 0;
    run->late = 0;
    run->halted = run->silenced = run->parked = 0;
    run->commanded = 0; /* since the run before, somebody may have moved the rig */
    run->given_before = run->given;
    run->armed = !run->options->arm;
    run->segment->run += 1;
    run->logged_cause = BL_CAUSE_NONE;
    run->approach = run->met = 0;
    run->news = run->began;
    run->same = -1; /* the first values are compared with themselves */
    __atomic_store_n(&run->segment->cause, (uint64_t)BL_CAUSE_NONE, __ATOMIC_RELEASE);
    run->segment->cause_cycle = run->segment->cause_step = -1;
    run->stage = BL_INACTIVE;
}

void bl_start(bl_run *run)
{
    run->stage = BL_ACTIVE;
    run->started = run->began;
    run->late = 0; /* what was late while nothing moved does not count */
    run->approach = run->options->approach_cycles;
}

static void note(bl_run *run, const bl_mail *mail, uint64_t number, double before, int refused)
{
    bl_event event = {.mail = number, .time_ns = run->began, .cycle = run->cycle, .step = run->step, .kind = mail->kind,
        .index = mail->index, .before = before, .value = mail->value, .refused = (uint32_t)refused,
        .run = (uint32_t)run->segment->run};
    memcpy(event.who, mail->who, BL_WHO);
    bl_segment_log(run->segment, &event);
}

void bl_note_changes(bl_run *run)
{
    const bl_segment *s = run->segment;
    if (s->cause != run->logged_cause) {
        const bl_mail cause = {.kind = BL_EVENT_CAUSE, .index = (uint32_t)s->cause, .value = s->cause_value};
        note(run, &cause, 0, (double)s->cause_detail, BL_OBEYED);
        run->logged_cause = s->cause;
    }
    if (run->stage != run->logged_stage) {
        const bl_mail state = {.kind = BL_EVENT_STATE, .index = (uint32_t)s->cause, .value = run->stage};
        note(run, &state, 0, run->logged_stage, BL_OBEYED);
        run->logged_stage = run->stage;
    }
}

/* Why a parameter cannot be set to a value; 0 if it can. */
static int unfit(const bl_interface *tick, const bl_mail *mail)
{
    const uint32_t i = mail->index;
    if (mail->kind != BL_MAIL_SET)
        return BL_NO_COMMAND;
    if (i >= (uint64_t)tick->parameters)
        return BL_NO_PARAMETER;
    if (tick->parameter_least[i] > tick->parameter_most[i])
        return BL_NOT_TUNABLE;
    if (!bl_is_finite(mail->value))
        return BL_NOT_FINITE;
    if (mail->value < tick->parameter_least[i] || mail->value > tick->parameter_most[i]
        || (mail->value == 0.0 && tick->parameter_nonzero[i]))
        return BL_OUT_OF_BOUNDS;
    return BL_OBEYED;
}

/* Several values in one tick: all of them, or none. */
static int set(bl_run *run, const bl_mail *batch, int count)
{
    int bad = BL_OBEYED;
    for (int i = 0; i < count && !bad; ++i)
        bad = unfit(run->tick, &batch[i]);
    for (int i = 0; i < count; ++i) {
        const int own = unfit(run->tick, &batch[i]);
        const int known = own != BL_NO_PARAMETER && own != BL_NO_COMMAND;
        const double before = known ? run->parameters[batch[i].index] : 0.0;
        if (!bad) {
            run->parameters[batch[i].index] = batch[i].value;
            bl_words_put(&run->shown[batch[i].index], &batch[i].value, 1);
        }
        note(run, &batch[i], batch[i].number, before, own ? own : bad ? BL_ANOTHER : BL_OBEYED);
    }
    return bad;
}

static int obey_start(bl_run *run)
{
    if (run->stage != BL_INACTIVE || run->options->inactive)
        return BL_NOT_NOW;
    if (!run->armed)
        return BL_NOT_ARMED;
    bl_start(run);
    return BL_OBEYED;
}

/* One command of the mailbox that sets nothing: BL_OBEYED, or why it makes no sense now. */
static int obey(bl_run *run, const bl_mail *mail)
{
    switch (mail->kind) {
    case BL_MAIL_START:
        return obey_start(run);
    case BL_MAIL_ARM:
        if (run->stage != BL_INACTIVE || run->options->inactive)
            return BL_NOT_NOW;
        run->armed = 1;
        return BL_OBEYED;
    case BL_MAIL_RESET:
        if (run->stage != BL_SAFE || run->ending)
            return BL_NOT_NOW;
        bl_begin(run);
        return BL_OBEYED;
#ifdef BL_TEST_HOOKS
    case BL_MAIL_STALL:
        for (const int64_t end = bl_now() + (int64_t)(mail->value*1e9); bl_now() < end && !bl_asked_to_end;)
            bl_relax();
        return BL_OBEYED;
#endif
    default:
        return BL_NO_COMMAND;
    }
}

static int refuse(bl_run *run, int count, int why)
{
    for (int i = 0; i < count; ++i)
        note(run, &run->batch[i], run->batch[i].number, 0, why);
    run->batched = 0;
    return why;
}

/* Takes mails until a command is complete, and obeys it; 0 if there is none. `left`: mails that this cycle may take. */
static int hear(bl_run *run, int *left)
{
    bl_segment *s = run->segment;
    while (*left > 0) {
        bl_mail *mail = &run->batch[run->batched];
        const int took = bl_mail_take(s, mail, &run->mail_looks);
        if (took == 0)
            return 0;
        *left -= 1;
        s->counts.mails += 1;
        run->flags |= BL_FLAG_MAIL;
        const int at = run->batched++;
        int bad = BL_OBEYED;
        if (took < 0) {
            memset(mail, 0, sizeof *mail);
            mail->number = s->mail_taken;
            bad = BL_NO_SENSE;
        } else if (at > 0 && mail->more != mail[-1].more - 1) {
            bad = BL_NO_SENSE;
        } else if (mail->more > 0) {
            if (mail->kind == BL_MAIL_SET && mail->more <= (uint64_t)(BL_BATCH - 1 - at))
                continue;
            bad = BL_NO_SENSE;
        }
        const int count = run->batched;
        run->batched = 0;
        if (bad)
            refuse(run, count, bad);
        else if (mail->kind == BL_MAIL_SET || at > 0)
            bad = set(run, run->batch, count);
        else {
            bad = obey(run, mail);
            __atomic_store_n(&s->armed, (uint64_t)run->armed, __ATOMIC_RELAXED);
            __atomic_store_n(&s->state, (uint64_t)run->stage, __ATOMIC_RELEASE); /* who reads the log finds it */
            note(run, mail, mail->number, 0, bad);
        }
        s->counts.mails_refused += bad ? (uint64_t)count : 0;
        return 1;
    }
    return 0;
}

/* The operator's stop: no trip, the executive's own ramp. One that comes during a retreat waits for its end. */
static void stop(bl_run *run)
{
    run->ending = 1;
    if (run->stage == BL_ACTIVE || run->stage == BL_INACTIVE)
        bl_guard_ramp(run);
    else if (run->stage == BL_SAFE)
        run->stage = BL_FINALIZED;
}

static int retreat(bl_run *run)
{
    if (run->stage != BL_ACTIVE)
        return BL_NOT_NOW;
    run->parked = 1;
    bl_guard_ramp(run);
    return BL_OBEYED;
}

/* Trips, retreats and stops, by word or signal; the trip first, so that the log has its cause. */
static void obey_requests(bl_run *run)
{
    static const uint32_t kinds[BL_REQUESTS] = {BL_EVENT_TRIP, BL_EVENT_RETREAT, BL_EVENT_STOP};
    bl_segment *s = run->segment;
    for (int i = 0; i < BL_REQUESTS; ++i) {
        bl_request *request = &s->requests[i];
        const uint64_t count = __atomic_load_n(&request->count, __ATOMIC_ACQUIRE);
        const uint64_t all = count + (i == BL_REQUEST_STOP ? (uint64_t)bl_asked_to_stop : 0);
        if (all == run->requests[i])
            continue;
        run->requests[i] = all;
        bl_mail noted = {.kind = kinds[i]};
        bl_words_get(noted.who, request->who, BL_WHO/8);
        int refused = BL_OBEYED;
        if (i == BL_REQUEST_TRIP) {
            uint64_t cause;
            bl_words_get(&cause, &request->cause, 1);
            noted.value = cause >= 1 && cause < 1000 ? (double)cause : BL_CAUSE_OPERATOR;
            bl_guard_trip(run, (int)noted.value, 0, 0, 1);
        } else if (i == BL_REQUEST_RETREAT) {
            refused = retreat(run);
        } else {
            s->counts.stops += 1;
            stop(run);
        }
        __atomic_store_n(&s->state, (uint64_t)run->stage, __ATOMIC_RELEASE); /* who reads the log finds it */
        note(run, &noted, 0, 0, refused);
        __atomic_store_n(&request->refused, (uint64_t)refused, __ATOMIC_RELAXED);
        __atomic_store_n(&request->heard, count, __ATOMIC_RELEASE);
    }
}

void bl_listen(bl_run *run, int64_t now)
{
    bl_segment *s = run->segment;
    for (int i = 0, left = MAILS_PER_CYCLE; i < COMMANDS_PER_CYCLE && hear(run, &left); ++i)
        ;
    obey_requests(run); /* after the mailbox: a START that waits there does not undo it */
    if (bl_telemetry_lost) { /* no supervisor is heard any more */
        if (run->stage == BL_SAFE)
            run->stage = BL_FINALIZED;
        bl_guard_trip(run, BL_CAUSE_SUPERVISOR_LOST, 0, 0, 1);
    }
    if (bl_asked_to_end) {
        if (run->stage == BL_SAFE)
            run->stage = BL_FINALIZED;
        else if (run->stage != BL_RETREAT)
            bl_guard_trip(run, BL_CAUSE_OPERATOR, 0, 0, 1);
    }
    const int64_t beat = __atomic_load_n(&s->supervisor_ns, __ATOMIC_RELAXED);
    if (run->options->supervisor_ns > 0 && beat > 0 && now - beat > run->options->supervisor_ns) {
        if (run->stage == BL_SAFE)
            run->stage = BL_FINALIZED;
        bl_guard_trip(run, BL_CAUSE_SUPERVISOR_LOST, 0, (double)(now - beat)*1e-9, 1);
    }
    if (run->options->operator_ns > 0 && run->stage == BL_ACTIVE) {
        const int64_t seen = __atomic_load_n(&s->operator_ns, __ATOMIC_RELAXED);
        const int64_t since = seen > run->started ? seen : run->started; /* who starts it is there */
        if (now - since > run->options->operator_ns)
            bl_guard_trip(run, BL_CAUSE_OPERATOR_LOST, 0, (double)(now - since)*1e-9, 1);
    }
}
