"""The cost of a byte of text on a GPU: the instructions of its warps, and the bytes of memory traffic.

    python tools/gpu_instructions.py VOCABULARY TEXT... [--bytes 16000000] [--warp 64]

VOCABULARY is a source that `Tokenizer.from_file` opens; texts that end in .xz are unpacked. The kernels run on the CPU,
so it needs clang++ but no GPU. Their ids are compared with the engine's.

The figures are estimates. They count instructions of LLVM code for the CPU, weighted as on a GPU
(llvm_instructions.py), not instructions of the GPU's own code. Lanes run in lock step: a warp is as slow as its slowest
lane, and executes every branch that one of its lanes takes (cpp/gpu_counter/lock_step.h). Memory traffic is that of
gpu_traffic.py. Texts are cut into documents of 2 KB.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import gpu_counter
import numpy as np
from gpu_traffic import Numbers, step_of, traffic
from native_build import BuildError, load_extension

from crayon_hf import CrayonError, Tokenizer, _core
from crayon_hf.parity.inputs.texts import documents, read_text

BUDGET = 1 << 36
"""Bytes of memory that the device claims to have."""


@dataclass(frozen=True)
class Costs:
    """The cost of encoding a text, divided by its bytes."""

    instructions: dict[str, float]  # of warps, by kernel
    lanes: dict[str, float]  # the share of active lanes, by kernel
    numbers: Numbers


def measure(counter: ModuleType, engine: _core.Engine, text: bytes, warp: int = 32) -> Costs:
    """Encode a text with the kernels, and return its costs. Raises ValueError if the ids differ from the engine's."""
    encoder = _core.DeviceEncoder(engine, counter.open(BUDGET, warp=warp))
    texts = [document.encode() for document in documents(text)]
    offsets = np.cumsum([0, *map(len, texts)])
    counter.take()
    ids, splits = encoder.encode_flat(text, offsets)
    counts = counter.take()
    wanted, wanted_splits = engine.encode_ragged(texts)
    if not (np.array_equal(ids, wanted) and np.array_equal(splits, wanted_splits)):
        raise ValueError("the kernels' ids are not the engine's")
    return Costs(
        {kernel: of_warps / len(text) for kernel, (of_warps, _) in counts.items()},
        {kernel: of_lanes / (of_warps * warp) for kernel, (of_warps, of_lanes) in counts.items() if of_warps > 0},
        Numbers.of(encoder.report),
    )


def table(costs: Costs, warp: int) -> str:
    moved = traffic(costs.numbers)
    kernels = sorted(costs.instructions, key=lambda kernel: -costs.instructions[kernel])
    steps = {step_of(kernel) for kernel in kernels}
    moved = {step: moved[step] for step in moved if step in steps or " " in step or step == "clearing"}
    at_work = sum(costs.instructions[kernel] * costs.lanes.get(kernel, 0) for kernel in kernels)
    every = sum(costs.instructions.values())
    lines = [f"{'kernel':24} {f'instructions of {warp} lanes':>25} {'lanes at work':>13} {'bytes moved':>11}"]
    shown = set()
    for kernel in kernels:
        step = step_of(kernel)
        cell = f"{moved[step]:.2f}" if step in moved and step not in shown else ""
        shown.add(step)
        lines.append(f"{kernel:24} {costs.instructions[kernel]:25.2f} {costs.lanes.get(kernel, 0):13.0%} {cell:>11}")
    lines += [f"{step:24} {'':25} {'':13} {moved[step]:11.2f}" for step in moved if step not in shown]
    lines.append(f"{'all':24} {every:25.2f} {at_work / every:13.0%} {sum(moved.values()):11.2f}")
    return "\n".join(lines)


def main() -> None:
    about = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(description=about[0], epilog=" ".join(about[4:]))
    parser.add_argument("vocabulary")
    parser.add_argument("texts", nargs="+", type=Path, metavar="text")
    parser.add_argument("--bytes", type=int, help="of each text, from its start; all of it by default")
    parser.add_argument("--warp", type=int, choices=(32, 64), default=32, help="lanes to a warp; 64 on AMD's CDNA")
    given = parser.parse_args()
    tokenizer = Tokenizer.from_file(given.vocabulary)
    engine = tokenizer._engine
    if not isinstance(engine, _core.Engine):
        sys.exit(f"{given.vocabulary}: the engine does not support it")
    if why := _core.why_not_on_device(engine):
        sys.exit(f"{given.vocabulary}: the GPU engines do not support it: {why}")
    counter = load_extension(gpu_counter.build())
    for path in given.texts:
        text = read_text(path, given.bytes)
        if not text:
            sys.exit(f"{path} has no text")
        costs = measure(counter, engine, text, given.warp)
        n = costs.numbers
        print(
            f"\n{path.name}: {len(text):,} bytes; for each byte {n.pretokens:.4f} pretokens, {n.ids:.4f} ids,", end=" "
        )
        print(f"{n.merged:.4f} pretokens merged, of {n.merged_bytes:.4f} bytes. Of a byte:")
        print(table(costs, given.warp), flush=True)


if __name__ == "__main__":
    try:
        main()
    except (BuildError, CrayonError, OSError, ValueError) as error:
        sys.exit(str(error))
