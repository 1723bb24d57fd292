"""How many rehearsals of those that were made, with the interval in which the probability lies."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    """A number of rehearsals among others, and the interval of confidence of its probability.

    Parameters
    ----------
    count, total
        Of rehearsals.
    confidence
        Of the interval.

    Examples
    --------
    >>> share = Share(47, 48)
    >>> print(share, round(share.low, 3), round(share.high, 3))
    47 of 48 0.889 0.999
    """

    count: int
    total: int
    confidence: float = 0.95

    @property
    def low(self) -> float:
        """Lower end of the interval (Clopper and Pearson 1934)."""
        from scipy.special import betaincinv

        if not self.count:
            return 0.0
        return float(betaincinv(self.count, self.total - self.count + 1, (1 - self.confidence) / 2))

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        from scipy.special import betaincinv

        if self.count == self.total:
            return 1.0
        return float(betaincinv(self.count + 1, self.total - self.count, (1 + self.confidence) / 2))

    def __str__(self) -> str:
        return f"{self.count} of {self.total}"
