"""The machine's C compiler: finding it, calling it, and keeping what it built.

Libraries are kept by content: the same source, compiler and options give the same file, in
``$BONDLOOP_CACHE``, ``$XDG_CACHE_HOME/bondloop`` or ``~/.cache/bondloop``. Files appear under their final
name only when complete, so that several processes may build at once. ``$BONDLOOP_CFLAGS`` adds options, after
ours: ``-O1`` builds in half of the time, ``-g -fsanitize=undefined`` looks for faults.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bondloop.engine.codegen import tolerances
from bondloop.errors import CompileError

_since_look = tolerances.LIBRARY_INTERVAL

NOTE = ".sha256"
"""Ending of the file beside a library that says what is in it."""

OTHERS = stat.S_IRWXG | stat.S_IRWXO
WRITE = stat.S_IWGRP | stat.S_IWOTH


def private(folder: Path) -> Path:
    """Return the folder, the user's alone; a fresh one that nothing is kept in where it cannot be written.

    Parameters
    ----------
    folder
        Where to keep what is built; made if it does not exist.

    Raises
    ------
    CompileError
        If it belongs to somebody else.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = folder.stat()
        if _is_foreign(about):
            raise CompileError(
                f"the folder of compiled libraries, {folder}, belongs to user {about.st_uid}, who could put "
                "anything there; set BONDLOOP_CACHE to a folder of your own"
            )
        if os.name == "posix" and about.st_mode & OTHERS:
            folder.chmod(0o700)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:  # a home that cannot be written to: nothing is kept, everything works
        return Path(tempfile.mkdtemp(prefix="bondloop-"))


def intact(file: Path) -> bool:
    """Whether a file is there, the user's own, nobody else's to write, and holds what was kept.

    Parameters
    ----------
    file
        A library, program or object in a private folder.
    """
    try:
        about = file.lstat()
        if not stat.S_ISREG(about.st_mode) or _is_foreign(about):
            return False
        if os.name == "posix" and about.st_mode & WRITE:
            return False
        if _note(file).read_text(encoding="ascii") != _hash(file):
            return False
        os.utime(file, ns=(time.time_ns(), about.st_mtime_ns))  # used now: among the last to be removed
    except (OSError, ValueError):
        return False
    return True


def keep(built: Path, file: Path) -> None:
    """Move what was built to where it is kept, and note what is in it.

    A reader that comes between the note and the file sees them differ, and builds its own.

    Parameters
    ----------
    built
        The file, on the same disk.
    file
        Its final name.
    """
    if os.name == "posix":
        built.chmod(built.stat().st_mode & ~WRITE)
    note = built.with_name(built.name + NOTE)
    note.write_text(_hash(built), encoding="ascii")
    with contextlib.suppress(PermissionError):  # on Windows a library in use stays, and is the same
        note.replace(_note(file))
        built.replace(file)
    global _since_look  # noqa: PLW0603 - one count for the process
    _since_look += 1
    if _since_look >= tolerances.LIBRARY_INTERVAL:
        _since_look = 0
        trimmed(file.parent)


def trimmed(folder: Path, most: int = tolerances.LIBRARY_BYTES) -> int:
    """Remove what was used longest ago, down to half of the bound, where there is more; return how many.

    A library that a process has loaded stays loaded. Scratch folders of builds are left to their builders.

    Parameters
    ----------
    folder
        The folder of what is kept.
    most
        Bytes from which on something is removed.
    """
    found: list[tuple[float, int, str]] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # another process may remove it as well
                about = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(about.st_mode) and not entry.name.endswith(NOTE):
                    found.append((about.st_atime, about.st_size, entry.path))
    total = sum(size for _, size, _ in found)
    if total <= most:
        return 0
    removed = 0
    for _, size, path in sorted(found):
        if total <= most // 2:
            break
        with contextlib.suppress(OSError):
            Path(path).unlink()
            _note(Path(path)).unlink(missing_ok=True)
            removed += 1
        total -= size
    return removed


def _note(file: Path) -> Path:
    return file.with_name(file.name + NOTE)


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _is_foreign(about: os.stat_result) -> bool:
    """Whether somebody else owns it; the administrator can do anything anyway."""
    return sys.platform != "win32" and about.st_uid not in (os.geteuid(), 0)


