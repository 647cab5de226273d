"""Measures one tokenizer of a comparison: times its encoding and counts its tokens."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf import _core
from crayon_hf.comparison.texts import Matrix, Piece
from crayon_hf.errors import CrayonError
from crayon_hf.file_encoding import AnyStream, stream_encoder
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util.scripts import NAMES

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_WARM = b"warm"


class TokenMeter:
    """Times and counts the tokens of one tokenizer, piece by piece and file by file."""

    def __init__(self, name: str, tokenizer: Tokenizer) -> None:
        self.name = name
        self._engine: Any = tokenizer._current_engine()
        self._as_text = bool(tokenizer.encode_special_tokens)
        vocabulary = tokenizer.get_vocab()
        size = max(vocabulary.values(), default=-1) + 1
        self.vocabulary = len(set(vocabulary.values()))
        self._is_byte = np.zeros(size, bool)
        self._is_byte[_byte_ids(tokenizer, vocabulary)] = True
        self._unknown = _unknown_id(self._engine, vocabulary)
        self._seen, self._seen_in_file = np.zeros(size, bool), np.zeros(size, bool)
        self._of_file = np.zeros((3, len(NAMES)), np.int64)
        self._stream: AnyStream | None = None
        self._data = bytearray()
        self._scripts = bytearray()
        self._position = 0
        self.seconds = self.processor_seconds = 0.0
        self.time(Piece(_WARM, np.zeros(1, np.int64), np.full(1, len(_WARM), np.int64), True, True, 0))
        self.seconds = self.processor_seconds = 0.0

    @property
    def never_used(self) -> int:
        """The number of ids that no token of the counted files has."""
        return self.vocabulary - int(np.count_nonzero(self._seen))

    def time(self, piece: Piece) -> None:
        """Encode a piece to ids on this thread, and add the time that it takes."""
        if isinstance(self._engine, _core.Engine):
            started, used = time.perf_counter(), time.process_time()
            self._engine.encode_ranges(piece.data, piece.begins, piece.ends, False, self._as_text, threads=1)
        else:
            ranges = zip(piece.begins.tolist(), piece.ends.tolist(), strict=True)
            texts = [bytes(piece.data[begin:end]) for begin, end in ranges]
            started, used = time.perf_counter(), time.process_time()
            self._engine.encode_lists(texts, False, self._as_text)
        self.seconds += time.perf_counter() - started
        self.processor_seconds += time.process_time() - used

    def count(self, piece: Piece, scripts: npt.NDArray[np.uint8]) -> None:
        """Count the tokens of a piece, each under the script of its last byte."""
        if piece.is_first and piece.is_last:
            parts = [self._whole(piece, begin, end) for begin, end in zip(piece.begins, piece.ends, strict=True)]
            if parts:
                ids, ends = (np.concatenate(each) for each in zip(*parts, strict=True))
                self._add(ids, ends, scripts)
            return
        if piece.is_first:
            self._stream, self._position = stream_encoder(self._engine, False, self._as_text, True), 0
            self._data, self._scripts = bytearray(), bytearray()
        assert self._stream is not None
        self._data += piece.data
        self._scripts += scripts.tobytes()
        used, ids, ranges = self._stream.encode(self._data, 0, len(self._data), piece.is_last)
        if used:
            assert ranges is not None
            self._add(ids, ranges[:, 1] - self._position, np.frombuffer(self._scripts, np.uint8))
            self._position += used
            del self._data[:used], self._scripts[:used]

    def _whole(self, piece: Piece, begin: int, end: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the ids of a document, and the end of each token in the piece."""
        stream = stream_encoder(self._engine, False, self._as_text, True)
        _, ids, ranges = stream.encode(piece.data, int(begin), int(end), True)
        assert ranges is not None
        return ids, ranges[:, 1] + begin

    def _add(self, ids: npt.NDArray[np.int32], ends: npt.NDArray[np.int64], scripts: npt.NDArray[np.uint8]) -> None:
        if not len(ids):
            return
        of = scripts[np.clip(ends - 1, 0, len(scripts) - 1)]
        self._of_file[0] += np.bincount(of, minlength=len(NAMES))
        self._of_file[1] += np.bincount(of[self._is_byte[ids]], minlength=len(NAMES))
        self._of_file[2] += np.bincount(of[ids == self._unknown], minlength=len(NAMES))
        self._seen_in_file[ids] = True

    def take_file(self) -> Matrix:
        """Return the current file's tokens, single bytes and unknown tokens by script. Its ids now count as used."""
        counted: Matrix = self._of_file.copy()
        self._seen |= self._seen_in_file
        self.drop_file()
        return counted

    def drop_file(self) -> None:
        """Forget the counts of the current file, for example because it is not text."""
        self._of_file[:] = 0
        self._seen_in_file[:] = False
        self._stream = None


def _byte_ids(tokenizer: Tokenizer, vocabulary: dict[str, int]) -> list[int]:
    """The ids of tokens that are one byte of a multi-byte character."""
    found = []
    try:
        tokenizer.decode_bytes([])
        has_bytes = True
    except CrayonError:
        has_bytes = False
    for token, id in vocabulary.items():
        if token.startswith("<0x") and (match := _BYTE.fullmatch(token)) is not None:
            if int(match[1], 16) >= 0x80:
                found.append(id)
        elif has_bytes and len(token) == 1 and len(data := tokenizer.decode_bytes([id])) == 1 and data[0] >= 0x80:
            found.append(id)
    return found


def _unknown_id(engine: Any, vocabulary: dict[str, int]) -> int:
    """The id of the unknown token, or -1 if the vocabulary has none."""
    model = json.loads(engine.components or "{}").get("model") or {}
    id = model.get("unk_id")
    if id is None:
        id = vocabulary.get(model.get("unk_token") or "")
    return -1 if id is None else int(id)
