"""The ``tokenizers`` library as an engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.fallback import reference_errors
from crayon_hf.fallback.delegated import DelegatedEngine, as_text
from crayon_hf.tokenizer_json.added_tokens import AddedTokens
from crayon_hf.tokenizer_json.components import COMPONENTS
from crayon_hf.tokenizer_json.truncation_padding import Truncation, check_reference_pads
from crayon_hf.util import validation
from crayon_hf.util.byte_level import BYTE_LEVEL
from crayon_hf.util.reference import need_components, reference_class

if TYPE_CHECKING:
    import tokenizers

_MOST_SETTINGS = 16
"""The most combinations of truncation and padding for which an engine caches a tokenizer."""


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
        """`added` has the added tokens, with facts that JSON cannot store. `live` are components written in Python."""
        super().__init__(reason)
        self.arguments = (json, reason, added)
        self._json = json
        # Settings are state of the library's object. Each combination has its own object, which never changes, so
        # threads need no lock. The objects share the vocabulary.
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
        ids: list[int] = self.encode(as_text(text), None, False, add_special_tokens, special_as_text).ids
        return ids

    def ids_and_ranges(self, text: str, special_as_text: bool = False) -> tuple[list[int], list[tuple[int, int]]]:
        key = "ranges", special_as_text
        stock = self._made.get(key)
        if stock is None:
            stock = self._made[key] = self._make(special_as_text, None, None)
            stock.post_processor = None  # it may trim offsets
        with reference_errors.of_tokenizers(self._is_live):
            encoding = stock.encode(text, add_special_tokens=False)
        return encoding.ids, encoding.offsets

    def encode_bytes(self, data: bytes) -> list[int]:
        raise UnsupportedError(
            f"encode_bytes needs the native engine, which does not support this tokenizer ({self.reason})"
        )

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
        need_components(f"a tokenizer that the engine does not support ({self.reason})")
        try:
            with reference_errors.as_error(VocabularyError, "its reader"):
                stock = reference_class().from_str(self._json)
        except Exception as error:  # the library raises Exception itself
            raise VocabularyError(f"tokenizers cannot open this tokenizer.json: {error}") from error
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

        # A token that the model knows gets the model's id, so this model assigns the required ids.
        tokens = self._added.for_json()
        ids = tokenizers.models.WordLevel({token["content"]: token["id"] for token in tokens})
        stock = reference_class()(ids)
        if truncation is not None:  # through JSON: `enable_truncation` refuses strides that files may have
            document = {**json.loads(stock.to_str()), "truncation": Truncation(*truncation).as_json()}
            stock = reference_class().from_str(json.dumps(document))
        stock.add_special_tokens(self._added.lasting_specials())
        stock.add_tokens(list(self._added.decoder().values()))
        stock.model = self._model
        for name, component in self._components.items():
            setattr(stock, name, component)
        respelled = set(self._added.lasting_spellings())
        stock.add_tokens([tokenizers.AddedToken(content, normalized=True) for content in respelled])
        stock.add_tokens([token for token in self._added.decoder().values() if token.content in respelled])
        if padding is not None:
            check_reference_pads(padding)
            names = ("length", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token")
            stock.enable_padding(**dict(zip(names, padding, strict=True)))
        stock.encode_special_tokens = special_as_text
        return stock


def _added_tokens(stock: tokenizers.Tokenizer) -> list[dict[str, Any]]:
    return [{"id": id} | token.__getstate__() for id, token in sorted(stock.get_added_tokens_decoder().items())]
