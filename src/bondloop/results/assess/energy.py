"""Energy that a test gains or loses at its interface.

F is the force at the interface (of the specimen on the numerical half), positive so that F·v is the power
that flows from the numerical half into the specimen. What leaves the numerical half is ∫F v_N dt, what
arrives at the specimen is ∫F v_P dt; the difference comes from the actuator's supply. A lagging actuator on
a spring gives more than it takes: negative damping.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import POSITIVE
from bondloop.results.assess.samples import ratio, same_length

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def work(force: ArrayLike, displacement: ArrayLike) -> NDArray[np.float64]:
    """Return ∫F dx [J] up to each sample, by the trapezoidal rule; over a closed loop, the loop's area.

    Parameters
    ----------
    force, displacement
        Samples in N and m.

    Examples
    --------
    >>> angle = np.linspace(0, 2 * np.pi, 4001)
    >>> round(float(work(3 * np.cos(angle), 2 * np.sin(angle))[-1]) / (np.pi * 3 * 2), 5)  # the ellipse π a b
    1.0
    """
    f, x = same_length(force=force, displacement=displacement)
    return np.concatenate(([0.0], np.cumsum(0.5 * (f[1:] + f[:-1]) * np.diff(x))))


def energy_error(
    force: ArrayLike, physical_velocity: ArrayLike, numerical_velocity: ArrayLike, sample_period: float | str
) -> NDArray[np.float64]:
    """Return E(t) = ∫F (v_P − v_N) dt [J] up to each sample, by the trapezoidal rule.

    Positive: the interface has put energy into the test (negative damping). It is the power form of the
    synchronisation error ṽ of Gawthrop 2005, eq. (2).

    Parameters
    ----------
    force
        At the interface in N, positive as this module takes it.
    physical_velocity, numerical_velocity
        Of the specimen and of the numerical half in m/s.
    sample_period
        In s, or text: ``"1 ms"``.

    Examples
    --------
    >>> energy_error([2.0, 2.0, 2.0], [1.0, 1.0, 1.0], [0.5, 0.5, 0.5], 0.1).round(12).tolist()
    [0.0, 0.1, 0.2]
    """
    period = POSITIVE.check(sample_period, "sample_period", "s")
    f, v_p, v_n = same_length(
        force=force, physical_velocity=physical_velocity, numerical_velocity=numerical_velocity
    )
    power = f * (v_p - v_n)
    return np.concatenate(([0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * period)))


def energy_error_of_motion(force: ArrayLike, desired: ArrayLike, actual: ArrayLike) -> NDArray[np.float64]:
    """Return E(t) = ∫F d(x_P − x_N) [J] from displacements, where velocities were not recorded.

    Parameters
    ----------
    force
        At the interface in N.
    desired, actual
        Displacements of the numerical half and of the specimen in m.

    Examples
    --------
    >>> energy_error_of_motion([2.0, 2.0, 2.0], [0.0, 0.5, 1.0], [0.0, 0.5, 1.5]).tolist()
    [0.0, 0.0, 1.0]
    """
    x_n, x_p = same_length(desired=desired, actual=actual)
    return work(force, x_p - x_n)


def normalised_energy_error(
    force: ArrayLike, physical_velocity: ArrayLike, numerical_velocity: ArrayLike, sample_period: float | str
) -> float:
    """Return ∫F (v_P − v_N) dt / ∫abs(F v_N) dt: the energy error over the energy exchanged, at the end.

    NaN where nothing was exchanged.

    Parameters
    ----------
    force
        At the interface in N, positive as this module takes it.
    physical_velocity, numerical_velocity
        Of the specimen and of the numerical half in m/s.
    sample_period
        In s, or text: ``"1 ms"``.

    Examples
    --------
    >>> round(normalised_energy_error([2.0, 2.0], [1.0, 1.0], [0.8, 0.8], 0.1), 12)
    0.25
    """
    period = POSITIVE.check(sample_period, "sample_period", "s")
    error = float(energy_error(force, physical_velocity, numerical_velocity, period)[-1])
    f, v_n = same_length(force=force, numerical_velocity=numerical_velocity)
    power = np.abs(f * v_n)
    return ratio(error, float(np.sum(0.5 * (power[1:] + power[:-1])) * period))


def normalised_energy_error_of_motion(force: ArrayLike, desired: ArrayLike, actual: ArrayLike) -> float:
    """Return ∫F d(x_P − x_N) / ∫abs(F dx_N) from displacements: over the energy exchanged, at the end.

    NaN where nothing was exchanged. For a spring that is followed late by τ, at angular frequency ω, it is
    (π/2) sin ωτ.

    Parameters
    ----------
    force
        At the interface in N.
    desired, actual
        Displacements of the numerical half and of the specimen in m.

    Examples
    --------
    >>> normalised_energy_error_of_motion([2.0, 2.0, 2.0], [0.0, 0.5, 1.0], [0.0, 0.5, 1.5])
    0.5
    """
    error = float(energy_error_of_motion(force, desired, actual)[-1])
    f, x = same_length(force=force, desired=desired)
    return ratio(error, float(np.abs(0.5 * (f[1:] + f[:-1]) * np.diff(x)).sum()))


def hybrid_system_energy_error(
    error: ArrayLike, input_energy: ArrayLike, strain_energy: ArrayLike
) -> NDArray[np.float64]:
    """Return E(t) / (E_input(t) + E_strain,max): the hybrid simulation error monitor.

    Parameters
    ----------
    error
        Energy error at the interface [J], as `energy_error` gives it, shape (n,).
    input_energy
        Energy that the excitation has put into the whole structure [J], shape (n,).
    strain_energy
        Strain energy of the whole structure [J], shape (n,); its greatest value so far keeps the quotient
        finite at the start.

    References
    ----------
    Mosqueda, Stojadinović and Mahin (2007), Real-time error monitoring for hybrid simulation, J. Struct. Eng.
    133(8).

    Examples
    --------
    >>> hybrid_system_energy_error([0.0, 1.0, 2.0], [0.0, 5.0, 9.0], [0.0, 5.0, 1.0]).round(4).tolist()
    [0.0, 0.1, 0.1429]
    """
    e, supplied, strain = same_length(error=error, input_energy=input_energy, strain_energy=strain_energy)
    whole = supplied + np.maximum.accumulate(strain)
    return np.divide(e, whole, out=np.where(e == 0, 0.0, np.nan), where=whole > 0)