FLAGS = (
    "-std=c99",
    "-O3",
    "-fno-tree-slp-vectorize",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
)
"""Chosen by measurement. None of them changes a result: products and sums stay apart, so that states are the
same to the last bit from every compiler. Packing scalars into vectors (SLP) and ``-march=native`` would make
a tick slower."""

PROGRAM_FLAGS = tuple(f for f in FLAGS if f not in ("-fPIC", "-shared", "-fvisibility=hidden"))
"""The same for an executable, so that a tick gives the same numbers in both."""

LARGE_FLAGS = ("-O1", "-ftree-loop-vectorize", "-fstrict-aliasing")
"""Added for a tick of many hundred statements, which -O3 would take tens of seconds to compile. Without the
last, which -O3 brings, parameters would be read anew whenever a state is written, and a tick takes a seventh
longer; it costs no time to compile."""

HUGE_FLAGS = ("-O0",)
"""Added for a file of more than `OPTIMISED_STATEMENTS`: optimisation of a function takes a time
that grows with the square of its length (2 s for 4,600 lines, 8 s for 9,100), none takes 0.04 ms a line."""

NO_COMPILER = (
    "no C compiler found ($CC, cc, gcc, clang, or the ziglang package), so the test runs in Python, "
    "some hundred times slower; 'pip install ziglang' brings one"
)

_UNSAFE = re.compile(
    r"(?:-Xclang=?)?-+(?:ffast-math|Ofast|ffinite-math-only|funsafe-math-optimizations|fassociative-math"
    r"|freciprocal-math|fno-signed-zeros|fno-honor-(?:nans|infinities)|fapprox-func|fsingle-precision-constant"
    r"|menable-(?:no-nans|no-infs|unsafe-fp-math)|ffp-model=(?:fast|aggressive)|ffp-contract=(?!off$).*"
    r"|fdenormal-fp-math=(?!ieee).*|mdaz-ftz|mfpmath=387|mrecip.*|fp-model=?fast.*)|/fp:fast"
)
"""Options with which a NaN may pass the guard, or a result differ from other builds. The sources refuse those
that a macro tells of, however they come in; the rest is known by name alone."""

_REFUSED = "bondloop refuses"
"""How the refusal by the sources begins: see `bondloop.engine.codegen.c_text.REFUSAL`."""


@dataclass(frozen=True)
class Compiler:
    """A C compiler.

    Attributes
    ----------
    command
        What is executed, before the options.
    identity
        Text that changes when the compiler does.

    Examples
    --------
    >>> zig = Compiler(("python", "-m", "ziglang", "cc"), "0.13.0")
    >>> zig.is_zig, "-mcpu=baseline" in zig.flags
    (True, True)
    """

    command: tuple[str, ...]
    identity: str

    @property
    def is_zig(self) -> bool:
        """Whether this is the compiler of the ziglang package."""
        return "ziglang" in self.command

    @property
    def flags(self) -> tuple[str, ...]:
        """Options; zig is told not to use what only this processor has. Last come the user's own."""
        return (*FLAGS, *(("-mcpu=baseline",) if self.is_zig else ()), *own_flags())


def compiler() -> Compiler | None:
    """Find a C compiler: ``$CC``, then cc, gcc, clang, then the ziglang package; None if there is none."""
    wanted = os.environ.get("CC", "").strip()
    if wanted:
        try:
            words = shlex.split(wanted)
        except ValueError as error:
            raise CompileError(
                f"$CC is '{wanted}', which is no command ({error}); correct it or unset it"
            ) from None
        found = _executable(words) if words else None
        if found is None:
            raise CompileError(f"$CC is '{wanted}', which cannot be found; correct it or unset it")
        _refuse_unsafe(words, "$CC")
        return found
    for name in ("cc", "gcc", "clang"):
        found = _executable([name])
        if found is not None:
            return found
    return zig()


def own_flags() -> tuple[str, ...]:
    """Return the options of ``$BONDLOOP_CFLAGS``, mostly none."""
    words = os.environ.get("BONDLOOP_CFLAGS", "")
    try:
        given = tuple(shlex.split(words))
    except ValueError as error:
        raise CompileError(
            f"$BONDLOOP_CFLAGS is '{words}', which are no options ({error}); correct it or unset it"
        ) from None
    _refuse_unsafe(given, "$BONDLOOP_CFLAGS")
    return given


