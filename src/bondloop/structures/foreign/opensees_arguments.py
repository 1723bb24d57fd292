"""Arguments of OpenSees commands, taken one after the other; what does not fit is told with its place."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bondloop.structures.foreign.tcl import Command, TclFaultError, Word

__all__ = ["ArgumentFaultError", "Arguments"]


class ArgumentFaultError(TclFaultError):
    """A command that is known, with arguments that it does not take."""


class Arguments:
    """The words after a command's name.

    Parameters
    ----------
    command
        The command.
    skip
        How many words belong to its name.
    """

    def __init__(self, command: Command, skip: int = 1) -> None:
        self.command = command
        self.words: list[Word] = list(command.words[skip:])
        self.label = " ".join(word.text for word in command.words[:skip])[:40]

    def __bool__(self) -> bool:
        return bool(self.words)

    def fault(self, said: str, word: Word | None = None) -> ArgumentFaultError:
        """Return the fault of a word, or of the command."""
        at = word or self.command.words[0]
        return ArgumentFaultError(at.line, at.column, f"{self.label}: {said}")

    def take(self, what: str) -> Word:
        """Take the next word."""
        if not self.words:
            raise self.fault(f"{what} is missing")
        return self.words.pop(0)

    def number(self, what: str) -> float:
        """Take a finite number."""
        return self.as_number(self.take(what), what)

    def as_number(self, word: Word, what: str) -> float:
        """Return a word as a finite number."""
        try:
            value = float(word.text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or "_" in word.text:
            raise self.fault(f"expected a number for {what}; found {word.text[:40]!r}", word)
        return value

    def tag(self, what: str) -> int:
        """Take a whole number."""
        word = self.take(what)
        try:
            return int(word.text) if len(word.text) < 19 and "_" not in word.text else int("")
        except ValueError:
            raise self.fault(f"expected the number of {what}; found {word.text[:40]!r}", word) from None

    def numbers(self, count: int, what: str) -> list[float]:
        """Take so many numbers."""
        return [self.number(what) for _ in range(count)]

    def tags(self, what: str) -> list[int]:
        """Take whole numbers up to the next option or the end."""
        answer = []
        while self.words and not self.at_option:
            answer.append(self.tag(what))
        return answer

    @property
    def at_option(self) -> bool:
        """Whether the next word is an option such as ``-mass``, not a negative number."""
        return bool(self.words) and self.is_option(self.words[0])

    @staticmethod
    def is_option(word: Word) -> bool:
        """Whether a word is an option, not a negative number."""
        return word.text[:1] == "-" and word.text[1:2].isalpha()

    def option(self, known: Sequence[str]) -> str:
        """Take an option; refuse one that is not known, as what it would change is not known either."""
        word = self.take("an option")
        if word.text not in known:
            raise UnknownOptionError(
                word.line, word.column, f"{self.label}: {word.text[:40]!r} is not understood"
            )
        return word.text


class UnknownOptionError(TclFaultError):
    """Something about a known command that bondloop does not have."""
