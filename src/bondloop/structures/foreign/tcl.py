"""Tcl scripts read as data: words, variables, arithmetic and bounded loops; no command of Tcl is ever run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from bondloop.errors import InputError
from bondloop.structures.foreign.tcl_arithmetic import evaluate

__all__ = ["Command", "Script", "TclFaultError"]

MOST_COMMANDS = 100_000
"""Commands that a script may come to, with its loops."""
DEEPEST = 20
"""Loops, conditions and brackets within each other."""
LONGEST = 20_000
"""Characters of a value."""
_NAME = re.compile(r"\$(?:\{([^{}]*)\}|((?:::)?\w+(?:\([\w.,]*\))?))")
_COMMENT = re.compile(r"#(?:\\\n|[^\n])*")
_CLOSING = {"{": "}", "[": "]", '"': '"'}


class TclFaultError(InputError):
    """A word that cannot be read, or a value that is not known, with its place."""

    def __init__(self, line: int, column: int, said: str) -> None:
        self.line, self.column, self.said = line, column, said
        super().__init__(f"line {line}, column {column}: {said}")


@dataclass(frozen=True)
class Word:
    """A word as it stands: in braces it is taken as it is, otherwise variables are put in."""

    text: str
    braced: bool
    line: int
    column: int


@dataclass(frozen=True)
class Command:
    """A command with its variables put in."""

    words: tuple[Word, ...]

    @property
    def name(self) -> str:
        """The first word."""
        return self.words[0].text

    @property
    def line(self) -> int:
        """Where it begins."""
        return self.words[0].line

    @property
    def text(self) -> str:
        """The command as one text."""
        return " ".join(f"{{{w.text}}}" if w.braced else w.text for w in self.words)


def parsed(text: str, line: int = 1, column: int = 1) -> Iterator[tuple[Word, ...]]:
    """Yield the commands of a script, each as its words.

    Parameters
    ----------
    text
        The script.
    line, column
        Where it begins in its file.
    """
    words: list[Word] = []
    i, start = 0, 1 - column  # start: where the line began
    while i < len(text):
        c = text[i]
        if text.startswith("\\\n", i):
            i, line, start = i + 2, line + 1, i + 2
        elif c in "\n;":
            if words:
                yield tuple(words)
            words, i = [], i + 1
            if c == "\n":
                line, start = line + 1, i
        elif c in " \t\r":
            i += 1
        else:
            comment = _COMMENT.match(text, i) if not words else None
            end = comment.end() if comment else _end_of_word(text, i, line, i - start + 1)
            if not comment:
                inside = text[i + 1 : end - 1] if c in '{"' else text[i:end]
                words.append(Word(inside, c == "{", line, i - start + 1))
            breaks = text.count("\n", i, end)
            if breaks:
                line, start = line + breaks, text.rindex("\n", i, end) + 1
            i = end
    if words:
        yield tuple(words)


def _end_of_word(text: str, i: int, line: int, column: int) -> int:
    """Return the place after a word that begins at i."""
    if text[i] in '{"':
        end = _closing(text, i, line, column)
        if end < len(text) and text[end] not in " \t\r\n;":
            raise TclFaultError(
                line, column, f"something follows {text[i]}...{_CLOSING[text[i]]} without a space"
            )
        return end
    while i < len(text) and text[i] not in " \t\r\n;":
        if text[i] == "[":
            i = _closing(text, i, line, column)
        else:
            i += 2 if text[i] == "\\" and not text.startswith("\\\n", i) else 1
            if text.startswith("\\\n", i):
                break
    return min(i, len(text))


def _closing(text: str, i: int, line: int, column: int) -> int:
    """Return the place after what closes the brace, bracket or quote at i."""
    opening, closing, depth = text[i], _CLOSING[text[i]], 0
    while i < len(text):
        c = text[i]
        if c == "\\":
            i += 2
            continue
        if c == opening and (opening != '"' or not depth):
            depth += 1
        elif c == closing:
            depth -= 1
            if not depth:
                return i + 1
        i += 1
    raise TclFaultError(line, column, f"'{opening}' is not closed")


@dataclass
class Script:
    """What a script says, command by command.

    Parameters
    ----------
    handle
        Takes each command that is not about variables, arithmetic or loops.
    refuse
        Takes what could not be understood: the words and why.
    """

    handle: Callable[[Command], None]
    refuse: Callable[[Sequence[Word], TclFaultError], None]
    variables: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def run(self, text: str, line: int = 1, column: int = 1, depth: int = 0) -> None:
        """Read a script, or the body of a loop."""
        for words in parsed(text, line, column):
            self.count += 1
            if self.count > MOST_COMMANDS:
                raise TclFaultError(words[0].line, words[0].column, f"more than {MOST_COMMANDS:,} commands")
            try:
                self._command(words, depth)
            except TclFaultError as error:
                if self.count > MOST_COMMANDS:
                    raise
                if words[0].text == "set" and len(words) == 3:  # whoever uses it is told, not misled
                    self.variables.pop(words[1].text, None)
                self.refuse(words, error)

    def _command(self, words: tuple[Word, ...], depth: int) -> None:
        first = words[0]
        if depth > DEEPEST:
            raise TclFaultError(first.line, first.column, f"more than {DEEPEST} loops within each other")
        own = {
            "set": self._set,
            "incr": self._incr,
            "for": self._for,
            "foreach": self._foreach,
            "if": self._if,
        }
        if not first.braced and first.text in own:
            own[first.text](words, depth)
        else:
            self.handle(Command(tuple(self.value(word, depth) for word in words)))

    def value(self, word: Word, depth: int = 0) -> Word:
        """Return a word with variables and arithmetic put in; one in braces as it is."""
        if word.braced:
            return word
        return Word(self.substituted(word.text, word, depth), False, word.line, word.column)

    def substituted(self, text: str, word: Word, depth: int) -> str:
        """Put in the values of variables and of ``[expr ...]``."""
        parts: list[str] = []
        i = 0
        while i < len(text):
            if text[i] == "\\" and i + 1 < len(text):
                parts.append({"n": "\n", "t": "\t"}.get(text[i + 1], text[i + 1]))
                i += 2
            elif text[i] == "$" and (match := _NAME.match(text, i)):
                name = match[1] if match[1] is not None else match[2]
                if name not in self.variables:
                    raise TclFaultError(word.line, word.column, f"${name[:40]} is not known")
                parts.append(self.variables[name])
                i = match.end()
            elif text[i] == "[":
                end = _closing(text, i, word.line, word.column)
                parts.append(self._bracket(text[i + 1 : end - 1], word, depth + 1))
                i = end
            else:
                parts.append(text[i])
                i += 1
        answer = "".join(parts)
        if len(answer) > LONGEST:
            raise TclFaultError(word.line, word.column, f"a value of more than {LONGEST:,} characters")
        return answer

    def _bracket(self, text: str, word: Word, depth: int) -> str:
        if depth > DEEPEST:
            raise TclFaultError(word.line, word.column, f"more than {DEEPEST} brackets in each other")
        inner = list(parsed(text, word.line, word.column))
        if len(inner) == 1 and inner[0][0].text == "expr" and len(inner[0]) > 1:
            return self._expression(inner[0][1:], depth)
        shown = inner[0][0].text[:40] if inner else ""
        raise TclFaultError(word.line, word.column, f"[{shown} ...] is not computed; only [expr ...] is")

    def _expression(self, words: Sequence[Word], depth: int) -> str:
        text = " ".join(self.substituted(w.text, w, depth) for w in words)
        try:
            return repr(evaluate(text))
        except InputError as error:
            raise TclFaultError(words[0].line, words[0].column, str(error)) from None

    def _true(self, word: Word, depth: int) -> bool:
        return float(self._expression([word], depth)) != 0

    def _need(self, words: Sequence[Word], count: int, how: str) -> None:
        if len(words) != count:
            raise TclFaultError(words[0].line, words[0].column, f"expected {how}")

    def _set(self, words: tuple[Word, ...], depth: int) -> None:
        self._need(words, 3, "set NAME VALUE")
        self.variables[self.value(words[1], depth).text] = self.value(words[2], depth).text

    def _incr(self, words: tuple[Word, ...], depth: int) -> None:
        name = self.value(words[1], depth).text if len(words) in (2, 3) else ""
        step = self.value(words[2], depth).text if len(words) == 3 else "1"
        try:
            self.variables[name] = str(int(self.variables[name]) + int(step))
        except (KeyError, ValueError):
            raise TclFaultError(
                words[0].line, words[0].column, "expected incr NAME of a whole number"
            ) from None

    def _for(self, words: tuple[Word, ...], depth: int) -> None:
        self._need(words, 5, "for {START} {CONDITION} {NEXT} {BODY}")
        _, start, condition, after, body = words
        self.run(start.text, start.line, start.column + 1, depth + 1)
        while self._true(condition, depth):
            self.run(body.text, body.line, body.column + 1, depth + 1)
            self.run(after.text, after.line, after.column + 1, depth + 1)
            self._count_turn(words)

    def _foreach(self, words: tuple[Word, ...], depth: int) -> None:
        if len(words) < 4 or len(words) % 2:
            raise TclFaultError(words[0].line, words[0].column, "expected foreach NAMES {LIST} {BODY}")
        body = words[-1]
        turns: list[list[dict[str, str]]] = []
        blanks: list[dict[str, str]] = []
        for names, items in zip(words[1:-1:2], words[2:-1:2], strict=True):
            called, values = self.value(names, depth).text.split(), self.value(items, depth).text.split()
            if not called:
                raise TclFaultError(names.line, names.column, "foreach without a name")
            # As Tcl does: a list that ends within a turn leaves the rest of its names empty.
            rows = [values[i : i + len(called)] for i in range(0, len(values), len(called))]
            turns.append([dict(zip_longest(called, row, fillvalue="")) for row in rows])
            blanks.append(dict.fromkeys(called, ""))
        for k in range(max(map(len, turns))):
            for rows_of, blank in zip(turns, blanks, strict=True):
                self.variables.update(rows_of[k] if k < len(rows_of) else blank)
            self.run(body.text, body.line, body.column + 1, depth + 1)
            self._count_turn(words)

    def _if(self, words: tuple[Word, ...], depth: int) -> None:
        rest = list(words[1:])
        while rest:
            if len(rest) >= 2 and self._true(rest[0], depth):
                chosen = rest[2] if rest[1].text == "then" and len(rest) > 2 else rest[1]
                return self.run(chosen.text, chosen.line, chosen.column + 1, depth + 1)
            rest = rest[3:] if len(rest) > 2 and rest[1].text == "then" else rest[2:]
            if not rest:
                return None
            if rest[0].text == "else":
                self._need(rest, 2, "else {BODY}")
                return self.run(rest[1].text, rest[1].line, rest[1].column + 1, depth + 1)
            self._need(rest[:1], 1, "elseif or else")
            if rest.pop(0).text != "elseif":
                raise TclFaultError(words[0].line, words[0].column, "expected elseif or else after the body")
        raise TclFaultError(words[0].line, words[0].column, "expected if {CONDITION} {BODY}")

    def _count_turn(self, words: tuple[Word, ...]) -> None:
        self.count += 1
        if self.count > MOST_COMMANDS:
            raise TclFaultError(words[0].line, words[0].column, f"more than {MOST_COMMANDS:,} commands")
