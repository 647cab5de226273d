"""The description of the C++ build: sources, include directories, flags; and ninja, which runs the compilers.

setup.py, tools/gpu_build.py, tools/portable.py, the fuzz targets and the check of the scanners use it. Relative paths
are relative to the repository, where every command runs.

- CRAYON_DEBUG=1: assertions, debug information and hardly any optimization
- CRAYON_SANITIZE=NAMES: the sanitizers of GCC and Clang (tools/sanitize.py)
- CRAYON_WERROR=1: warnings are errors, except in a debug build
- CRAYON_BUILD_JOBS=N: compilers at a time; by default ninja decides

Each of the first three has its own build directory.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
INCLUDE_DIRS = ["cpp", "cpp/include", "cpp/src"]
INCLUDES = [f"-I{path}" for path in INCLUDE_DIRS]
CACHED_BY = (
    "cpp/src/**/*",
    "cpp/include/**/*",
    "crayon_hf/cartridges/*.py",
    "crayon_hf/formats/*.py",
    "crayon_hf/tokenizer/*.py",
    "crayon_hf/tokenizer_json/*.py",
    "crayon_hf/tokenizer_state/*.py",
    "crayon_hf/transformers/*.py",
    "crayon_hf/util/added_token.py",
    "crayon_hf/util/byte_level.py",
    "crayon_hf/util/reference.py",
)
"""The files that decide the contents of the cache of compiled vocabularies. They compile a vocabulary, read and
recognise formats, compare a cartridge with its tokenizer.json, and read snapshots of transformers."""
VERSIONED = "cpp/bindings/version.cpp"
"""The only source that uses CRAYON_VERSION and CRAYON_BUILD_ID."""
HOT = (
    *("convert.", "inputs.", "components/bind_normalize", "files/", "engine/bind_budgets", "engine/bind_columns"),
    *("engine/bind_decode", "engine/bind_enc", "engine/bind_engine", "engine/bind_quick", "engine/bind_tokens"),
    *("engine/bind_model_vocabulary", "engine/py_encoding"),
)
"""Bindings that run for each text, token or block, by prefixes of their paths. They are optimized as the engine is."""
UNIT_BYTES = 45_000  # of sources: larger units are fewer, but a changed file recompiles more
PRECOMPILED = "cpp/src/support/precompiled.h"
"""The headers that most files of the engine include."""
WARNINGS = ["-Wall", "-Wextra", "-Werror"]

# Each instruction set has its own source files and flags.
# (NEON needs no flags: every AArch64 has it.)
_AVX2 = ["-mavx2", "-mbmi", "-mbmi2", "-mlzcnt", "-mpopcnt"]
_AVX512 = [f"-mavx512{part}" for part in ("f", "bw", "vl", "dq", "vbmi", "vbmi2")]
_SIMD = {"_avx2.cpp": _AVX2, "_avx512.cpp": [*_AVX2, *_AVX512]}
_SIMD_MSVC = {"_avx2.cpp": ["/arch:AVX2"], "_avx512.cpp": ["/arch:AVX512"]}


class BuildError(Exception):
    """A build failed or is impossible; the message says why."""


def simd_flags(source: str, msvc: bool = False) -> list[str]:
    """Return the flags of a source's instruction set; none for portable sources."""
    known = _SIMD_MSVC if msvc else _SIMD
    return next((flags for suffix, flags in known.items() if source.endswith(suffix)), [])


def _sources(root: Path, *patterns: str) -> list[str]:
    return [path.relative_to(root).as_posix() for pattern in patterns for path in sorted(root.glob(pattern))]


def engine_sources(x86_64: bool, root: Path = ROOT) -> list[str]:
    """Return the sources of the engine and of its GPU device on the CPU, which do not include Python."""
    found = _sources(root, "cpp/src/**/*.cpp", "cpp/gpu/*.cpp")
    return [path for path in found if x86_64 or not simd_flags(path)]


@dataclass(frozen=True)
class Unit:
    """Files of the bindings that are compiled together."""

    source: str  # includes each of them
    files: tuple[str, ...]
    flags: tuple[str, ...]  # besides those of every file


def binding_sources() -> list[str]:
    return _sources(ROOT, "cpp/bindings/**/*.cpp")


def binding_units(msvc: bool = False) -> list[Unit]:
    """Return the files of the bindings in units of at most `UNIT_BYTES`.

    Each unit compiles pybind11's own functions again, which takes longer than the functions of a small file. Hot files
    are in units of their own.
    """
    files = [path for path in binding_sources() if path != VERSIONED]
    hot = [path for path in files if _is_hot(path)]
    cold = [path for path in files if path not in hot]
    less = ("-O1",) if not msvc and not is_debug() and not os.environ.get("CRAYON_SANITIZE") else ()
    units = [Unit(VERSIONED, (VERSIONED,), ())]
    for name, members, flags in (("hot", hot, ()), ("cold", cold, less)):
        for number, part in enumerate(_parts(members)):
            text = "".join(f'#include "{path.removeprefix("cpp/")}"\n' for path in part)
            source = f"build/bindings/{name}_{number}.cpp"
            _write(ROOT / source, text)
            units.append(Unit(source, tuple(part), flags))
    return units


