"""Estimates the GPU instructions of LLVM code, and marks each basic block with a call that counts it.

    python tools/llvm_instructions.py KERNELS.ll MARKED.ll

`KERNELS.ll` is output of `clang++ -S -emit-llvm`. Each basic block calls `crayon_count_instructions` with its number
(cpp/gpu_counter/marks.h). A table has the number of instructions of each block.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

WEIGHTS: dict[str, tuple[int, int]] = {
    # (instructions for 32 bits and less, for 64 bits). GPU registers have 32 bits, and an instruction writes one: 64
    # bits take two instructions, and more for a carry or for bits that move between the halves.
    **dict.fromkeys(("add", "sub", "and", "or", "xor"), (1, 2)),
    "shift": (1, 4),  # left, right, both halves, and whether it is by more than 32
    "shift by a constant": (1, 2),
    "mul": (1, 4),
    **dict.fromkeys(("udiv", "urem", "sdiv", "srem"), (5, 10)),  # by constants: a product, shifts, a correction
    "icmp": (1, 2),
    "select": (1, 2),
    "sext": (1, 1),
    # An address has 64 bits. Constant offsets are part of the load.
    "getelementptr": (2, 2),
    "getelementptr by constants": (0, 0),
    "load": (1, 1),
    "store": (1, 1),
    "cmpxchg": (1, 1),
    "atomicrmw": (1, 1),
    "conditional br": (1, 1),  # its predicate is the icmp
    "br": (0, 0),  # falls through, nearly always
    "switch": (4, 4),  # a table, or some comparisons
    # Not instructions on a GPU: they name registers, or select one of two.
    **dict.fromkeys(("phi", "zext", "trunc", "bitcast", "freeze", "alloca", "ret", "unreachable"), (0, 0)),
    **dict.fromkeys(("extractvalue", "insertvalue", "inttoptr", "ptrtoint", "fence"), (0, 0)),
    # Functions that are instructions.
    "llvm.ctpop": (1, 3),
    "llvm.ctlz": (2, 4),
    "llvm.cttz": (2, 4),
    "llvm.umin": (1, 3),
    "llvm.umax": (1, 3),
    "llvm.fshl": (1, 4),
    "llvm.fshr": (1, 4),
    **dict.fromkeys(("llvm.lifetime", "llvm.dbg", "llvm.assume", "llvm.experimental", "crayon_count"), (0, 0)),
    "call": (3, 3),  # any other function, such as a copy of a structure
}
OTHER = (1, 1)
"""The weight of instructions that the table above lacks."""

_INSTRUCTION = re.compile(r"\s+(?:%\S+ = )?(?:(?:tail|musttail|notail) )?([a-z]\w*) ?(.*)")
_FUNCTION = re.compile(r"@(?:\"?)((?:llvm\.[a-z]+|crayon_count)?)")
_LABEL = re.compile(r'[\w.$"-]+:')


def weight(line: str) -> int:
    """Return the number of GPU instructions of one line of a function's body."""
    found = _INSTRUCTION.match(line)
    if not found or re.match(r"\s+(?:i\d+ .*, label|\])", line):  # a switch's cases
        return 0
    name, rest = found.groups()
    first = rest.split(",")[0]
    is_wide = re.search(r"\bi(64|128)\b", rest if name in ("select", "call") else first) is not None
    if name in ("shl", "lshr", "ashr"):
        name = "shift by a constant" if re.search(r", \d+$", rest.split(", !")[0]) else "shift"
    elif name == "getelementptr" and not re.search(r"i(64|32) %", rest):
        name = "getelementptr by constants"
    elif name == "br" and rest.startswith("i1"):
        name = "conditional br"
    elif name == "call" and (function := _FUNCTION.search(rest)) and function[1] in WEIGHTS:
        name = function[1]
    return WEIGHTS.get(name, OTHER)[is_wide]


def _stays_first(line: str) -> bool:
    return re.match(r"\s+%\S+ = phi ", line) is not None


def marked(text: str) -> tuple[str, list[int]]:
    """Return the LLVM module with a call in each basic block and with the table of instructions. Also return the
    table's values."""
    out: list[str] = []
    weights: list[int] = []
    block: list[str] = []

    def end_block() -> None:
        if not block:
            return
        first = next((i for i, line in enumerate(block) if not _stays_first(line)), len(block))
        call = f"  call void @crayon_count_instructions(i32 {len(weights)})"
        out.extend([*block[:first], call, *block[first:]])
        weights.append(sum(map(weight, block)))
        block.clear()

    in_function = False
    for line in text.splitlines():
        if in_function and line and line != "}" and not _LABEL.match(line):
            block.append(line)
            continue
        end_block()
        in_function = (in_function or line.startswith("define ")) and line != "}"
        out.append(line)
    out += [
        "declare void @crayon_count_instructions(i32)",
        f"@crayon_count_weights = constant [{len(weights)} x i32] [{', '.join(f'i32 {each}' for each in weights)}]",
        f"@crayon_count_blocks = constant i32 {len(weights)}",
    ]
    return "\n".join(out) + "\n", weights


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_text(marked(source.read_text())[0])
