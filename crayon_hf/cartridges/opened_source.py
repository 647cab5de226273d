"""An opened tokenizer: its engine, and the ``tokenizer.json`` that it was made from."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from crayon_hf import _core
from crayon_hf.errors import SourceMissingError
from crayon_hf.tokenizer_json.document import dump, parsed
from crayon_hf.util.files import HeldFile

if TYPE_CHECKING:
    from crayon_hf.fallback.tiktoken_engine import TiktokenEngine
    from crayon_hf.fallback.tokenizers_engine import TokenizersEngine

    AnyEngine = _core.Engine | TokenizersEngine | TiktokenEngine


class Source:
    """A ``tokenizer.json``, as bytes or a path, read only when it is needed.

    A file is held open, so that a tokenizer keeps working after its files are removed or replaced.
    """

    __slots__ = ("_again", "_digest", "_engine", "_missing", "_where")

    def __init__(
        self,
        where: str | bytes | None,
        digest: str | None = None,
        again: Callable[[], bytes] | None = None,
        engine: _core.Engine | None = None,
        missing: str = "the tokenizer has no tokenizer.json",
    ) -> None:
        """`where` is the bytes, the path, or None without a ``tokenizer.json``.

        `digest` is the SHA-256 that the file must have. `again` makes the bytes if the file is gone. `engine` was
        compiled from the file, and supplies its contents if the file was overwritten. `missing` is the error message if
        `where` is None.
        """
        self._where = HeldFile(where) if isinstance(where, str) else where
        self._digest = digest
        self._again = again
        self._engine = engine
        self._missing = missing

    @property
    def exists(self) -> bool:
        """Whether the tokenizer has a ``tokenizer.json`` at all."""
        return self._where is not None

    @property
    def path(self) -> str | None:
        """The path of the file, which may be gone."""
        return self._where.path if isinstance(self._where, HeldFile) else None

    def read(self) -> bytes:
        """Return the bytes. Raises SourceMissingError if they are missing or belong to another tokenizer."""
        if isinstance(self._where, bytes):
            return self._where
        if self._where is None:
            raise SourceMissingError(self._missing)
        try:
            data = self._where.read()
        except FileNotFoundError as error:
            data = self._made_again()
            if not data:
                message = f"the tokenizer.json of this cartridge is missing: {self._where.path}"
                raise SourceMissingError(message) from error
        if sha256(data).hexdigest() != self._digest:
            if self._engine is None or not self._engine.reads_alike:
                raise SourceMissingError(f"{self._where.path} is not the file this cartridge was compiled from")
            return written_of(self._engine)
        return data

    def document(self) -> dict[str, Any]:
        """The parsed JSON, as `tokenizer_json.parsed` reads it."""
        return parsed(self.read())

    def _made_again(self) -> bytes:
        try:
            return b"" if self._again is None else self._again()
        except OSError:
            return b""


class OpenedSource(NamedTuple):
    """An opened tokenizer: the engine, and the ``tokenizer.json`` that it was made from."""

    engine: AnyEngine | None
    """None if `source` has yet to be compiled."""
    source: Source
    path: str | None = None
    """The cartridge, or None if it is in memory."""
    came_along: bool = False
    """Whether the cartridge was found with the tokenizer's files, not in the cache."""
    refused: str | None = None
    """Why the cartridge beside the tokenizer's files is not used, or None."""


def beside(path: str) -> str:
    """Return the path of a cartridge's ``tokenizer.json``."""
    return path.removesuffix(".dat") + ".json"


NO_JSON = "a SentencePiece model that tokenizer.json cannot express: keep the .model itself"


def is_inexact(engine: AnyEngine | None) -> bool:
    """Whether the engine's tokenizer cannot be expressed in ``tokenizer.json``, according to its metadata."""
    if engine is None or '"inexact"' not in engine.metadata:
        return False
    import json

    return "inexact" in json.loads(engine.metadata).get("sentencepiece", {})


def written_of(engine: _core.Engine) -> bytes:
    """Return a ``tokenizer.json`` made from an engine. It is equivalent only if `_core.Engine.reads_alike` is True."""
    import json

    parts = json.loads(engine.components)
    vocab, merges = engine.model_vocabulary()
    if not isinstance(vocab, dict):
        vocab = json.loads(engine.vocabulary_json(False) or b"[]")
    parts["model"] |= {"vocab": vocab} | ({"merges": merges} if parts["model"]["type"] == "BPE" else {})
    document = {"version": "1.0", "added_tokens": engine.added_tokens()} | parts
    return _core.with_exact_scores(dump(document).encode())
