"""A reader and a writer of Megatron-LM's ``.bin``/``.idx`` from its published layout, one number at a time."""

from __future__ import annotations

import itertools
import mmap
import struct
from pathlib import Path

CODES = {1: "B", 2: "b", 3: "h", 4: "i", 5: "q", 6: "d", 7: "f", 8: "H"}


class MegatronShard:
    """Opens a shard as ``IndexedDataset`` does, and believes nothing of it unseen."""

    def __init__(self, prefix: Path) -> None:
        with open(f"{prefix}.idx", "rb") as file:
            index = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        assert index[:9] == b"MMIDIDX\x00\x00"
        version, code, sequences, documents = struct.unpack_from("<QBQQ", index, 9)
        assert version == 1
        place = 9 + 8 + 1 + 8 + 8
        self.format = CODES[code]
        width = struct.calcsize("<" + self.format)
        self.lengths = [struct.unpack_from("<i", index, place + 4 * i)[0] for i in range(sequences)]
        place += 4 * sequences
        self.pointers = [struct.unpack_from("<q", index, place + 8 * i)[0] for i in range(sequences)]
        place += 8 * sequences
        self.document_indices = [struct.unpack_from("<q", index, place + 8 * i)[0] for i in range(documents)]
        assert place + 8 * documents == len(index)
        # What IndexedDataset and GPTDataset take for granted.
        assert self.document_indices[0] == 0
        assert self.document_indices[-1] == sequences
        assert self.document_indices == sorted(self.document_indices)
        self._tokens = Path(f"{prefix}.bin").read_bytes()
        assert sum(self.lengths) * width == len(self._tokens)

    def sequence(self, number: int) -> list[int]:
        """Tokens of a sequence, found by its pointer."""
        return list(struct.unpack_from(f"<{self.lengths[number]}{self.format}", self._tokens, self.pointers[number]))

    def documents(self) -> list[list[int]]:
        """Tokens of each document."""
        edges = self.document_indices
        return [
            [token for number in range(start, end) for token in self.sequence(number)]
            for start, end in itertools.pairwise(edges)
        ]


def files(documents: list[list[int]], format: str) -> tuple[bytes, bytes]:
    """What ``IndexedDatasetBuilder`` makes of documents that ``preprocess_data.py`` hands it: .bin and .idx."""
    code = next(code for code, name in CODES.items() if name == format)
    tokens, lengths, ends = b"", [], [0]
    for document in documents:
        tokens += struct.pack(f"<{len(document)}{format}", *document)
        if document:  # of no tokens there is no sequence
            lengths.append(len(document))
        ends.append(len(lengths))
    index = b"MMIDIDX\x00\x00" + struct.pack("<Q", 1) + struct.pack("<B", code)
    index += struct.pack("<Q", len(lengths)) + struct.pack("<Q", len(ends))
    index += b"".join(struct.pack("<i", length) for length in lengths)
    pointer = 0
    for length in lengths:
        index += struct.pack("<q", pointer)
        pointer += length * struct.calcsize(format)
    return tokens, index + b"".join(struct.pack("<q", end) for end in ends)