def _is_hot(path: str) -> bool:
    return path.removeprefix("cpp/bindings/").startswith(HOT)


def _parts(paths: Sequence[str]) -> Iterator[list[str]]:
    part: list[str] = []
    size = 0
    for path in paths:
        size += (own := (ROOT / path).stat().st_size)
        if part and size > UNIT_BYTES:
            yield part
            part, size = [], own
        part.append(path)
    if part:
        yield part


def build_id() -> str:
    """Return a digest of all code that a cached vocabulary depends on. Equal builds share a cache.

    BuildError for a pattern of `CACHED_BY` without a file.
    """
    found = {pattern: [path for path in ROOT.glob(pattern) if path.is_file()] for pattern in CACHED_BY}
    if missing := [pattern for pattern, paths in found.items() if not paths]:
        raise BuildError(f"no file matches {', '.join(missing)}: correct CACHED_BY in tools/native_build.py")
    digest = hashlib.sha256()
    for path in sorted({path for paths in found.values() for path in paths}):
        digest.update(f"{path.relative_to(ROOT).as_posix()} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:32]


def is_debug() -> bool:
    return bool(os.environ.get("CRAYON_DEBUG"))


def is_strict() -> bool:
    """Whether warnings are errors. Not in a debug build: GCC's own intrinsics warn there."""
    return bool(os.environ.get("CRAYON_WERROR")) and not is_debug()


def kind() -> str:
    """Return the name of the build directory for the environment's settings."""
    names = ["debug" if is_debug() else "release", os.environ.get("CRAYON_SANITIZE", "")]
    return "-".join(filter(None, [*names, "strict" if is_strict() else ""])).replace(",", "-")


def flags(msvc: bool) -> tuple[list[str], list[str]]:
    """Return the flags for compiling and for linking. They follow the flags that this Python was built with."""
    debug, strict = is_debug(), is_strict()
    if msvc:
        compiling = ["/utf-8", *(["/Od", "/Z7", "/UNDEBUG"] if debug else ["/O2"]), *(["/W4", "/WX"] if strict else [])]
        return compiling, ["/DEBUG"] if debug else []
    compiling = ["-O3", "-fvisibility=hidden", "-fno-math-errno"]
    if "CFLAGS" not in os.environ:
        compiling += ["-g0"]  # Python's flags have -g, which takes a third of the compiler's time
    if debug:
        compiling += ["-Og", "-g"]
    if strict:
        compiling += WARNINGS
    sanitize = [f"-fsanitize={names}" for names in [os.environ.get("CRAYON_SANITIZE")] if names]
    if sanitize:
        # Python's flags have -fwrapv, which defines overflow and so hides it from the sanitizer.
        compiling += ["-O1", "-g1", "-fno-omit-frame-pointer", "-fno-wrapv", *sanitize, "-fno-sanitize-recover=all"]
    if debug or sanitize:
        compiling += ["-UNDEBUG", "-D_GLIBCXX_ASSERTIONS"]  # Python's flags have -DNDEBUG
    return compiling, sanitize


def pybind11_headers() -> str:
    """Return a copy of pybind11's headers.

    pip gives each isolated build a new directory with pybind11. Commands that name another directory would make ninja
    compile everything again.
    """
    import pybind11

    copy = ROOT / "build" / f"pybind11-{pybind11.__version__}"
    if not copy.exists():
        partial = copy.with_name(f"{copy.name}.{os.getpid()}")
        shutil.copytree(pybind11.get_include(), partial)
        try:
            partial.rename(copy)
        except OSError:  # another build was faster
            shutil.rmtree(partial)
    return copy.relative_to(ROOT).as_posix()


def cached(command: Sequence[str]) -> list[str]:
    """Prefix a command with ccache if it is installed. (CCACHE_DISABLE=1 turns it off.)"""
    ccache, compiler = shutil.which("ccache"), shutil.which(command[0])
    if not ccache or not compiler or Path(compiler).resolve().stem in ("ccache", "sccache"):
        return list(command)
    return [ccache, *command]


def can_precompile(command: Sequence[str], msvc: bool) -> bool:
    """Whether a command can use precompiled headers.

    It cannot with MSVC, nor for two architectures at once, which Clang refuses, nor with ccache, which needs extra
    settings for precompiled headers.
    """
    return not msvc and command.count("-arch") < 2 and cached(command) == list(command)


class Ninja:
    """A directory with ninja's targets. A target is rebuilt when its command, its source or an included header
    changes."""

    def __init__(self, directory: Path, msvc: bool = False):
        self.directory = directory
        self.commands: list[dict[str, Any]] = []
        self._msvc = msvc
        deps = "  deps = msvc" if msvc else "  deps = gcc\n  depfile = $out.d"
        self._text = f"builddir = {_escaped(str(directory))}\n"
        self._text += f"rule compile\n  command = $run\n  description = $in\n{deps}\n"
        self._text += "rule make\n  command = $run\n  description = $out\n"

    def compile(
        self, command: Sequence[str], source: str, target: Path | str, files: Sequence[str] = (), prefix: str = ""
    ) -> str:
        """Add a target, an object file that `command` compiles. Returns its path.

        Args:
            command: The command, which names source and target, too.
            source: The source.
            target: The object file.
            files: The files that the source includes, if it has only includes.
            prefix: The result of `precompile` for the same command.
        """
        for file in files or [source]:
            arguments = [file if word == source else word for word in command]
            entry = {"directory": str(ROOT), "file": file, "output": str(target), "arguments": arguments}
            self.commands.append(entry)
        deps = ["/showIncludes"] if self._msvc else ["-MD", "-MF", f"{target}.d"]
        first = ["-include", prefix, "-Winvalid-pch"] if prefix else []
        needed = [f"{prefix}.gch"] if prefix else []
        return self._edge("compile", [*command, *first, *deps], [source], target, needed)

    def precompile(self, command: Sequence[str], source: str, target: str, header: str) -> str:
        """Add a precompiled header. Returns the argument for ``-include`` in commands with the same flags.

        `header` only includes other headers. It is compiled with the command that makes `target` from `source`. GCC and
        Clang look for the precompiled form beside the returned file, and read that file if they cannot use it.
        """
        prefix = str(self.directory / Path(header).name)
        _write(ROOT / prefix, f'#include "{header.removeprefix("cpp/src/")}"\n')
        made = f"{prefix}.gch"
        words = [{source: header, target: made}.get(word, word) for word in command]
        at = words.index("-c")
        words[at:at] = ["-x", "c++-header"]
        self._edge("compile", [*words, "-MD", "-MF", f"{made}.d"], [header], made)
        return prefix

    def make(self, command: Sequence[str] | str, inputs: Sequence[str], target: Path | str) -> str:
        """Add a target that is made from listed inputs. A str command is run by the shell."""
        return self._edge("make", command, inputs, target)

    def _edge(
        self,
        rule: str,
        command: Sequence[str] | str,
        inputs: Sequence[str],
        target: Path | str,
        needed: Sequence[str] = (),
    ) -> str:
        if not isinstance(command, str):
            command = subprocess.list2cmdline(command) if os.name == "nt" else shlex.join(command)
        files = " ".join(map(_escaped, inputs)) + "".join(f" | {_escaped(path)}" for path in needed)
        self._text += f"build {_escaped(str(target))}: {rule} {files}\n  run = {command.replace('$', '$$')}\n"
        return str(target)

    def run(self, jobs: str | int | None = None, call: Callable[[list[str]], Any] | None = None) -> None:
        """Build all targets. `call` runs ninja instead of this method, which raises BuildError with the compiler's
        output."""
        directory = ROOT / self.directory
        directory.mkdir(parents=True, exist_ok=True)
        command = [_ninja(), "-f", str(self.directory / "build.ninja")]
        if jobs := jobs or os.environ.get("CRAYON_BUILD_JOBS"):
            command += ["-j", str(jobs)]
        with _alone(directory):
            (directory / "build.ninja").write_text(self._text, encoding="utf-8")
            if call is not None:
                call(command)
                return
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise BuildError(done.stdout)


def _write(path: Path, text: str) -> None:
    """Write a file unless it has this text already: ninja compares modification times."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_compile_commands(commands: list[dict[str, Any]]) -> None:
    """Write compile_commands.json for clangd and clang-tidy."""
    _write(ROOT / "compile_commands.json", json.dumps(commands, indent=1))


def load_extension(path: Path) -> ModuleType:
    """Load an extension module from outside the package."""
    # pybind11 returns the same module for the same name, so each build gets its own name.
    name = f"{str(path.parent).replace('.', '_')}.{path.name.partition('.')[0]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _escaped(path: str) -> str:
    for character in "$ :":
        path = path.replace(character, f"${character}")
    return path


def _ninja() -> str:
    try:
        from ninja import BIN_DIR
    except ImportError:
        found = shutil.which("ninja")
    else:
        found = str(Path(BIN_DIR) / "ninja")
    if not found:
        raise BuildError("ninja, which runs the compilers, is not found: pip install ninja")
    return found


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Hold a lock on a directory, so that tests that run in parallel start one ninja at a time there."""
    with (directory / ".lock").open("w") as lock:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
