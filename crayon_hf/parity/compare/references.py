"""The reference of each vocabulary: its files, the library whose output is right, and how both sides open it."""

from __future__ import annotations

import base64
import hashlib
import json
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from crayon_hf.errors import UnsupportedError
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util.byte_level import BYTE_LEVEL, unspell
from crayon_hf.util.extras import needed

from ..inputs.texts import UnknownVocabularyError
from .records import OurTiktokenSide, Side, TiktokenSide, TokenizersSide
from .sentencepiece_side import OurPiecesSide, SentencePieceSide
from .transformers_side import StockProcess, TransformersSide, open_tokenizer

TOKENIZERS = ("gpt2", "roberta-base", "phi-2", "whisper-tiny", "llama3", "qwen", "llama2", "t5-small", "bert-cased")
TIKTOKEN = ("r50k_base", "cl100k_base", "o200k_base")
OPENAI = "tiktoken_ext.openai_public"

FIELDS: dict[str, tuple[str, ...]] = {
    "tokenizers": TokenizersSide.FIELDS,
    "tiktoken": TiktokenSide.FIELDS,
    "transformers": TransformersSide.FIELDS,
    "sentencepiece": SentencePieceSide.FIELDS,
}
"""The fields of a result that are compared, by reference."""


@dataclass(frozen=True)
class Vocabulary:
    """A vocabulary and its reference."""

    name: str
    kind: str
    """The package whose output is right: ``tokenizers``, ``tiktoken``, ``transformers`` or ``sentencepiece``. Speed
    measurements also have ``xerv``: CRAYON with a version 2 cartridge."""
    path: Path
    """The source that the reference opens: a ``tokenizer.json``, a rank file, a directory or a SentencePiece model."""
    encoding: str = ""
    """The published encoding whose pattern and special tokens apply. For tiktoken only."""
    pattern: str | None = None
    """The pattern, if no published encoding gives it. For tiktoken only."""
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    ours: str = ""
    """The file that our side opens, if not ``path``: a cartridge, or the source that ``path`` was converted from."""
    json: str = ""
    """The ``tokenizer.json`` of the same vocabulary, if ``path`` has another format. Empty for rank files."""

    @property
    def reference_version(self) -> str:
        """Package and version of the reference."""
        return f"{self.kind} {version(self.kind)}"

    def specials(self) -> tuple[str, ...]:
        """The added tokens, special or not, in order of id, for use in hostile strings."""
        if self.kind == "xerv":
            return ()
        if self.kind == "tiktoken":
            ids: dict[str, int] = self.tiktoken_arguments()["special_tokens"]
            return tuple(sorted(ids, key=lambda token: ids[token]))
        added = self._document().get("added_tokens") or []
        return tuple(entry["content"] for entry in sorted(added, key=lambda entry: entry["id"]))

    def token_bytes(self) -> list[bytes]:
        """The bytes of the ordinary tokens, in order of id."""
        if self.kind == "tiktoken":
            ranks: dict[bytes, int] = self.tiktoken_arguments()["mergeable_ranks"]
            return sorted(ranks, key=lambda token: ranks[token])
        vocab = self._document()["model"]["vocab"]
        names = [name for name, _ in vocab] if isinstance(vocab, list) else sorted(vocab, key=lambda name: vocab[name])
        if {*map(chr, BYTE_LEVEL.values())} <= {*names}:
            return [data for data in map(unspell, names) if data is not None]
        return [name.replace("\u2581", " ").removeprefix("##").encode() for name in names]

    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(Path(self.json or self.path).read_bytes())
        return document

    def open_reference(self) -> Any:
        """Open the local file with the reference library, without network, in this process."""
        if self.kind == "tokenizers":
            check_fields("the comparison")
            import tokenizers

            return tokenizers.Tokenizer.from_file(str(self.path))
        if self.kind == "transformers":
            return open_tokenizer("transformers", str(self.path))
        if self.kind == "sentencepiece":
            return import_module("sentencepiece").SentencePieceProcessor(model_file=str(self.path))
        import tiktoken

        return tiktoken.Encoding(**self.tiktoken_arguments())

    def open_ours(self) -> Any:
        """Open our ``Tokenizer`` of the same vocabulary. For ``transformers``, use our ``AutoTokenizer``."""
        if self.kind == "transformers":
            return open_tokenizer("crayon_hf", str(self.path))
        if self.ours or self.kind != "tiktoken":
            return Tokenizer.from_file(self.ours or str(self.path))
        if self.pattern is None:
            return Tokenizer.from_tiktoken(str(self.path), name=self.encoding)
        return Tokenizer.from_tiktoken(str(self.path), pattern=self.pattern, special_tokens=dict(self.special_tokens))

    def reference_side(self, threads: int = 1) -> Side:
        """Return the reference, ready for comparison. ``threads`` is for tiktoken, which has no global setting."""
        if self.kind == "transformers":
            return StockProcess(str(self.path))
        opened = self.open_reference()
        if self.kind == "tiktoken":
            return TiktokenSide(opened, threads)
        side: Side = TokenizersSide(opened) if self.kind == "tokenizers" else SentencePieceSide(opened)
        return side

    def our_side(self, open_ours: Callable[[], Any]) -> Side:
        """Return our side, ready for comparison. ``open_ours`` is ``self.open_ours`` or a substitute for it."""
        if self.kind == "tiktoken":
            return OurTiktokenSide(open_ours(), open_ours())
        sides: dict[str, Any] = {
            "tokenizers": TokenizersSide,
            "transformers": TransformersSide,
            "sentencepiece": OurPiecesSide,
        }
        side: Side = sides[self.kind](open_ours())
        return side

    @property
    def has_fast_paths(self) -> bool:
        """Whether our calls that return no `Encoding` must agree with the compared fields."""
        return self.kind in ("tokenizers", "tiktoken")

    @property
    def compared(self) -> tuple[str, ...]:
        """The fields of a result that are compared."""
        return FIELDS[self.kind]

    def tiktoken_arguments(self) -> dict[str, Any]:
        """Return the arguments of ``tiktoken.Encoding`` for a rank file."""
        if self.pattern is not None:
            return {
                "name": self.name,
                "pat_str": self.pattern,
                "mergeable_ranks": read_ranks(self.path),
                "special_tokens": dict(self.special_tokens),
            }
        return tiktoken_pieces(self.encoding, self.path)


