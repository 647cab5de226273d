"""The simulator of a GPU itself: what it finds wrong, and what its lanes get from each other."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import gpu_simulator
import pytest
from native_build import INCLUDES, ROOT, Ninja, load_extension

from crayon_hf import DeviceLostError, Tokenizer, _core

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not sys.platform.startswith("linux") or shutil.which(gpu_simulator.compiler()[0]) is None,
        reason="the simulator is for Linux with a C++ compiler",
    ),
]
SOURCE = "tests/gpu/simulator/lanes.cpp"
ANYTHING = 0xA5A5A5A5


@pytest.fixture(scope="module")
def programs() -> dict[str, Path]:
    ninja = Ninja(gpu_simulator.DIRECTORY)
    runner = gpu_simulator.shared_objects(ninja, gpu_simulator.RUNNER)
    made = {}
    for runtime, flags in gpu_simulator.RUNTIMES.items():
        target = gpu_simulator.DIRECTORY / f"lanes_of_{runtime}"
        built = gpu_simulator.built_object(ninja, SOURCE, target.with_suffix(".o"), [*INCLUDES, *flags])
        ninja.make([*gpu_simulator.compiler(), built, *runner, "-o", str(target)], [built, *runner], target)
        made[runtime] = target
    ninja.run()
    return made


def run(programs: dict[str, Path], name: str, device: str, threads: int, seed: int = 0) -> tuple[str, list[int]]:
    """What was wrong, and what the lanes made."""
    runtime, warp = device.split("-")
    words = [programs[runtime], name, warp, str(threads), str(seed)]
    ran = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True, timeout=120)
    return ran.stderr, list(map(int, ran.stdout.split()))


DEVICES = ["cuda-32", "hip-32", "hip-64"]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("one_leaves", r"lane 5 left while others wait for the block: lane \d+ in .*one_leaves|which others have left"),
        ("one_leaves_late", "lanes wait for the block, which others have left: lane 5|lane .* left while others wait"),
        (
            "two_places",
            "lanes wait for the block at different places: lane 0 in .*two_places.*; lane 1 in .*two_places",
        ),
    ],
)
def test_what_is_wrong(programs: dict[str, Path], name: str, message: str, device: str) -> None:
    for seed in range(5):
        assert re.match(message, run(programs, name, device, 128, seed)[0])


def test_lanes_without_end(programs: dict[str, Path]) -> None:
    said, _ = run(programs, "without_end", "cuda-32", 64)
    assert said.startswith("lanes go on without end")


def test_lanes_that_others_wait_for_in_vain(programs: dict[str, Path]) -> None:
    said, _ = run(programs, "half_exchanges", "cuda-32", 64)
    assert re.match("lanes wait for each other: lane 0 in .*shuffle_from.*; lane 8 in .*half_exchanges", said)
    said, _ = run(programs, "not_itself", "cuda-32", 64)
    assert "lane 0 is not among those that it names in" in said or "lane 32 is" in said


@pytest.mark.parametrize("device", ["hip-32", "hip-64"])
def test_inactive_lanes_give_zero(programs: dict[str, Path], device: str) -> None:
    said, made = run(programs, "half_exchanges", device, 64)
    assert (said, made) == ("", [0] * 64)


@pytest.mark.parametrize("device", DEVICES)
def test_lanes_that_left_give_nothing(programs: dict[str, Path], device: str) -> None:
    said, made = run(programs, "half_has_left", device, 64)
    assert said == ""
    nothing = ANYTHING if device == "cuda-32" else 0
    for lane in range(0, 64, 16):
        assert made[lane : lane + 8] == [100 + lane + 3, nothing] * 4


@pytest.mark.parametrize("device", DEVICES)
def test_what_lanes_get_from_each_other(programs: dict[str, Path], device: str) -> None:
    for seed in range(6):
        said, made = run(programs, "shuffles", device, 96, seed)
        assert said == ""
        for lane, value in enumerate(made):
            first = lane // 8 * 8
            up, down = max(lane - 1, first) if lane > first else lane, min(lane + 1, first + 7)
            assert value == up | down << 8 | (lane ^ 4) << 16 | (first + 1) << 24
        assert run(programs, "least", device, 96, seed) == ("", [7] * 96)
        _, made = run(programs, "groups_apart", device, 96, seed)
        expected = []
        for group in range(6):
            values = list(range(16 * group, 16 * group + 16))
            for i in range(group + 1):
                values = [value + values[i] for value in values]
            expected += values
        assert made == expected
    said, made = run(programs, "ballots", device, 64)
    bits = [lane for lane in range(64) if lane % 3 == 0]
    if device == "cuda-32":
        warps = [sum(1 << lane - first for lane in bits if first <= lane < first + 32) for first in (0, 32)]
        assert made == [warps[0]] * 32 + [warps[1]] * 32
    else:
        high = sum(1 << lane - 32 for lane in bits if lane >= 32) if device == "hip-64" else 0
        assert made == [high] * 64


def test_orders_are_those_of_seeds(programs: dict[str, Path]) -> None:
    orders = [tuple(run(programs, "each_writes", "cuda-32", 64, seed)[1]) for seed in range(20)]
    assert all(sorted(order) == list(range(64)) for order in orders)
    assert len(set(orders)) > 5
    assert tuple(range(64)) in orders
    assert tuple(reversed(range(64))) in orders
    again = [tuple(run(programs, "each_writes", "cuda-32", 64, seed)[1]) for seed in range(20)]
    assert again == orders


@pytest.mark.slow
def test_a_device_says_which_kernel_is_wrong(llama3_like: Path, tmp_path: Path) -> None:
    patched = tmp_path / "cpp"
    shutil.copytree(ROOT / "cpp" / "gpu", patched / "gpu")
    team = patched / "gpu" / "team.h"
    right, wrong = "if (threadIdx.x == 0) f();\n        __syncthreads();", "if (threadIdx.x == 0) f(), __syncthreads();"
    text = team.read_text()
    assert text.count(right) == 1
    team.write_text(text.replace(right, wrong))
    simulator = load_extension(gpu_simulator.build_patched(tmp_path, patched, "cuda"))
    engine = Tokenizer.from_file(llama3_like).__getattribute__("_engine")
    encoder = _core.DeviceEncoder(engine, simulator.open(1 << 28))
    with pytest.raises(DeviceLostError, match=r"kernel join_digits, block 0: .*(left|wait)"):
        encoder.encode_ragged(["some text"])


def test_what_is_no_device(tmp_path: Path) -> None:
    simulator = load_extension(gpu_simulator.build())
    for how, message in [
        ({"runtime": "metal"}, "runtime is metal, expected cuda or hip"),
        ({"warp": 64}, "a warp has 32 lanes"),
        ({"runtime": "hip", "warp": 16}, "not 16"),
        ({"blocks": 0}, "blocks is 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            simulator.open(1 << 20, **how)
