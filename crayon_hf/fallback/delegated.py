"""Delegated mode: the reference library behind the interface of the native engine.

When a component of a tokenizer is not native, the whole tokenizer goes to its reference: right, slower, one warning.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.errors import DelegatedWarning, InvalidUtf8Error, TokenIdError, UnsupportedError, VocabularyError
from crayon_hf.fallback import reference_errors
from crayon_hf.state.added_tokens import AddedTokens
from crayon_hf.state.components import COMPONENTS
from crayon_hf.state.truncation_padding import Truncation, check_reference_pads
from crayon_hf.util import validation
from crayon_hf.util.byte_level import BYTE_LEVEL, spell
from crayon_hf.util.warned import warn_caller

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import tokenizers


_MOST_SETTINGS = 16
"""How many settings of truncation and padding an engine keeps a tokenizer for."""


def warn_delegated(reason: str, reference: str, does: str = "encodes") -> None:
    """The one warning of a delegated tokenizer, attributed to the caller of this package."""
    message = f"not native: {reason}; the {reference} library {does} instead, with the same result but slower"
    warn_caller(message, DelegatedWarning)


class DelegatedEngine:
    """What both references share. Subclasses say how one text is encoded and what the vocabulary is."""

    cpu = "reference"
    source_digest = ""
    reference = ""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.arguments: tuple[Any, ...] = ()
        """What makes another engine like this one, for pickling."""

    def encode_ids(
        self, text: str | bytes, add_special_tokens: bool = True, special_as_text: bool = False
    ) -> list[int]:
        raise NotImplementedError

    def id_to_token(self, id: int) -> str | None:
        raise NotImplementedError

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        raise NotImplementedError

    def decode(self, ids: Any, skip_special_tokens: bool = True, unknown_ids: str = "error") -> str:
        raise NotImplementedError

    def encode_ragged(
        self,
        texts: Sequence[str | bytes],
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        threads: int = 0,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        import numpy as np

        rows = self.encode_lists(texts, add_special_tokens, special_as_text)
        splits = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=splits[1:])
        try:
            return np.fromiter((id for row in rows for id in row), np.int32, int(splits[-1])), splits
        except OverflowError:  # a post-processor may name any id of 32 bits
            number, id = next((i, id) for i, row in enumerate(rows) for id in row if id > np.iinfo(np.int32).max)
            raise ValueError(
                f"id {id} of text {number} does not fit: the largest of this type is {np.iinfo(np.int32).max}; "
                "encode_batch gives it"
            ) from None

    def count_tokens(
        self,
        texts: Sequence[str | bytes],
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        threads: int = 0,
    ) -> list[int]:
        return list(map(len, self.encode_lists(texts, add_special_tokens, special_as_text)))

    def decode_batch(
        self,
        sequences: Iterable[Any],
        skip_special_tokens: bool = True,
        unknown_ids: str = "error",
        threads: int = 0,
    ) -> list[str]:
        return [self.decode(ids, skip_special_tokens, unknown_ids) for ids in sequences]

    def encode_columns(self, *arguments: Any) -> None:
        """Nothing: columns without an object for each text are a matter of the native engine."""

    def encode_row(self, *arguments: Any) -> None:
        """Nothing, likewise."""

    @property
    def metadata(self) -> str:
        return f'{{"reference":"{self.reference}"}}'

    def info(self) -> dict[str, Any]:
        return {"engine": "delegated", "reference": self.reference, "reason": self.reason}

    def encode_lists(
        self, texts: Sequence[Any], add_special_tokens: bool = True, special_as_text: bool = False, threads: int = 0
    ) -> list[list[int]]:
        validation.check_list(texts)
        decoded = [_as_text(text, f"item {i} of the batch") for i, text in enumerate(texts)]
        return [self.encode_ids(text, add_special_tokens, special_as_text) for text in decoded]

    def _known_ids(self, ids: Any, unknown_ids: str = "error") -> list[int]:
        """`ids` as a list; the references leave unknown ids out without a word, or panic."""
        if unknown_ids not in ("error", "skip"):
            raise ValueError(f"unknown_ids is {unknown_ids!r}, expected 'error' or 'skip'")
        if isinstance(ids, (str, bytes, int)):
            raise TypeError(f"ids are a sequence of int, got {type(ids).__name__}")
        listed = [operator.index(id) for id in ids]
        unknown = {id for id in set(listed) if id < 0 or id >= 2**32 or self.id_to_token(id) is None}
        if unknown and unknown_ids == "error":
            first = next(id for id in listed if id in unknown)
            raise TokenIdError(f"id {first} is not in the vocabulary of {self.get_vocab_size()} tokens")
        return [id for id in listed if id not in unknown] if unknown else listed


class TokenizersEngine(DelegatedEngine):
    """A ``tokenizers.Tokenizer`` behind the interface of the native engine."""

    reference = "tokenizers"

    def __init__(
        self,
        json: str,
        reason: str,
        added: AddedTokens | None = None,
        live: Mapping[str, Any] | None = None,
    ) -> None:
        """`added` are the added tokens with what the JSON cannot say of them; `live` components have no JSON."""
        super().__init__(reason)
        self.arguments = (json, reason, added)
        self._json = json
        # The settings are a state of the reference's object. One object for each of those in use, which nobody
        # changes, so that threads need no lock; they share the vocabulary.
        self._made: dict[Any, tokenizers.Tokenizer] = {}
        loaded = self._load()
        self._model = loaded.model
        self._components = {name: getattr(loaded, name) for name in COMPONENTS} | dict(live or {})
        self._is_live = bool(live)
        self._model = self._components.pop("model", self._model)
        self._added = AddedTokens(_added_tokens(loaded)) if added is None else added
        self._plain = self._make(False, None, None)

    @property
    def components(self) -> str:
        import json

        document = json.loads(self._json)
        model = {key: value for key, value in document["model"].items() if key not in ("vocab", "merges")}
        parts = {key: document.get(key) for key in ("truncation", "padding", *COMPONENTS)} | {"model": model}
        return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))

    def encode(
        self,
        sequence: Any,
        pair: Any = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        truncation: Any = None,
        padding: Any = None,
    ) -> Any:
        stock = self._with(special_as_text, truncation, padding)
        try:
            with reference_errors.of_tokenizers(self._is_live):
                return stock.encode(sequence, pair, is_pretokenized, add_special_tokens)
        except TypeError as error:
            refused = validation.refusal(sequence, is_pretokenized, "sequence")
            if refused is None and pair is not None:
                refused = validation.refusal(pair, is_pretokenized, "pair")
            raise (refused or error) from None

    def encode_batch(
        self,
        input: Sequence[Any],
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        offsets: bool = True,
        threads: int = 0,
        truncation: Any = None,
        padding: Any = None,
    ) -> Any:
        stock = self._with(special_as_text, truncation, padding)
        encode = stock.encode_batch if offsets else stock.encode_batch_fast
        try:
            with reference_errors.of_tokenizers(self._is_live):
                return encode(input, is_pretokenized, add_special_tokens)
        except TypeError as error:
            raise (validation.batch_refusal(input, is_pretokenized) or error) from None

    def post_process(
        self,
        encoding: Any,
        pair: Any = None,
        add_special_tokens: bool = True,
        truncation: Any = None,
        padding: Any = None,
    ) -> Any:
        with reference_errors.of_tokenizers(self._is_live):
            return self._with(False, truncation, padding).post_process(encoding, pair, add_special_tokens)

    def encode_ids(
        self, text: str | bytes, add_special_tokens: bool = True, special_as_text: bool = False
    ) -> list[int]:
        ids: list[int] = self.encode(_as_text(text), None, False, add_special_tokens, special_as_text).ids
        return ids

    def encode_bytes(self, data: bytes) -> list[int]:
        raise UnsupportedError(f"encode_bytes needs the native engine (not native: {self.reason})")

    def decode(self, ids: Any, skip_special_tokens: bool = True, unknown_ids: str = "error") -> str:
        with reference_errors.of_tokenizers(self._is_live):
            text: str = self._plain.decode(self._known_ids(ids, unknown_ids), skip_special_tokens)
        return text

    def decode_bytes(self, ids: Any, skip_special_tokens: bool = False) -> bytes:
        if type(self._components["decoder"]).__name__ == "ByteLevel":
            return b"".join(self._byte_level_bytes(self._known_ids(ids), skip_special_tokens))
        text = self.decode(ids, skip_special_tokens)
        if "\ufffd" in text:
            raise UnsupportedError("decode_bytes needs the native engine where ids do not end at whole characters")
        return text.encode()

    def token_to_id(self, token: str) -> int | None:
        id: int | None = self._plain.token_to_id(token)
        return id

    def id_to_token(self, id: int) -> str | None:
        token: str | None = self._plain.id_to_token(id)
        return token

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        vocab: dict[str, int] = self._plain.get_vocab(with_added_tokens)
        return vocab

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        size: int = self._plain.get_vocab_size(with_added_tokens)
        return size

    def added_tokens(self) -> list[dict[str, Any]]:
        return _added_tokens(self._plain)

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        count: int = self._plain.num_special_tokens_to_add(is_pair)
        return count

    def _byte_level_bytes(self, ids: list[int], skip_special_tokens: bool) -> Iterator[bytes]:
        byte_of = {char: byte for byte, char in BYTE_LEVEL.items()}
        added = self._plain.get_added_tokens_decoder() if skip_special_tokens else {}
        for id in ids:
            if id in added and added[id].special:
                continue
            token: str = self._plain.id_to_token(id) or ""
            spelled = all(ord(char) in byte_of for char in token)
            yield bytes(byte_of[ord(char)] for char in token) if spelled else token.encode()

    def _load(self) -> tokenizers.Tokenizer:
        import tokenizers

        try:
            with reference_errors.as_error(VocabularyError, "its reader"):
                stock = tokenizers.Tokenizer.from_str(self._json)
        except Exception as error:  # the library raises Exception itself
            raise VocabularyError(f"tokenizers does not open this tokenizer.json: {error}") from error
        return stock

    def _with(self, special_as_text: bool, truncation: Any, padding: Any) -> tokenizers.Tokenizer:
        key = special_as_text, truncation, padding
        if key == (False, None, None):
            return self._plain
        made = self._made.get(key)
        if made is None:
            made = self._make(special_as_text, truncation, padding)
            if len(self._made) >= _MOST_SETTINGS:
                self._made = {}
            self._made[key] = made
        return made

    def _make(self, special_as_text: bool, truncation: Any, padding: Any) -> tokenizers.Tokenizer:
        import json

        import tokenizers

        # A token that the model knows gets the model's id: so they get those that they must have.
        tokens = self._added.for_json()
        ids = tokenizers.models.WordLevel({token["content"]: token["id"] for token in tokens})
        stock = tokenizers.Tokenizer(ids)
        if truncation is not None:  # as a file has it: `enable_truncation` refuses strides that a file may have
            document = {**json.loads(stock.to_str()), "truncation": Truncation(*truncation).as_json()}
            stock = tokenizers.Tokenizer.from_str(json.dumps(document))
        stock.add_special_tokens(self._added.lasting_specials())
        stock.add_tokens(list(self._added.decoder().values()))
        stock.model = self._model
        for name, component in self._components.items():
            setattr(stock, name, component)
        if padding is not None:
            check_reference_pads(padding)
            names = ("length", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token")
            stock.enable_padding(**dict(zip(names, padding, strict=True)))
        stock.encode_special_tokens = special_as_text
        return stock


def _added_tokens(stock: tokenizers.Tokenizer) -> list[dict[str, Any]]:
    return [{"id": id} | token.__getstate__() for id, token in sorted(stock.get_added_tokens_decoder().items())]


class TiktokenEngine(DelegatedEngine):
    """A ``tiktoken.Encoding`` behind the interface of the native engine."""

    reference = "tiktoken"

    def __init__(
        self, name: str, pattern: str, ranks: dict[bytes, int], special_tokens: Mapping[str, int], reason: str
    ) -> None:
        super().__init__(reason)
        self.arguments = (name, pattern, ranks, dict(special_tokens), reason)
        try:
            import tiktoken
        except ImportError as error:
            raise UnsupportedError(
                f"not native: {reason}; the tiktoken library could encode instead, but it is not installed: "
                "pip install 'crayon-hf[tiktoken]'"
            ) from error
        try:
            with reference_errors.as_error(VocabularyError, "its Encoding"):
                self._encoding = tiktoken.Encoding(
                    name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=dict(special_tokens)
                )
        except Exception as error:
            raise VocabularyError(f"tiktoken does not accept this vocabulary: {error}") from error
        self._special_tokens = dict(special_tokens)
        self._token_of_id = {id: token for token, id in self._vocab(ranks).items()}
        self._ranks = ranks

    @property
    def components(self) -> str:
        raise UnsupportedError(f"tiktoken's encodings have no components (not native: {self.reason})")

    def post_process(self, *arguments: Any) -> Any:
        raise UnsupportedError(f"tiktoken's encodings have no post-processor (not native: {self.reason})")

    def encode(
        self,
        sequence: Any,
        pair: Any = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        truncation: Any = None,
        padding: Any = None,
    ) -> Any:
        self._refuse_settings(truncation, padding)
        if pair is not None or is_pretokenized:
            raise UnsupportedError(f"pairs and split input need the native engine (not native: {self.reason})")
        if (refused := validation.kind_refusal(sequence, "sequence")) is not None:
            raise refused
        return TiktokenEncoding(self, sequence, self.encode_ids(sequence, add_special_tokens, special_as_text))

    def encode_batch(
        self,
        input: Sequence[Any],
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        offsets: bool = True,
        threads: int = 0,
        truncation: Any = None,
        padding: Any = None,
    ) -> Any:
        self._refuse_settings(truncation, padding)
        validation.check_list(input, "input")
        for i, text in enumerate(input):
            if (refused := validation.kind_refusal(text, f"item {i} of the batch")) is not None:
                raise refused
        return [self.encode(text, None, is_pretokenized, add_special_tokens, special_as_text) for text in input]

    def encode_ids(
        self, text: str | bytes, add_special_tokens: bool = True, special_as_text: bool = False
    ) -> list[int]:
        text = _as_text(text)
        with reference_errors.as_error(ValueError, "the tiktoken library"):
            if special_as_text:
                return self._encoding.encode_ordinary(text)
            return self._encoding.encode(text, allowed_special="all", disallowed_special=())

    def encode_bytes(self, data: bytes) -> list[int]:
        ids: list[int] = self._encoding._encode_bytes(data)
        return ids

    def decode(self, ids: Any, skip_special_tokens: bool = True, unknown_ids: str = "error") -> str:
        return self.decode_bytes(self._known_ids(ids, unknown_ids), skip_special_tokens).decode("utf-8", "replace")

    def decode_bytes(self, ids: Any, skip_special_tokens: bool = False) -> bytes:
        specials = set(self._special_tokens.values()) if skip_special_tokens else ()
        return self._encoding.decode_bytes([id for id in self._known_ids(ids) if id not in specials])

    def token_bytes(self, id: int) -> bytes:
        return self._encoding.decode_single_token_bytes(id)

    def token_to_id(self, token: str) -> int | None:
        return self.get_vocab().get(token)

    def id_to_token(self, id: int) -> str | None:
        return self._token_of_id.get(id)

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        return self._vocab(self._ranks, with_added_tokens)

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        return len(self._token_of_id) if with_added_tokens else len(self._ranks)

    def added_tokens(self) -> list[dict[str, Any]]:
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        specials = sorted(self._special_tokens.items(), key=lambda item: item[1])
        return [{"id": id, "content": content, **flags} for content, id in specials]

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        return 0

    def _refuse_settings(self, truncation: Any, padding: Any) -> None:
        if truncation is not None or padding is not None:
            raise UnsupportedError(f"truncation and padding need the native engine (not native: {self.reason})")

    def _vocab(self, ranks: Mapping[bytes, int], with_added_tokens: bool = True) -> dict[str, int]:
        vocab = {spell(token): rank for token, rank in ranks.items()}
        return {**vocab, **self._special_tokens} if with_added_tokens else vocab


class TiktokenEncoding:
    """What tiktoken says about one text, with the names that ``tokenizers.Encoding`` uses. It knows no words."""

    def __init__(self, engine: TiktokenEngine, text: str, ids: list[int]) -> None:
        self._engine = engine
        self._text = text
        self.ids = ids
        self.n_sequences = 1
        self.overflowing: list[TiktokenEncoding] = []

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Encoding(num_tokens={len(self.ids)})"

    @property
    def tokens(self) -> list[str]:
        return [self._engine.id_to_token(id) or "" for id in self.ids]

    @property
    def offsets(self) -> list[tuple[int, int]]:
        return list(_character_spans(self.ids, self._engine.token_bytes))

    @property
    def type_ids(self) -> list[int]:
        return [0] * len(self.ids)

    @property
    def attention_mask(self) -> list[int]:
        return [1] * len(self.ids)

    @property
    def special_tokens_mask(self) -> list[int]:
        return [0] * len(self.ids)

    @property
    def word_ids(self) -> list[int | None]:
        return [None] * len(self.ids)

    words = word_ids

    @property
    def sequence_ids(self) -> list[int | None]:
        return [0] * len(self.ids)


def _character_spans(ids: list[int], token_bytes: Callable[[int], bytes]) -> Iterator[tuple[int, int]]:
    """For each token, the characters that it has bytes of."""
    characters = 0  # that have begun so far
    for id in ids:
        data = token_bytes(id)
        begun = sum(byte & 0xC0 != 0x80 for byte in data)
        inside = data[:1] != b"" and data[0] & 0xC0 == 0x80
        yield characters - inside, characters + begun
        characters += begun


def _as_text(text: str | bytes, what: str = "text") -> str:
    if isinstance(text, bytes):
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            raise InvalidUtf8Error(f"{what} is not UTF-8: invalid byte at offset {error.start}") from error
    refused = validation.kind_refusal(text, what)
    if refused is not None:
        raise refused
    return text
