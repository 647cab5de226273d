"""Builds the extension modules and the sdist's archive; everything else about the package is in pyproject.toml.

setuptools says how a file is compiled on this system, tools/native_build.py with which flags, and ninja compiles what
changed since the last time.
"""

from __future__ import annotations

import filecmp
import gzip
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from contextlib import contextmanager
from pathlib import Path

from pybind11.setup_helpers import Pybind11Extension
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.errors import CompileError, SetupError

sys.path.append(str(Path(__file__).resolve().parent / "tools"))
import gpu_build
import gpu_record
import native_build
from native_build import BuildError

MSVC = sys.platform == "win32"
# The machine to build for, which can differ from this one. A universal Python of macOS builds for its own machine.
MACHINE = sysconfig.get_platform().rpartition("-")[2]
if MACHINE == "universal2":
    MACHINE = platform.machine()
    os.environ.setdefault("ARCHFLAGS", f"-arch {MACHINE}")
X86_64 = MACHINE in ("x86_64", "amd64")
CPU_MINUTES, GPU_MINUTES = 4, 1  # of one core; roughly
COMPILE_FLAGS, LINK_FLAGS = native_build.flags(MSVC)


def is_older(made: Path, *parts: Path) -> bool:
    return not made.exists() or any(part.stat().st_mtime_ns >= made.stat().st_mtime_ns for part in parts)


def compile_profiles(core: str, target: Path) -> None:
    """Compile outdated packaged profiles with the extension just built, so that the first opening only maps."""
    pairs = [(source, target / f"{source.stem}.dat") for source in sorted(Path("crayon_hf/profiles").glob("*.json"))]
    outdated = [(source, profile) for source, profile in pairs if is_older(profile, Path(core), source)]
    if not outdated:
        return
    spec = importlib.util.spec_from_file_location("crayon_hf._core", core)
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        raise SetupError(
            f"{core}, which was built for {MACHINE}, does not load in this Python on {platform.machine()}, and the "
            f"packaged profiles are compiled with it: build on a machine of that kind ({error})"
        ) from error
    target.mkdir(parents=True, exist_ok=True)
    for source, profile in outdated:
        cartridge = module.compile_tokenizer_json(source.read_bytes(), json.dumps({"name": source.stem}))
        profile.write_bytes(cartridge)


def put(built: Path, target: Path) -> None:
    """Replace the file by a rename, if its contents differ: a process that has it mapped keeps the old one."""
    if target.exists() and filecmp.cmp(built, target, shallow=False):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    shutil.copyfile(built, partial)
    shutil.copymode(built, partial)
    partial.replace(target)


class GpuExtension(Extension):
    """crayon_hf._cuda or crayon_hf._hip. If it is `optional`, the build continues without it."""

    def __init__(self, runtime: gpu_build.Runtime, optional: bool):
        super().__init__(f"crayon_hf.{runtime.module}", [], optional=optional)
        self.runtime = runtime


def gpu_extensions(record: gpu_record.Record) -> list[GpuExtension]:
    """Return the engines that CRAYON_BUILD names; by default those for which the machine has a GPU and a compiler.

    A build for a sanitizer has none by default.
    """
    asked = os.environ.get("CRAYON_BUILD")
    try:
        runtimes, insists = gpu_build.wanted(asked)
    except BuildError as error:
        raise SetupError(str(error)) from None
    extensions = []
    for runtime in gpu_build.RUNTIMES:
        if insists:
            why = "" if runtime in runtimes else f"it was built with CRAYON_BUILD={asked}"
        elif not sys.platform.startswith("linux"):
            why = "it is built on Linux only"
        elif os.environ.get("CRAYON_SANITIZE"):
            why = "it was built for a sanitizer"
        else:
            why = gpu_build.why_not_tried(runtime)
        if why:
            record.left_out(runtime.device, why, f"CRAYON_BUILD={runtime.name}, on Linux")
        else:
            extensions.append(GpuExtension(runtime, optional=not insists))
    return extensions


