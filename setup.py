"""Builds the extension modules; everything else about the package is in pyproject.toml."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import sys
from glob import glob
from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension
from setuptools import setup
from setuptools.command.build_ext import build_ext

MSVC = sys.platform == "win32"
X86_64 = platform.machine().lower() in ("x86_64", "amd64")

# One source file per instruction set, compiled with that set's flags and nothing else.
# (NEON needs no flags: every AArch64 has it.)
AVX2_FLAGS = ["-mavx2", "-mbmi", "-mbmi2", "-mlzcnt", "-mpopcnt"]
AVX512_FLAGS = [f"-mavx512{part}" for part in ("f", "bw", "vl", "dq", "vbmi", "vbmi2")]
SIMD_FLAGS = {
    "_avx2.cpp": ["/arch:AVX2"] if MSVC else AVX2_FLAGS,
    "_avx512.cpp": ["/arch:AVX512"] if MSVC else [*AVX2_FLAGS, *AVX512_FLAGS],
}
COMMON_FLAGS = ["/O2", "/utf-8"] if MSVC else ["-O3", "-fvisibility=hidden", "-fno-math-errno"]
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
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    target.mkdir(parents=True, exist_ok=True)
    for source in sorted(Path("crayon_hf/profiles").glob("*.json")):
        cartridge = module.compile_tokenizer_json(source.read_bytes(), json.dumps({"name": source.stem}))
        (target / source.with_suffix(".dat").name).write_bytes(cartridge)


class BuildExt(build_ext):
    def run(self):
        super().run()
        root = Path("." if self.inplace else self.build_lib)
        compile_profiles(self.get_ext_fullpath("crayon_hf._core"), root / "crayon_hf" / "profiles")

    def build_extension(self, ext):
        ext.define_macros.append(("CRAYON_VERSION", f'"{self.distribution.get_version()}"'))
        compiler = self.compiler
        original = compiler._compile if not MSVC else None

        def compile_one(obj, src, ext_name, cc_args, extra_postargs, pp_opts):
            extra = [flag for suffix, flags in SIMD_FLAGS.items() if src.endswith(suffix) for flag in flags]
            return original(obj, src, ext_name, cc_args, [*extra_postargs, *extra], pp_opts)

        if original is not None:
            compiler._compile = compile_one
        try:
            super().build_extension(ext)
        finally:
            if original is not None:
                compiler._compile = original


def sources() -> list[str]:
    found = sorted(glob("cpp/src/**/*.cpp", recursive=True)) + sorted(glob("cpp/bindings/*.cpp"))
    return [path for path in found if X86_64 or not path.endswith(tuple(SIMD_FLAGS))]


core = Pybind11Extension(
    "crayon_hf._core",
    sources(),
    include_dirs=["cpp/include", "cpp/src"],
    depends=glob("cpp/**/*.h", recursive=True) + glob("cpp/**/*.inc", recursive=True),
    cxx_std=17,
    extra_compile_args=COMMON_FLAGS,
    extra_link_args=SANITIZE,
)

with ParallelCompile("CRAYON_BUILD_JOBS", default=0):
    setup(ext_modules=[core], cmdclass={"build_ext": BuildExt})