def _refuse_unsafe(words: Sequence[str], where: str) -> None:
    """Refuse options that let a NaN pass the guard, or that change results."""
    found = next((word for word in words if _UNSAFE.fullmatch(word)), None)
    if found is not None:
        raise CompileError(
            f"{where} has the option {found}, with which a compiler may assume that no value is NaN, or "
            "round otherwise: the guard of a rig would not see a dead sensor, and runs would differ from "
            f"rehearsals; take it out of {where}"
        )


def zig() -> Compiler | None:
    """Return the compiler of the ziglang package, if that is installed."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        return None
    return Compiler((sys.executable, "-m", "ziglang", "cc"), _stamp(Path(spec.origin)))


def _executable(command: list[str]) -> Compiler | None:
    path = shutil.which(command[0])
    if path is None:
        return None
    return Compiler((path, *command[1:]), _stamp(Path(path).resolve()))


def _stamp(path: Path) -> str:
    """Identify a file without starting it: asking a compiler for its version takes too long."""
    about = path.stat()
    return f"{path} {about.st_size} {about.st_mtime_ns}"


def cache_folder() -> Path:
    """Return the folder that keeps built libraries; it may not exist yet."""
    own = os.environ.get("BONDLOOP_CACHE", "").strip()
    if own:
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(shared) if shared else Path.home() / ".cache") / "bondloop"


def build(
    source: str,
    name: str,
    using: Compiler,
    *,
    large: bool = False,
    anew: bool = False,
    extra: Sequence[str] = (),
) -> Path:
    """Compile C source into a shared library and return its path.

    Parameters
    ----------
    source
        C99.
    name
        Beginning of the file's name.
    using
        The compiler.
    large
        Compile quickly rather than well.
    anew
        Compile even if the cache has it.
    extra
        Further options.
    """
    flags = (*using.flags, *_quick([source], large), *extra)
    digest = _digest([source], [using.identity, *using.command, *flags, platform.machine(), sys.platform])
    suffix = ".dll" if sys.platform == "win32" else ".so"
    folder = private(cache_folder())
    library = folder / f"{name}-{digest}{suffix}"
    if not anew and intact(library):
        return library
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder) as scratch:
        built = Path(scratch) / f"{name}{suffix}"
        text = Path(scratch) / f"{name}.c"
        text.write_text(source, encoding="utf-8")
        _compile(using, flags, [text], built)
        keep(built, library)
    return library


def build_program(
    files: Mapping[str, str],
    name: str,
    using: Compiler,
    *,
    large: bool = False,
    extra: Sequence[str] = (),
    library: bool = False,
) -> Path:
    """Compile C files into one executable, or one shared library, and return its path.

    Parameters
    ----------
    files
        Contents by file name; those that end in ``.c`` are compiled, the others are headers.
    name
        Beginning of the executable's name.
    using
        The compiler.
    large
        Compile quickly rather than well.
    extra
        Further options.
    library
        Whether it is a shared library.
    """
    flags = (
        *(f for f in using.flags if library or f not in FLAGS or f in PROGRAM_FLAGS),
        *_quick([text for file, text in files.items() if file.endswith(".c")], large),
        *extra,
    )
    stamp = [using.identity, *using.command, *flags, platform.machine(), sys.platform]
    headers = [text for item in sorted(files.items()) if not item[0].endswith(".c") for text in item]
    folder = private(cache_folder())
    program = folder / f"{name}-{_digest([text for item in sorted(files.items()) for text in item], stamp)}"
    if library:
        program = program.with_name(f"{program.name}{'.dll' if sys.platform == 'win32' else '.so'}")
    if intact(program):
        return program
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder) as scratch:
        for file, text in files.items():
            (Path(scratch) / file).write_text(text, encoding="utf-8")
        # Objects are kept, too: all but one or two files are the same for every test.
        objects: dict[Path, Path] = {}
        for file in sorted(f for f in files if f.endswith(".c")):
            kept = folder / f"{file[:-2]}-{_digest([files[file], *headers], stamp)}.o"
            objects[kept] = Path(scratch) / file
        for kept, source in objects.items():
            if not intact(kept):
                made = source.with_suffix(".o")
                _compile(using, (*(f for f in flags if f != "-shared"), "-c"), [source], made)
                keep(made, kept)
        built = Path(scratch) / name
        _compile(using, flags, list(objects), built)
        keep(built, program)
    return program


def _quick(sources: Sequence[str], large: bool) -> tuple[str, ...]:
    """Return the options that compile quickly rather than well, where that is needed."""
    if large and any(_statements(source) > tolerances.OPTIMISED_STATEMENTS for source in sources):
        return HUGE_FLAGS
    return LARGE_FLAGS if large else ()


_NO_HEADER = re.compile(r"fatal error: (?:([\w./-]+\.h): No such file|'([\w./-]+\.h)' file not found)")
"""What gcc and clang say of a header that is not there."""


def _statements(source: str) -> int:
    """Return how many lines of a file compute something; declarations and comments cost a compiler little."""
    return sum(line.startswith("    ") and "=" in line for line in source.splitlines())


def _digest(content: Sequence[str], stamp: Sequence[str]) -> str:
    return hashlib.sha256("\0".join((*content, *stamp)).encode()).hexdigest()[:32]


def _compile(using: Compiler, flags: tuple[str, ...], texts: Sequence[Path], built: Path) -> None:
    libraries = () if "-c" in flags else ("-lm",)
    command = [*using.command, *flags, "-o", str(built), *map(str, texts), *libraries]
    done = run_compiler(command)
    if done.returncode or not built.exists():
        said = [
            line for line in done.stderr.splitlines() if "error" in line.lower()
        ] or done.stderr.splitlines()
        what = (
            "; ".join(line.strip() for line in said[: tolerances.COMPLAINT_LINES])
            or f"it gave no reason (exit code {done.returncode})"
        )
        name = texts[0].name if len(texts) == 1 else built.name
        if _REFUSED in done.stderr:
            raise CompileError(
                f"the C compiler {shlex.join(using.command)} was called with options of fast mathematics, as "
                f"its own macros say, so {name} was not built: with them it may assume that no value is NaN, "
                "and the guard of a rig would not see a dead sensor; look for -ffast-math, -Ofast or "
                "-ffinite-math-only in $CC, $BONDLOOP_CFLAGS and the compiler's configuration; take it out"
            )
        header = _NO_HEADER.search(done.stderr)
        if header:
            raise CompileError(
                f"{name} needs {header[1] or header[2]}, which the C compiler {shlex.join(using.command)} "
                "does not find: install the library that brings it, or name its folder (--include FOLDER)"
            )
        raise CompileError(f"the C compiler {shlex.join(using.command)} cannot build {name}: {what}")


def run_compiler(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a compiler and return how it ended and what it said; none of its processes outlives Python.

    Parameters
    ----------
    command
        The compiler and its arguments.
    """
    environment = {**os.environ, "LC_ALL": "C"}  # what it says is read, so not in the user's language
    if "ziglang" in command:
        folder = str(private(cache_folder()) / "zig")
        environment.setdefault("ZIG_GLOBAL_CACHE_DIR", folder)
        environment.setdefault("ZIG_LOCAL_CACHE_DIR", folder)
    try:
        with _group() as group:
            return subprocess.run(  # noqa: S603 - the user's own compiler
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                process_group=group,
            )
    except OSError as error:
        raise CompileError(f"the C compiler {command[0]} cannot be started: {error}") from error


