"""What is kept of compiled code: the user's alone, and only as it was built."""

import os
import stat

import pytest

from bondloop.engine.codegen.toolchain import (
    NOTE,
    build,
    build_program,
    compiler,
    intact,
    keep,
    load,
    private,
    trimmed,
)
from bondloop.errors import CompileError

ANSWER = 'int demo_run(void);\n__attribute__((visibility("default"))) int demo_run(void) { return %d; }\n'

pytestmark = [
    pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine"),
    pytest.mark.skipif(os.name != "posix", reason="owners and modes are those of POSIX"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("BONDLOOP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def answer(number):
    return load(ANSWER % number, "demo", compiler()).demo_run()


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_the_folder_is_the_users_alone(folder, umask):
    before = os.umask(umask)
    try:
        library = build(ANSWER % 1, "demo", compiler())
    finally:
        os.umask(before)
    assert mode(folder) == 0o700
    assert mode(library) & 0o022 == 0
    assert intact(library)


def test_a_folder_that_was_open_to_others_is_closed(folder):
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    assert answer(2) == 2
    assert mode(folder) == 0o700


def test_a_folder_of_somebody_else_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 12345)
    owner = tmp_path.stat().st_uid
    if owner == 0:  # the administrator's folders are trusted: take one that is not
        os.chown(tmp_path, 54321, -1)
    with pytest.raises(CompileError, match=r"belongs to user \d+.*BONDLOOP_CACHE"):
        private(tmp_path)


def other_library():
    """What a neighbour would put there: a good library that gives another answer."""
    return build(ANSWER % 666, "demo", compiler()).read_bytes()


@pytest.mark.usefixtures("folder")
def test_a_library_that_was_exchanged_is_not_loaded():
    library = build(ANSWER % 3, "demo", compiler())
    library.write_bytes(other_library())
    assert not intact(library)
    assert answer(3) == 3
    assert intact(library)


def test_a_link_and_a_file_that_others_can_write_are_not_loaded(folder):
    library = build(ANSWER % 4, "demo", compiler())
    library.chmod(0o722)
    assert not intact(library)
    assert answer(4) == 4
    elsewhere = folder.parent / "elsewhere.so"
    library.rename(elsewhere)
    library.symlink_to(elsewhere)
    assert not intact(library)
    assert answer(4) == 4
    assert not library.is_symlink()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("damage", ["no note", "empty note", "another note", "binary note", "a folder"])
def test_without_its_note_it_is_built_anew(damage):
    library = build(ANSWER % 5, "demo", compiler())
    note = library.with_name(library.name + ".sha256")
    assert len(note.read_text()) == 64
    note.unlink()
    if damage == "a folder":
        note.mkdir()
    elif damage != "no note":
        note.write_bytes({"empty note": b"", "another note": b"0" * 64, "binary note": b"\xff" * 64}[damage])
    assert not intact(library)
    if damage != "a folder":  # which nothing can be moved onto
        assert answer(5) == 5
        assert intact(library)


def test_keep_notes_what_it_moves(tmp_path):
    built = tmp_path / "built"
    built.write_bytes(b"content")
    keep(built, tmp_path / "file")
    assert intact(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"contenu")
    assert not intact(tmp_path / "file")
    assert not intact(tmp_path / "none")


@pytest.mark.usefixtures("folder")
def test_programs_and_their_objects_too():
    files = {"main.c": "int main(void) { return 7; }\n"}
    program = build_program(files, "seven", compiler())
    assert os.waitstatus_to_exitcode(os.system(str(program))) == 7
    [part] = program.parent.glob("*.o")
    part.write_bytes(b"not an object")
    program.write_text("#!/bin/sh\nexit 66\n")
    again = build_program(files, "seven", compiler())
    assert again == program
    assert os.waitstatus_to_exitcode(os.system(str(again))) == 7


def test_the_folder_does_not_grow_for_ever(tmp_path):
    """What was used longest ago goes first, with its note; what is in use stays."""
    for i in range(10):
        file = tmp_path / f"tick-{i}.so"
        file.write_bytes(bytes(1000))
        file.with_name(file.name + NOTE).write_text("x")
        os.utime(file, (i, i))
    (tmp_path / "build-abc").mkdir()
    assert trimmed(tmp_path, most=10_000) == 0
    assert trimmed(tmp_path, most=9_000) == 6
    left = sorted(p.name for p in tmp_path.iterdir())
    expected = [f"tick-{i}.so{end}" for i in (6, 7, 8, 9) for end in ("", NOTE)]
    assert left == sorted([*expected, "build-abc"])


@pytest.mark.usefixtures("folder")
def test_what_is_taken_is_used_now():
    library = build(ANSWER % 5, "demo", compiler())
    os.utime(library, (1, 1))
    assert answer(5) == 5
    assert library.stat().st_atime > 1e9
    assert library.stat().st_mtime == 1
