"""The engine's fuzz targets: every kept input, and some thousand new ones, under Clang's sanitizers.

The inputs that a run tries are a function of its seed and of the code, so it is the same run every time; ``run.py`` is
for long ones. Without Clang this is skipped, unless CRAYON_FUZZ_CXX names a compiler. CRAYON_FUZZ_BUILD names a build
directory of ``run.py`` to use again; without it the engine is built in build/fuzz/quick, where what did not change
stays.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fuzz import run
from tests.fuzz.build import build, compiler
from tests.fuzz.targets import HERE, TARGETS, named

ENGINE = [target for target in TARGETS if target.kind == "engine"]
RUNS = {
    "cartridge": 1000,
    "cartridge_v2": 5000,
    "columns": 2000,
    "compiler": 200,
    "decode": 1000,
    "encode": 300,
    "kernels": 60,
    "lies": 150,
    "parsers": 1500,
    "words": 60,
}
"""Executions of each target beside the kept inputs."""


@pytest.mark.slow
def test_short_run(tmp_path: Path) -> None:
    """One test, since all targets share a build."""
    if compiler() is None:
        assert "CRAYON_FUZZ_CXX" not in os.environ, "CRAYON_FUZZ_CXX names no Clang with libFuzzer"
        pytest.skip("Clang with libFuzzer is not installed")
    assert sorted(RUNS) == sorted(target.name for target in ENGINE)
    kept = os.environ.get("CRAYON_FUZZ_BUILD")
    programs = build(list(RUNS), Path(kept or run.BUILD_DIR / "quick"), os.cpu_count() or 1, is_quick=kept is None)
    directory = tmp_path / "runs"
    results = [run.fuzz(t, run.command_of(t, programs), directory, HERE / "crashes", runs=RUNS[t.name]) for t in ENGINE]
    print(run.show(results))
    failures = [f"{r.title}: {r.failure}\n{run.tail(directory, r.title)}" for r in results if r.failure]
    shutil.rmtree(tmp_path)
    assert not failures, "\n".join(failures)
    for target, result in zip(ENGINE, results, strict=True):
        assert result.executions >= RUNS[target.name] + len(target.inputs()), result.title


def test_every_target_has_a_source_and_seeds() -> None:
    """And nothing is kept for a target that is not there."""
    assert sorted(path.stem for path in (HERE / "engine").glob("*.cpp")) == sorted([*RUNS, "support"])
    for target in ENGINE:
        assert any(target.corpus.iterdir()), target.title
    for folder in ("corpus", "crashes"):
        kept = {path.name for path in (HERE / folder / "engine").glob("*")}
        assert kept <= {target.name for target in ENGINE}


def test_seeds_are_small() -> None:
    kept = [path for target in TARGETS for path in target.inputs()]
    assert sum(path.stat().st_size for path in kept) < 400_000


def test_names() -> None:
    assert [t.title for t in named(["encode", "engine/decode"])][-1] == "engine/decode"
    assert named(["engine"]) == ENGINE
    with pytest.raises(ValueError, match="there is no target nothing"):
        named(["nothing"])


def test_a_log_is_read() -> None:
    log = "#2\tINITED cov: 7 ft: 9\n#300\tDONE   cov: 12 ft: 30 corp: 5/9b\nstat::number_of_executed_units: 300\n"
    result = run.read_log(log)
    assert (result.executions, result.coverage) == (300, 12)
    crashed = run.read_log("#2\tINITED cov: 7 ft: 9\n#128\tpulse  cov: 8 ft: 9\n==1==ERROR: AddressSanitizer\n")
    assert (crashed.executions, crashed.coverage) == (128, 8)


@pytest.mark.slow
def test_a_fault_is_found_made_smaller_and_kept(tmp_path: Path) -> None:
    """Of a program that cannot stand a certain byte."""
    cxx = compiler()
    if cxx is None:
        pytest.skip("Clang with libFuzzer is not installed")
    source = tmp_path / "faulty.cpp"
    source.write_text(
        "#include <cstdlib>\n#include <cstdint>\n#include <cstddef>\n"
        'extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {\n'
        "for (size_t i = 0; i < size; ++i) if (data[i] == 'x') std::abort();\nreturn 0; }\n"
    )
    program = tmp_path / "faulty"
    subprocess.run([cxx, "-O1", "-fsanitize=fuzzer", str(source), "-o", str(program)], check=True)
    result = run.fuzz(ENGINE[0], [str(program)], tmp_path / "run", tmp_path / "crashes", runs=200_000)
    assert (result.crashes, bool(result.failure)) == (1, True)
    assert [path.read_bytes() for path in (tmp_path / "crashes" / ENGINE[0].title).iterdir()] == [b"x"]