@contextlib.contextmanager
def _group() -> Iterator[int | None]:
    """Make a process group that is killed on leaving, at Ctrl-C, and when Python itself is killed.

    Its leader is a shell that reads a pipe, which closes with Python whatever ends it. PR_SET_PDEATHSIG would
    reach the compiler's first process, not what that starts: gcc's cc1 would go on. Windows has no groups.
    """
    if os.name != "posix":
        yield None
        return
    with subprocess.Popen(
        ["/bin/sh", "-c", "read -r _; kill -KILL 0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    ) as leader:
        yield leader.pid


def load(
    source: str,
    name: str,
    using: Compiler,
    *,
    large: bool = False,
    entry: str = "run",
    extra: Sequence[str] = (),
) -> ctypes.CDLL:
    """Build a library, or take it from the cache, and load it; a damaged file is built anew."""
    wanted = f"{name}_{entry}"
    library = build(source, name, using, large=large, extra=extra)
    try:
        return _opened(library, wanted)
    except (OSError, AttributeError, ValueError):
        library = build(source, name, using, large=large, anew=True, extra=extra)
    try:
        return _opened(library, wanted)
    except (OSError, AttributeError, ValueError) as error:
        raise CompileError(f"{library} was built but cannot be loaded: {error}") from error


def _opened(library: Path, function: str) -> ctypes.CDLL:
    opened = ctypes.CDLL(str(library))
    getattr(opened, function)
    return opened
