"""Builds the extension modules and the sdist's archive; everything else about the package is in pyproject.toml."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import platform
import sys
import sysconfig
import tarfile
from glob import glob
from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.errors import CompileError, SetupError

sys.path.append(str(Path(__file__).resolve().parent / "tools"))
import gpu_build

MSVC = sys.platform == "win32"
# What is built for, which need not be what this runs on. A Python for both kinds of Mac builds for the one it is on.
MACHINE = sysconfig.get_platform().rpartition("-")[2]
if MACHINE == "universal2":
    MACHINE = platform.machine()
    os.environ.setdefault("ARCHFLAGS", f"-arch {MACHINE}")
X86_64 = MACHINE in ("x86_64", "amd64")

# One source file per instruction set, compiled with that set's flags and nothing else.
# (NEON needs no flags: every AArch64 has it.)
AVX2_FLAGS = ["-mavx2", "-mbmi", "-mbmi2", "-mlzcnt", "-mpopcnt"]
AVX512_FLAGS = [f"-mavx512{part}" for part in ("f", "bw", "vl", "dq", "vbmi", "vbmi2")]
SIMD_FLAGS = {
    "_avx2.cpp": ["/arch:AVX2"] if MSVC else AVX2_FLAGS,
    "_avx512.cpp": ["/arch:AVX512"] if MSVC else [*AVX2_FLAGS, *AVX512_FLAGS],
}
COMMON_FLAGS = ["/O2", "/utf-8"] if MSVC else ["-O3", "-fvisibility=hidden", "-fno-math-errno"]
if not MSVC and "CFLAGS" not in os.environ:
    COMMON_FLAGS += ["-g0"]  # Python's own flags have -g: a third of the compiler's time, and nothing of the code
if os.environ.get("CRAYON_WERROR"):
    COMMON_FLAGS += ["/W4", "/WX"] if MSVC else ["-Wall", "-Wextra", "-Werror"]

# For GCC and Clang. Such a module loads only in an interpreter that has their library: tools/sanitize.py makes one.
SANITIZE = [f"-fsanitize={names}" for names in [os.environ.get("CRAYON_SANITIZE")] if names]
if SANITIZE:
    # Python's own flags make overflow defined and asserts vanish; what is checked is the language.
    COMMON_FLAGS += ["-O1", "-g1", "-fno-omit-frame-pointer", "-fno-wrapv", "-UNDEBUG", "-D_GLIBCXX_ASSERTIONS"]
    COMMON_FLAGS += [*SANITIZE, "-fno-sanitize-recover=all"]


def compile_profiles(core: str, target: Path) -> None:
    """Compile the packaged profiles with the extension just built, so that the first opening only maps."""
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
    for source in sorted(Path("crayon_hf/profiles").glob("*.json")):
        cartridge = module.compile_tokenizer_json(source.read_bytes(), json.dumps({"name": source.stem}))
        (target / source.with_suffix(".dat").name).write_bytes(cartridge)


class GpuExtension(Extension):
    """crayon_hf._cuda or crayon_hf._hip. Where it is `optional`, the package is complete without it."""

    def __init__(self, runtime: gpu_build.Runtime, optional: bool):
        super().__init__(f"crayon_hf.{runtime.module}", [], optional=optional)
        self.runtime = runtime


def gpu_extensions() -> list[GpuExtension]:
    """What CRAYON_BUILD names; without it, what a compiler is found for. A build for a sanitizer is for the engine."""
    try:
        runtimes, insists = gpu_build.wanted(os.environ.get("CRAYON_BUILD"))
    except gpu_build.BuildError as error:
        raise SetupError(str(error)) from None
    if not insists:
        can_build = sys.platform.startswith("linux") and not SANITIZE
        runtimes = [runtime for runtime in runtimes if can_build and gpu_build.find_compiler(runtime)]
    return [GpuExtension(runtime, optional=not insists) for runtime in runtimes]


class BuildExt(build_ext):
    def run(self):
        for extension in self.extensions:
            if isinstance(extension, GpuExtension):
                self.need_compiler(extension.runtime)  # before anything else takes minutes
        for runtime in gpu_build.RUNTIMES:
            # Of an earlier build, whose kernels another _core must not meet.
            Path(self.get_ext_fullpath(f"crayon_hf.{runtime.module}")).unlink(missing_ok=True)
        super().run()
        root = Path("." if self.inplace else self.build_lib)
        compile_profiles(self.get_ext_fullpath("crayon_hf._core"), root / "crayon_hf" / "profiles")

    def need_compiler(self, runtime):
        try:
            return gpu_build.need_compiler(runtime)
        except gpu_build.BuildError as error:
            raise CompileError(str(error)) from None

    def build_gpu_extension(self, ext):
        compiler, out = self.need_compiler(ext.runtime), Path(self.get_ext_fullpath(ext.name))
        archs = gpu_build.architectures(ext.runtime, compiler)
        print(f"building {ext.name} for {', '.join(archs)} with {compiler}", flush=True)
        strict = bool(os.environ.get("CRAYON_WERROR"))
        try:
            gpu_build.build_module(ext.runtime, compiler, archs, out, Path(self.build_temp), strict=strict)
        except (gpu_build.BuildError, OSError) as error:
            raise CompileError(f"{ext.name} for {', '.join(archs)}: {error}") from None

    def build_extension(self, ext):
        if isinstance(ext, GpuExtension):
            self.build_gpu_extension(ext)
            return
        ext.define_macros.append(("CRAYON_VERSION", f'"{self.distribution.get_version()}"'))
        compile_all = self.compiler.compile

        def compile_by_flags(sources, *args, extra_postargs=(), **kwargs):
            """The files of each instruction set by a call of their own: all that every compiler class has in common."""
            objects, rest = [], list(sources)
            for suffix, flags in SIMD_FLAGS.items():
                own = [source for source in rest if source.endswith(suffix)]
                rest = [source for source in rest if source not in own]
                objects += compile_all(own, *args, extra_postargs=[*(extra_postargs or ()), *flags], **kwargs)
            return objects + compile_all(rest, *args, extra_postargs=list(extra_postargs or ()), **kwargs)

        self.compiler.compile = compile_by_flags
        try:
            super().build_extension(ext)
        finally:
            self.compiler.compile = compile_all


class Sdist(sdist):
    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        """With SOURCE_DATE_EPOCH the same files give the same bytes, whoever packs them, where and when."""
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


def sources() -> list[str]:
    found = sorted(glob("cpp/src/**/*.cpp", recursive=True))
    found += sorted(glob("cpp/gpu/*.cpp")) + sorted(glob("cpp/bindings/**/*.cpp", recursive=True))
    return [path for path in found if X86_64 or not path.endswith(tuple(SIMD_FLAGS))]


core = Pybind11Extension(
    "crayon_hf._core",
    sources(),
    include_dirs=["cpp", "cpp/include", "cpp/src"],
    depends=glob("cpp/**/*.h", recursive=True) + glob("cpp/**/*.inc", recursive=True),
    cxx_std=17,
    extra_compile_args=COMMON_FLAGS,
    extra_link_args=SANITIZE,
)

with ParallelCompile("CRAYON_BUILD_JOBS", default=0):
    setup(ext_modules=[core, *gpu_extensions()], cmdclass={"build_ext": BuildExt, "sdist": Sdist})
