/* An FMU inside a tick, behind its host: outputs are asked for one by one, each once when a tick is executed. Tick n begins with
 * the step from n - 1, in which the inputs of n - 1 were held; then those of n are set, and the outputs are read.
 */
static double in_tick_shown[HOST_OUTPUTS], in_tick_number = -1.0, in_tick_time, in_tick_period;
static char in_tick_served[HOST_OUTPUTS];

static int in_tick_advance(double n, double t, const double *inputs)
{
    int bad = 0;
    if (n == 0)
        bad = host_begin();
    else if (n == in_tick_number) /* looked at before it is taken: no step */
        bad = host.failed;
    else if (n != in_tick_number + 1)
        bad = host_fail("it was at another tick, and cannot be led to this one");
    else {
        if (n == 1)
            in_tick_period = t - in_tick_time;
        bad = host_step(in_tick_period);
    }
    in_tick_number = n;
    in_tick_time = t;
    return bad || host_give(inputs) || host_take(in_tick_shown);
}

static double in_tick_output(int i, double n, double t, const double *inputs)
{
    if (n != in_tick_number || in_tick_served[i]) {
        memset(in_tick_served, 0, sizeof in_tick_served);
        const int before = host.failed;
        if (in_tick_advance(n, t, inputs)) {
            for (int j = 0; j < HOST_OUTPUTS; ++j)
                in_tick_shown[j] = NAN; /* ends the run at this tick */
            if (!before)
                fprintf(stderr, "%s\n", host.message);
        }
    }
    in_tick_served[i] = 1;
    return in_tick_shown[i];
}
