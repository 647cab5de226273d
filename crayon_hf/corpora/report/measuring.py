"""Make the report of a finished job, from the manifest of its directory and one pass over its tokens."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.formats import FORMATS
from crayon_hf.corpora.job.directory import BAD_RECORDS, HELD_OUT, MANIFEST, Directory
from crayon_hf.corpora.job.encoder import JobTokenizer, job_tokenizer
from crayon_hf.corpora.job.shard import changed_shard
from crayon_hf.corpora.job.summary import sequences_of
from crayon_hf.corpora.report.model import Bin, CorpusReport, Lengths, TokenCount
from crayon_hf.corpora.report.shards import blocks_of
from crayon_hf.errors import CrayonError, JobError
from crayon_hf.text_readers.addresses import is_local
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util.scripts import CODE_POINTS, shares

_FREQUENT = 100
_UNUSED = 200
_REASONS = 20


def make_report(directory: str | os.PathLike[str], tokenizer: str | Tokenizer | None = None) -> CorpusReport:
    """Report on a directory that `tokenize_corpus` has finished, in any format.

    Memory: some blocks of 2**20 tokens, and a number for each id and each length.

    Args:
        directory: A local directory with a manifest.
        tokenizer: The tokenizer that made the files; by default the one in the manifest. If that cannot be opened,
            the report has no scripts and no texts of tokens.

    Returns:
        The report. Its `to_json` and `lines` format it.

    Raises:
        JobError: The manifest or a file is missing or damaged, or `tokenizer` did not make the files.

    docs/corpora.md has an example.
    """
    path = os.fspath(directory)
    if not is_local(path):
        raise JobError(f"{path} is not a local directory: copy it to this machine first")
    manifest = _manifest(path)
    opened = _opened(manifest, tokenizer, path)
    shards = [shard for task in manifest["tasks"] for shard in task["shards"]]
    if (changed := changed_shard(path, shards)) is not None:
        raise JobError(f"{changed} is missing or has changed since it was written")
    totals = _Totals(None if opened is None else opened.tokenizer)
    length = manifest["settings"].get("sequence_length")
    format = manifest["settings"]["format"]
    for shard in shards:
        for block in blocks_of(format, os.path.join(path, shard["name"]), manifest["dtype"], length is not None):
            totals.add(*block)
    packed = sequences_of(shards, manifest["counts"]["tokens"], length)
    written = manifest["counts"]["tokens"] if packed is None else packed.tokens
    if totals.tokens != written:
        raise JobError(f"{path} has {totals.tokens:,} tokens, and its manifest says {written:,}: tokenize it again")
    known = 0 if opened is None else max(opened.tokenizer.get_vocab().values(), default=-1) + 1
    counts = np.pad(totals.ids, (0, max(0, known - len(totals.ids))))
    unused = [id for id in (counts == 0).nonzero()[0].tolist() if opened is None or totals.text(id) is not None]
    frequent = (-counts).argsort(kind="stable")[:_FREQUENT]
    of = "documents" if length is None else "sequences" if format in ("megatron", "mds") else "pieces"
    held = os.path.join(path, HELD_OUT)
    return CorpusReport(
        directory=path,
        format=format,
        tokenizer=manifest["tokenizer"]["name"],
        digest=manifest["tokenizer"]["digest"],
        vocabulary=len(counts) if opened is None else opened.tokenizer.get_vocab_size(),
        counts=manifest["counts"],
        sequences=None if packed is None else {"sequence_length": length, **packed._asdict()},
        shards=len(shards),
        output_bytes=sum(file["bytes"] for shard in shards for file in shard["files"]),
        lengths=totals.lengths(of),
        scripts=None if opened is None else shares(totals.code_points),
        frequent=tuple(TokenCount(int(id), totals.text(int(id)), int(counts[id])) for id in frequent if counts[id]),
        never_used=tuple(unused),
        unused_texts=tuple(TokenCount(id, totals.text(id), 0) for id in unused[:_UNUSED]),
        bad_reasons=_reasons(path) if manifest["counts"]["bad_records"] else {},
        held_out=_manifest(held)["counts"] if os.path.exists(os.path.join(held, MANIFEST)) else None,
    )


def _manifest(path: str) -> dict[str, Any]:
    found = Directory(path).manifest()
    if found is None:
        raise JobError(f"{path} has no {MANIFEST}: give the directory of a finished crayon-hf tokenize job")
    if found["settings"]["format"] not in FORMATS or "dtype" not in found:
        raise JobError(f"{os.path.join(path, MANIFEST)} is damaged: tokenize again with --overwrite (overwrite=True)")
    return found


def _opened(manifest: dict[str, Any], tokenizer: str | Tokenizer | None, path: str) -> JobTokenizer | None:
    name = manifest["tokenizer"]["name"]
    if tokenizer is None:
        if not name:
            return None
        try:
            opened = job_tokenizer(name)
        except (CrayonError, OSError, ValueError):  # the name may be a path of another machine
            return None
        return opened if opened.digest == manifest["tokenizer"]["digest"] else None
    opened = job_tokenizer(tokenizer)
    if opened.digest != manifest["tokenizer"]["digest"]:
        raise JobError(f"{path} was made with another tokenizer ({name or 'without a name'}): its digest differs")
    return opened


def _reasons(path: str) -> dict[str, int]:
    reasons: Counter[str] = Counter()
    try:
        with open(os.path.join(path, BAD_RECORDS), "rb") as file:
            for line in file:
                reasons[json.loads(line)["reason"]] += 1
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise JobError(f"{os.path.join(path, BAD_RECORDS)} cannot be read: {error}") from error
    return dict(reasons.most_common(_REASONS))


def _has_bytes(tokenizer: Tokenizer) -> bool:
    """Whether tokens are byte strings, so that their bytes can be shown."""
    try:
        tokenizer.decode_bytes([0])
    except CrayonError:
        return False
    return True


class _Totals:
    """Counts of one pass over the tokens."""

    def __init__(self, tokenizer: Tokenizer | None) -> None:
        self.tokens = 0
        self.code_points = np.zeros(CODE_POINTS, np.int64)
        self._tokenizer = tokenizer
        self._is_bytes = tokenizer is not None and _has_bytes(tokenizer)
        self.ids = np.zeros(0, np.int64)
        """The count of each id, up to the largest one."""
        self._lengths: Counter[int] = Counter()

    def add(self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64]) -> None:
        self.tokens += len(ids)
        counts = np.bincount(ids, minlength=len(self.ids))
        counts[: len(self.ids)] += self.ids
        self.ids = counts
        self._lengths.update(lengths.tolist())
        if self._tokenizer is not None and len(ids):
            known: Any = ids.astype(np.int32)
            if self._is_bytes:
                decoded = self._tokenizer.decode_bytes(known, skip_special_tokens=True).decode("utf-8", "replace")
            else:
                decoded = self._tokenizer.decode(known, skip_special_tokens=True)
            chars = np.frombuffer(decoded.encode("utf-32-le", "surrogatepass"), "<u4")
            self.code_points += np.bincount(chars, minlength=CODE_POINTS)

    def text(self, id: int) -> str | None:
        """Return the text of a token, or None if the id has no text or the tokenizer is missing."""
        token = None if self._tokenizer is None else self._tokenizer.id_to_token(id)
        if self._tokenizer is not None and token is not None and self._is_bytes:
            return self._tokenizer.decode_bytes([id]).decode("utf-8", "backslashreplace") or token
        return token

    def lengths(self, of: str) -> Lengths | None:
        """Return statistics of the counted lengths, or None without any. `of` becomes `Lengths.of`."""
        if not self._lengths:
            return None
        values, counts = (np.array(each, np.int64) for each in zip(*sorted(self._lengths.items()), strict=True))
        ends = np.cumsum(counts)
        median, ninety, ninety_nine = values[ends.searchsorted(np.array([0.5, 0.9, 0.99]) * ends[-1])].tolist()
        powers = np.array([int(value).bit_length() for value in values])
        bins = [
            Bin(1 << n >> 1, (1 << n) - 1, int(counts[powers == n].sum()))
            for n in range(int(powers[0]), int(powers[-1]) + 1)
        ]
        total, mean = int(ends[-1]), float((values * counts).sum() / ends[-1])
        return Lengths(of, total, int(values[0]), median, mean, ninety, ninety_nine, int(values[-1]), tuple(bins))
