"""Where the ``tokenizer.json`` of a tokenizer is, and how a cartridge is made of one."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from crayon_hf import _core, cache
from crayon_hf.errors import SourceMissingError

if TYPE_CHECKING:
    from crayon_hf.conversion.tiktoken import RankFile

REFERENCE_METADATA = '{"reference":"tokenizers"}'
"""The metadata of a cartridge whose ids are those of the ``tokenizers`` library."""


class Source:
    """A ``tokenizer.json``: its bytes, or the path where they are. Read only when it is needed."""

    __slots__ = ("_again", "_digest", "_where")

    def __init__(
        self, where: str | bytes | None, digest: str | None = None, again: Callable[[], bytes] | None = None
    ) -> None:
        """`digest` is what the SHA-256 of a file must be; `again` makes the bytes when the file is gone."""
        self._where = where
        self._digest = digest
        self._again = again

    @property
    def exists(self) -> bool:
        """False where the reference has no ``tokenizer.json`` at all."""
        return self._where is not None

    def read(self) -> bytes:
        """The bytes. SourceMissingError when they are not there, or not those of this tokenizer."""
        if isinstance(self._where, bytes):
            return self._where
        if self._where is None:
            raise SourceMissingError("there is no tokenizer.json")
        try:
            with open(self._where, "rb") as file:
                data = file.read()
        except FileNotFoundError as error:
            data = self._made_again()
            if not data:
                message = f"the tokenizer.json of this cartridge is not there: {self._where}"
                raise SourceMissingError(message) from error
        if sha256(data).hexdigest() != self._digest:
            raise SourceMissingError(f"{self._where} is not the file that this cartridge was compiled from")
        return data

    def document(self) -> dict[str, Any]:
        """The parsed JSON."""
        import json

        document: dict[str, Any] = json.loads(self.read())
        return document

    def _made_again(self) -> bytes:
        try:
            return b"" if self._again is None else self._again()
        except OSError:
            return b""


def reference_of(metadata: str) -> str:
    """Which library's output is right, from the metadata of a cartridge."""
    import json  # some milliseconds that opening a cached cartridge need not wait for

    reference: str = json.loads(metadata).get("reference", "tokenizers")
    return reference


def compile_json(data: bytes, metadata: str = REFERENCE_METADATA) -> bytes:
    """The cartridge of a ``tokenizer.json``."""
    flavor = "rust_regex" if reference_of(metadata) == "tiktoken" else "oniguruma"
    return _core.compile_tokenizer_json(data, metadata, flavor)


def json_recipe(metadata: str = REFERENCE_METADATA) -> cache.Recipe:
    """How a ``tokenizer.json`` becomes a cartridge."""
    return cache.Recipe(f"tokenizer.json/{metadata}", lambda data: cache.Compiled(compile_json(data, metadata)))


def tiktoken_recipe(facts: RankFile) -> cache.Recipe:
    """How a rank file becomes a cartridge, by way of a ``tokenizer.json``."""
    import json

    metadata = json.dumps({"reference": "tiktoken", "name": facts.name}, separators=(",", ":"))

    def compile_ranks(data: bytes) -> cache.Compiled:
        source = tiktoken_json(data, facts)
        return cache.Compiled(compile_json(source, metadata), source)

    return cache.Recipe(facts.recipe_name, compile_ranks)


def tiktoken_json(data: bytes, facts: RankFile) -> bytes:
    """The ``tokenizer.json`` of a rank file."""
    from crayon_hf.conversion.tiktoken import read_ranks, tokenizer_json

    source: bytes = tokenizer_json(read_ranks(data), facts)
    return source
