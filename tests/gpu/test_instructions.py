"""The counter of a GPU's instructions (tools/gpu_instructions.py): what teams cost, by hand, and what kernels do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import gpu_counter
import gpu_instructions
import gpu_traffic
import llvm_instructions
import pytest
from native_build import INCLUDES, ROOT, BuildError, Ninja, load_extension

from crayon_hf import Tokenizer, _core

needs_clang = pytest.mark.skipif(shutil.which("clang++") is None, reason="clang++ is not found")
SOURCE = "tests/gpu/counter/teams.cpp"


@pytest.fixture(scope="module")
def teams() -> Path:
    directory = gpu_counter.DIRECTORY / "teams"
    ninja = Ninja(directory)
    flags = ["-O1", f"-I{gpu_counter.write_headers(directory / 'headers')}", *INCLUDES]
    objects = [
        gpu_counter.built_object(ninja, source, directory / f"{Path(source).stem}.o", flags)
        for source in (SOURCE, gpu_counter.MODEL)
    ]
    ninja.make([gpu_counter.compiler(), *objects, "-o", str(directory / "teams")], objects, directory / "teams")
    ninja.run()
    return directory / "teams"


@pytest.fixture(scope="module")
def counter() -> ModuleType:
    return load_extension(gpu_counter.build())


@pytest.mark.slow
@needs_clang
@pytest.mark.parametrize(
    ("name", "of_warps", "of_lanes"),
    [
        # Blocks of 128 threads. Behind each comes a barrier of one instruction; `once` has a branch as well.
        ("one_lane", {32: 10 + 4, 64: 10 + 2}, 10 + 128),  # one of four warps, or of two, has something to do
        ("all_lanes", {32: 4 * 11, 64: 2 * 11}, 128 * 11),
        ("two_ways", {32: 4 * 111, 64: 2 * 111}, 64 * 10 + 64 * 100 + 128),  # both, one after the other
        ("loops", {32: 4 * 311, 64: 2 * 311}, 4 * 496 * 10 + 128),  # as long as the longest one; 0 + ... + 31 is 496
        ("whole_block", {32: 4 * 10, 64: 2 * 10}, 128 * 10),
        ("once", {32: 1000 + 4 * 2, 64: 1000 + 2 * 2}, 1000 + 128 * 2),
        # As often as the slower group: three times what all its lanes do, four times what one does, and its barrier.
        ("groups", {32: 4 * (30 + 400 + 1 + 1), 64: 2 * 432}, 4 * (16 * 40 + 600 + 32) + 128),
        ("sum", {32: 4 * 50, 64: 2 * 50}, 128 * 50),  # and nothing of what the CPU does for it
    ],
)
def test_teams_by_hand(teams: Path, name: str, of_warps: dict[int, int], of_lanes: int) -> None:
    for warp, wanted in of_warps.items():
        ran = subprocess.run([teams, name, str(warp)], capture_output=True, text=True, check=True, timeout=60)
        assert list(map(int, ran.stdout.split())) == [3 * wanted, 3 * of_lanes]


@pytest.mark.slow
@needs_clang
def test_kernels(counter: ModuleType, llama3_like: Path, training_text: list[str]) -> None:
    engine = Tokenizer.from_file(llama3_like).__getattribute__("_engine")
    text = "".join(training_text).encode()[:100_000].decode(errors="ignore").encode()
    costs = {warp: gpu_instructions.measure(counter, engine, text, warp) for warp in (32, 64)}  # and ids are right
    ran = {name for name, cost in costs[32].instructions.items() if cost > 0}
    assert {"describe_chunks", "boundaries_llama3", "list_pretokens", "look_up_words", "count_ids", "write_ids"} <= ran
    assert "boundaries_gpt2" not in ran
    for name in ran:
        # Twice as many lanes to a warp: at most half is saved, and nothing is lost.
        narrow, wide = costs[32].instructions[name], costs[64].instructions[name]
        assert narrow / 2 <= wide <= narrow, name
        assert 0 < costs[64].lanes[name] <= 1
        # What lanes have to do is the same.
        assert costs[64].lanes[name] * 64 * wide == pytest.approx(costs[32].lanes[name] * 32 * narrow)
    again = gpu_instructions.measure(counter, engine, text)
    assert again.instructions == costs[32].instructions
    shown = gpu_instructions.table(again, 32).splitlines()
    total = sum(again.instructions.values())
    assert shown[-1].split()[:2] == ["all", f"{total:.2f}"]
    assert any(line.split()[0] == "look_up_words" and len(line.split()) == 4 for line in shown)
    # Each chunk of 64 bytes: a lane reads 64 bytes, eight at a time, and as many flags; a warp has 32 chunks.
    assert (64 + 8) / (64 * 32) < again.instructions["describe_chunks"] < 10


@pytest.mark.slow
@needs_clang
def test_what_is_no_warp(counter: ModuleType) -> None:
    with pytest.raises(ValueError, match="a warp has 32 or 64 lanes, not 16"):
        counter.open(1 << 20, warp=16)


def test_wrong_ids_are_an_error(llama3_like: Path, gpt2_like: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Uncounted:
        open = staticmethod(lambda budget, warp: _core._testing.host_device(budget))
        take = staticmethod(dict)

    engine = Tokenizer.from_file(llama3_like).__getattribute__("_engine")
    other = Tokenizer.from_file(gpt2_like).__getattribute__("_engine")
    assert gpu_instructions.measure(Uncounted, engine, b"some text").numbers.pretokens == pytest.approx(2 / 9)
    real = _core.DeviceEncoder
    monkeypatch.setattr(_core, "DeviceEncoder", lambda _, device: real(other, device))
    with pytest.raises(ValueError, match="the kernels' ids are not the engine's"):
        gpu_instructions.measure(Uncounted, engine, b"some text")


def test_a_header_that_changed() -> None:
    team = (ROOT / "cpp" / "gpu" / "team.h").read_text()
    assert gpu_counter.patched(team).count("crayon_count_lane(") == 3
    for old in gpu_counter.PATCHES:
        for changed in (team.replace(old, ""), team + old):
            with pytest.raises(BuildError, match=r"team\.h has this [02] times.*\n(.*\n?)*"):
                gpu_counter.patched(changed)


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAYON_CLANG", "no-such-compiler")
    with pytest.raises(BuildError, match="no-such-compiler is not found"):
        gpu_counter.build()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("  %3 = add nsw i32 %1, %2", 1),
        ("  %3 = add i64 %1, %2", 2),
        ("  %3 = lshr i64 %1, 7", 2),
        ("  %3 = lshr i64 %1, %2", 4),
        ("  %3 = shl nuw i32 1, %2", 1),
        ("  %3 = icmp ult i64 %1, %2", 2),
        ("  %3 = select i1 %1, i64 %2, i64 0", 2),
        ("  %3 = select i1 %1, i32 %2, i32 0", 1),
        ("  %3 = getelementptr inbounds i8, i8* %1, i64 %2", 2),
        ("  %3 = getelementptr inbounds %struct.A, %struct.A* %1, i64 0, i32 4", 0),
        ("  %3 = load i64, i64* %1, align 8, !tbaa !5", 1),
        ("  store i64 %1, i64* %2, align 8", 1),
        ("  %3 = zext i32 %1 to i64", 0),
        ("  %3 = phi i64 [ %1, %4 ], [ %2, %5 ]", 0),
        ("  br i1 %1, label %2, label %3", 1),
        ("  br label %2", 0),
        ("  switch i32 %1, label %2 [", 4),
        ("    i32 3, label %4", 0),
        ("  ]", 0),
        ("  %3 = tail call i32 @llvm.ctpop.i32(i32 %1)", 1),
        ("  %3 = call i64 @llvm.cttz.i64(i64 %1, i1 true)", 4),
        ("  call void @crayon_count_lane(i32 %1)", 0),
        ("  call void @llvm.lifetime.start.p0i8(i64 8, i8* %1)", 0),
        ("  call void @llvm.memcpy.p0i8.p0i8.i64(i8* %1, i8* %2, i64 64, i1 false)", 3),
    ],
)
def test_weights(line: str, wanted: int) -> None:
    assert llvm_instructions.weight(line) == wanted


def test_marks() -> None:
    code = """\