def read_ranks(path: Path) -> dict[bytes, int]:
    """Read a rank file. Each line has a token in base64 and its rank."""
    lines = (line.split() for line in path.read_bytes().splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def tiktoken_pieces(encoding: str, path: Path) -> dict[str, Any]:
    """Return the arguments of ``tiktoken.Encoding`` for a published encoding whose rank file is at ``path``.

    Pattern and special tokens come from tiktoken's own constructor functions. This function runs copies of these
    functions that load the local file, and leaves tiktoken itself unchanged.
    """
    openai_public = import_module(OPENAI)
    expected: list[str | None] = []

    def load(blobpath: str, expected_hash: str | None = None) -> dict[bytes, int]:
        expected.append(expected_hash)
        return read_ranks(path)

    namespace: dict[str, Any] = {**vars(openai_public), "load_tiktoken_bpe": load}
    for name, value in vars(openai_public).items():
        if isinstance(value, types.FunctionType) and value.__module__ == openai_public.__name__:
            namespace[name] = types.FunctionType(value.__code__, namespace, name, value.__defaults__)
    pieces: dict[str, Any] = namespace[encoding]()
    if len(expected) != 1:
        raise UnknownVocabularyError(f"{encoding} is not made from one rank file")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if expected[0] not in (None, found):
        raise UnknownVocabularyError(f"{path} is not the published rank file of {encoding}: SHA-256 {found}")
    return pieces


def check_fields(what: str) -> None:
    """Raise UnsupportedError if the tokenizers library lacks offsets and words, as versions from 1.0 on do.

    `what` is the work that needs the library, for the message.
    """
    import tokenizers

    if not hasattr(tokenizers.Tokenizer, "from_str"):
        raise UnsupportedError(
            f"{what} needs tokenizers before 1.0 as its reference, but {tokenizers.__version__} is installed: "
            "python -m pip install 'tokenizers<1'"
        )


def published_encodings() -> list[str]:
    """Return the encodings that tiktoken defines, without gpt2, an old form of r50k_base."""
    with needed("the comparison of a rank file", "tiktoken", "tiktoken"):  # tiktoken_ext may be installed without it
        constructors = import_module(OPENAI).ENCODING_CONSTRUCTORS
    return [name for name in constructors if name != "gpt2"]
