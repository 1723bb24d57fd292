/* Runge-Kutta steps of x' = A x + b by hand, A in compressed rows: the yardstick for large sparse models. */

static void rate(int n, const int *starts, const int *columns, const double *values, const double *b,
    const double *x, double *k)
{
    for (int i = 0; i < n; ++i) {
        double sum = b[i];
        for (int j = starts[i]; j < starts[i + 1]; ++j)
            sum += values[j]*x[columns[j]];
        k[i] = sum;
    }
}

/* `work` has room for 5 n numbers. */
void csr_run(long steps, int n, double h, const int *starts, const int *columns, const double *values,
    const double *b, double *x, double *work)
{
    double *k1 = work, *k2 = work + n, *k3 = work + 2*n, *k4 = work + 3*n, *y = work + 4*n;
    for (long step = 0; step < steps; ++step) {
        rate(n, starts, columns, values, b, x, k1);
        for (int i = 0; i < n; ++i)
            y[i] = x[i] + 0.5*h*k1[i];
        rate(n, starts, columns, values, b, y, k2);
        for (int i = 0; i < n; ++i)
            y[i] = x[i] + 0.5*h*k2[i];
        rate(n, starts, columns, values, b, y, k3);
        for (int i = 0; i < n; ++i)
            y[i] = x[i] + h*k3[i];
        rate(n, starts, columns, values, b, y, k4);
        for (int i = 0; i < n; ++i)
            x[i] += h/6*(k1[i] + 2*(k2[i] + k3[i]) + k4[i]);
    }
}