@constant = global i32 0
define i32 @f(i32 %0) {
  %2 = add i32 %0, 1
  br label %3

3:                                                ; preds = %3, %1
  %4 = phi i32 [ %2, %1 ], [ %5, %3 ]
  %5 = mul i32 %4, 3
  %6 = icmp eq i32 %5, 0
  br i1 %6, label %3, label %7

7:                                                ; preds = %3
  ret i32 %5
}
"""
    text, weights = llvm_instructions.marked(code)
    assert weights == [1, 3, 0]
    lines = text.splitlines()
    marks = [lines.index(f"  call void @crayon_count_instructions(i32 {i})") for i in range(3)]
    assert [lines[i + 1].strip() for i in marks] == ["%2 = add i32 %0, 1", "%5 = mul i32 %4, 3", "ret i32 %5"]
    assert "@crayon_count_weights = constant [3 x i32] [i32 1, i32 3, i32 0]" in lines
    assert lines[0] == "@constant = global i32 0"


def test_traffic() -> None:
    report = {"bytes": 1000, "pretokens": 250, "ids": 350, "merged_pretokens": 10, "merged_bytes": 100}
    moved = gpu_traffic.traffic(gpu_traffic.Numbers.of(report))
    assert moved["write_ids"] == pytest.approx(16 * 0.25 + 8 * 0.35)
    assert moved["merge"] == pytest.approx(24 * 0.01 + 5 * 0.1)
    assert [gpu_traffic.step_of(name) for name in ("boundaries_gpt2", "merge_long", "keep_merged")] == [
        "boundaries", "merge", "keep_merged",
    ]  # fmt: skip


def test_documents_and_files(tmp_path: Path) -> None:
    text = ("é" * 1500).encode()
    offsets = gpu_instructions.documents(b"a" + text)
    assert offsets.tolist() == [0, 2049, 3001]
    path = tmp_path / "text.txt"
    path.write_bytes(text)
    assert gpu_instructions.read(path, None) == text
    assert gpu_instructions.read(path, 101) == text[:100]
