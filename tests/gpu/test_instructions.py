"""The counter of GPU instructions (tools/gpu_instructions.py): its costs of the kernels obey simple laws."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import ModuleType

import gpu_counter
import gpu_instructions
import pytest
from native_build import load_extension

from tests.support.gpu_devices import engine_of

needs_clang = pytest.mark.skipif(shutil.which("clang++") is None, reason="clang++ is not found")


@pytest.fixture(scope="module")
def counter() -> ModuleType:
    return load_extension(gpu_counter.build())


@pytest.mark.slow
@needs_clang
def test_kernels(counter: ModuleType, llama3_like: Path, training_text: list[str]) -> None:
    engine = engine_of(llama3_like)
    text = "".join(training_text).encode()[:100_000].decode(errors="ignore").encode()
    costs = {warp: gpu_instructions.measure(counter, engine, text, warp) for warp in (32, 64)}  # and ids are right
    ran = {name for name, cost in costs[32].instructions.items() if cost > 0}
    assert {"describe_chunks", "boundaries_llama3", "list_pretokens", "look_up_words", "count_ids", "write_ids"} <= ran
    assert "boundaries_gpt2" not in ran
    for name in ran:
        # With twice as many lanes in a warp, costs are at least half, and not higher.
        narrow, wide = costs[32].instructions[name], costs[64].instructions[name]
        assert narrow / 2 <= wide <= narrow, name
        assert 0 < costs[64].lanes[name] <= 1
        # The work of lanes is the same.
        assert costs[64].lanes[name] * 64 * wide == pytest.approx(costs[32].lanes[name] * 32 * narrow)
    again = gpu_instructions.measure(counter, engine, text)
    assert again.instructions == costs[32].instructions
    # A lane reads a chunk of 64 bytes, eight at a time, and as many flags; a warp has 32 chunks.
    assert (64 + 8) / (64 * 32) < again.instructions["describe_chunks"] < 10
