"""The ``tokenizer.json`` of a tokenizer, its compilation into a cartridge, and the two together."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from crayon_hf import _core
from crayon_hf.errors import SourceMissingError, UnsupportedError, VocabularyError
from crayon_hf.tokenizer_json.document import dump, parsed
from crayon_hf.util.damage import damage_of
from crayon_hf.util.files import HeldFile

if TYPE_CHECKING:
    from crayon_hf.fallback.tiktoken_engine import TiktokenEngine
    from crayon_hf.fallback.tokenizers_engine import TokenizersEngine

    AnyEngine = _core.Engine | TokenizersEngine | TiktokenEngine

_VOCAB = b'"vocab"'
_EMPTY = re.compile(_VOCAB + rb"\s*:\s*(?:\{\s*\}|\[\s*\])")

EMPTY = "an empty vocabulary"
"""The reason why a tokenizer that has yet to be trained cannot be compiled."""

REFERENCE_METADATA = '{"reference":"tokenizers"}'
"""The metadata of a cartridge with the ids of the ``tokenizers`` library."""


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


class Compiled(NamedTuple):
    """A compiled source. `source` is a tokenizer.json, made if the compiled file is of another kind."""

    cartridge: bytes
    source: bytes | None = None


class Recipe(NamedTuple):
    """A way to compile a source into a cartridge. `name` tells recipes apart in the cache."""

    name: str
    compile: Callable[[bytes], Compiled]


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


def reference_of(metadata: str) -> str:
    """The reference library that a cartridge's metadata names."""
    import json  # saves some milliseconds when a cached cartridge is opened

    reference: str = json.loads(metadata).get("reference", "tokenizers")
    return reference


def compile_json(data: bytes, metadata: str = REFERENCE_METADATA) -> bytes:
    """Compile a ``tokenizer.json`` into a cartridge. Raises UnsupportedError if it has no tokens yet."""
    if _has_empty_vocabulary(data) and _has_no_tokens(data):
        raise UnsupportedError(EMPTY)
    flavor = "rust_regex" if reference_of(metadata) == "tiktoken" else "oniguruma"
    try:
        return _core.compile_tokenizer_json(data, metadata, flavor)
    except UnsupportedError:
        raise
    except VocabularyError as error:
        damage = damage_of(data)
        if damage is None:
            raise
        raise VocabularyError(f"the tokenizer.json {damage}") from error


def compiled_engine(data: bytes, metadata: str = REFERENCE_METADATA) -> _core.Engine:
    """The engine of a ``tokenizer.json``, compiled in memory. Raises the errors of `compile_json`."""
    return _core.Engine.from_bytes(compile_json(data, metadata), verify=False)


def json_to_train(data: bytes) -> dict[str, Any]:
    """Return the parsed ``tokenizer.json`` of a BPE without tokens, if our own trainer can train it.

    Raises:
        UnsupportedError: Only the library ``tokenizers`` can train it.
        VocabularyError: Our compiler refuses it.
    """
    document = parsed(data)
    model = document["model"]
    if model.get("type") != "BPE":
        raise UnsupportedError(EMPTY)
    trained = model | {"vocab": {"a": 0}, "merges": []}
    affixes = dict.fromkeys(("continuing_subword_prefix", "end_of_word_suffix"))  # the trainer sets them
    compile_json(dump(document | {"model": trained | affixes, "post_processor": None}).encode())
    return document


def _has_empty_vocabulary(data: bytes) -> bool:
    at = data.find(_VOCAB)  # many times faster than a regular expression
    while at >= 0:
        if _EMPTY.match(data, at):
            return True
        at = data.find(_VOCAB, at + 1)
    return False


def _has_no_tokens(data: bytes) -> bool:
    import json

    try:
        document = json.loads(data)
        return not document["model"]["vocab"] and not document.get("added_tokens")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False  # the compiler reports the error


def json_recipe(metadata: str = REFERENCE_METADATA) -> Recipe:
    """The recipe that compiles a ``tokenizer.json``."""
    return Recipe(f"tokenizer.json/{metadata}", lambda data: Compiled(compile_json(data, metadata)))