def say_what_is_built(gpus: list[GpuExtension]) -> None:
    """Print it in one line. (pip shows it with -v.)"""
    minutes = max(1, round(CPU_MINUTES / (os.cpu_count() or 1)))
    parts = [f"the CPU engine ({minutes} minute{'s' if minutes > 1 else ''} the first time)"]
    parts += [f"{ext.name}, as an {ext.runtime.maker} GPU is here ({GPU_MINUTES} more)" for ext in gpus]
    hint = "; CRAYON_BUILD=cpu builds the CPU engine alone" if gpus else ""
    print(f"CRAYON_BUILD is not set: building {' and '.join(parts)}{hint}", flush=True)


class BuildExt(build_ext):
    def finalize_options(self):
        """Remove the environment's own include directory, which setuptools adds.

        It has no headers of ours, and commands that name another environment make ninja compile everything.
        """
        super().finalize_options()
        of_environment = str(Path(sys.exec_prefix, "include"))
        if sys.exec_prefix != sys.base_exec_prefix:
            self.include_dirs = [path for path in self.include_dirs if path != of_environment]

    def run(self):
        gpus = [extension for extension in self.extensions if isinstance(extension, GpuExtension)]
        for extension in gpus:
            self.need_compiler(extension.runtime)  # fail before minutes of compiling
        if not os.environ.get("CRAYON_BUILD"):
            say_what_is_built(gpus)
        self.built: dict[str, Path] = {}
        super().run()
        core = Path(self.get_ext_fullpath("crayon_hf._core"))
        changed = not core.exists() or not filecmp.cmp(self.built["crayon_hf._core"], core, shallow=False)
        for runtime in gpu_build.RUNTIMES:
            name = f"crayon_hf.{runtime.module}"
            if changed or name not in self.built:  # remove kernels that were not built with this _core
                Path(self.get_ext_fullpath(name)).unlink(missing_ok=True)
        for name, built in self.built.items():
            put(built, Path(self.get_ext_fullpath(name)))
        root = Path("." if self.inplace else self.build_lib)
        RECORD.write(root)
        compile_profiles(str(core), root / "crayon_hf" / "profiles")

    def copy_extensions_to_source(self):
        """Do nothing: `run` copies the modules."""

    def need_compiler(self, runtime):
        try:
            return gpu_build.need_compiler(runtime)
        except BuildError as error:
            raise CompileError(str(error)) from None

    @property
    def directory(self) -> Path:
        """The directory of the object files. (setuptools uses temporary ones for an editable installation.)"""
        abi = sysconfig.get_config_var("EXT_SUFFIX").lstrip(".").rpartition(".")[0]
        return Path(self.get_finalized_command("build").build_base, "engine", f"{abi}-{native_build.kind()}")

    def build_gpu_extension(self, ext):
        runtime, compiler = ext.runtime, self.need_compiler(ext.runtime)
        strict = bool(os.environ.get("CRAYON_WERROR"))
        what = ext.name
        try:
            archs = gpu_build.architectures(runtime, compiler)
            what = f"{ext.name} for {', '.join(archs)}"
            print(f"building {what} with {compiler}", flush=True)
            directory = self.directory / runtime.module
            self.built[ext.name] = gpu_build.build_module(runtime, compiler, archs, directory, strict=strict)
            RECORD.built(runtime.device, archs)
        except (BuildError, OSError) as error:
            if not ext.optional:
                raise CompileError(f"{what}: {error}") from None
            RECORD.failed(runtime.device, runtime.compiler, str(error))
            hint = f"CRAYON_BUILD={runtime.name} makes that an error, CRAYON_BUILD=cpu does not try"
            said = f"{ext.name} failed to build and is left out: the package works without it, on the CPU ({hint})"
            print(f"{error}\n{said}", flush=True)

    def build_extension(self, ext):
        if isinstance(ext, GpuExtension):
            self.build_gpu_extension(ext)
            return
        ninja = native_build.Ninja(self.directory, msvc=MSVC)
        include_dirs = [*ext.include_dirs, native_build.pybind11_headers()]
        known = {"VERSION": self.distribution.get_version(), "BUILD_ID": native_build.build_id()}
        versioned = [(f"CRAYON_{name}", f'"{value}"') for name, value in known.items()]

        def compile(unit: native_build.Unit, precompiles: bool) -> str:
            nonlocal prefix
            flags = [*ext.extra_compile_args, *unit.flags]
            macros = versioned if unit.source == native_build.VERSIONED else []
            with self.recorded() as command:
                (target,) = self.compiler.compile(
                    [unit.source], str(self.directory), macros, include_dirs, self.debug, extra_postargs=flags
                )
            uses = precompiles and native_build.can_precompile(command, MSVC)
            if uses and not prefix:
                prefix = ninja.precompile(command, unit.source, target, native_build.PRECOMPILED)
            built_by = command if MSVC else native_build.cached(command)
            ninja.compile(built_by, unit.source, target, unit.files, prefix if uses else "")
            return target

        # Each binding compiles longer than an engine file, so they start first. Files with less optimization are
        # linked last: if several files have a function, the linker takes the first.
        prefix = ""
        bindings = {unit: compile(unit, False) for unit in native_build.binding_units(MSVC)}
        engine = []
        for source in native_build.engine_sources(X86_64):
            flags = tuple(native_build.simd_flags(source, MSVC))
            engine.append(compile(native_build.Unit(source, (source,), flags), not flags))
        first = [target for unit, target in bindings.items() if not unit.flags]
        objects = [*first, *engine, *(target for target in bindings.values() if target not in first)]
        module = self.directory / Path(self.get_ext_filename(ext.name)).name
        with self.recorded() as command:
            self.compiler.link_shared_object(
                objects,
                str(module),
                libraries=self.get_libraries(ext),
                extra_postargs=ext.extra_link_args,
                export_symbols=self.get_export_symbols(ext),
                debug=self.debug,
                build_temp=str(self.directory),
                target_lang="c++",
            )
        ninja.make(command, objects, module)
        native_build.write_compile_commands(ninja.commands)
        try:
            ninja.run(call=getattr(self.compiler, self.runs))  # with the environment variables of its compilers
        except (BuildError, subprocess.CalledProcessError) as error:
            raise CompileError(str(error)) from None
        self.built[ext.name] = module

    @property
    def runs(self) -> str:
        """The method that setuptools' compilers run commands with."""
        return "call" if hasattr(self.compiler, "call") else "spawn"

    @contextmanager
    def recorded(self):
        """Yield a list of the words of the command that setuptools would run in this context. It is not run."""
        command = []
        self.compiler.force = True
        setattr(self.compiler, self.runs, lambda words, **_: command.extend(map(str, words)))
        try:
            yield command
        finally:
            delattr(self.compiler, self.runs)


class Sdist(sdist):
    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        """Make the same bytes of the same files everywhere, if SOURCE_DATE_EPOCH is set."""
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        if format != "gztar" or epoch is None:
            return super().make_archive(base_name, format, root_dir, base_dir, owner, group)

        def plain(entry):
            entry.mtime, entry.mode = int(epoch), 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            return entry

        path = Path(base_name + ".tar.gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            path.open("wb") as file,
            gzip.GzipFile("", "wb", 9, file, int(epoch)) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            archive.add(Path(root_dir or ".", base_dir), base_dir, filter=plain)  # a directory's entries are sorted
        return str(path)


core = Pybind11Extension(
    "crayon_hf._core",
    [*native_build.binding_sources(), *native_build.engine_sources(X86_64)],
    include_dirs=native_build.INCLUDE_DIRS,
    include_pybind11=False,  # native_build has a copy
    cxx_std=17,
    extra_compile_args=COMPILE_FLAGS,
    extra_link_args=LINK_FLAGS,
)

RECORD = gpu_record.Record()
setup(ext_modules=[core, *gpu_extensions(RECORD)], cmdclass={"build_ext": BuildExt, "sdist": Sdist})
