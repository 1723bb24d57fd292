"""The C compilers of this machine: generated C and the executive must please all of them."""

import shutil

from bondloop.engine.codegen.toolchain import Compiler, zig

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wstrict-prototypes", "-Werror")

COMPILERS: dict[str, Compiler] = {
    name: Compiler((path,), path) for name in ("gcc", "clang") if (path := shutil.which(name))
}
if (found := zig()) is not None:  # a clang, from the package ziglang
    COMPILERS["zig"] = found
