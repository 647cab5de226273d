"""The ``tiktoken`` library as an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.fallback import reference_errors
from crayon_hf.fallback.delegated import DelegatedEngine, as_text
from crayon_hf.util import validation
from crayon_hf.util.byte_level import spell
from crayon_hf.util.extras import needed
from crayon_hf.util.replacing import stock

_Encoding = TypeVar("_Encoding")


def stock_encoding(kind: type[_Encoding], *parts: Any, **named: Any) -> _Encoding:
    """A ``tiktoken.Encoding`` of the library itself, even after `install` has replaced its parts."""
    encoding = kind.__new__(kind)
    stock(kind, "__init__")(encoding, *parts, **named)
    return encoding


class TiktokenEngine(DelegatedEngine):
    """A ``tiktoken.Encoding`` behind the interface of the native engine."""

    reference = "tiktoken"

    def __init__(
        self, name: str, pattern: str, ranks: dict[bytes, int], special_tokens: Mapping[str, int], reason: str
    ) -> None:
        super().__init__(reason)
        self.arguments = (name, pattern, ranks, dict(special_tokens), reason)
        with needed(f"a tokenizer that the engine does not support ({reason})", "tiktoken"):
            from tiktoken import Encoding
        try:
            with reference_errors.as_error(VocabularyError, "its Encoding"):
                self._encoding = stock_encoding(
                    Encoding, name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=dict(special_tokens)
                )
        except Exception as error:
            raise VocabularyError(f"tiktoken refuses this vocabulary: {error}") from error
        self._special_tokens = dict(special_tokens)
        self._ranks = ranks

    @cached_property
    def _token_of_id(self) -> dict[int, str]:
        return {id: token for token, id in self._vocab(self._ranks).items()}

    @property
    def components(self) -> str:
        raise UnsupportedError(
            f"tiktoken has no components, and the native engine does not support this encoding ({self.reason})"
        )

    def post_process(self, *arguments: Any) -> Any:
        raise UnsupportedError(
            f"tiktoken has no post-processor, and the native engine does not support this encoding ({self.reason})"
        )

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
            raise UnsupportedError(
                f"pairs and split input need the native engine, which does not support this tokenizer ({self.reason})"
            )
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
        text = as_text(text)
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
        return self.get_vocab().get(validation.text(token, "token"))

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
            raise UnsupportedError(
                f"truncation and padding need the native engine, which does not support this tokenizer ({self.reason})"
            )

    def _vocab(self, ranks: Mapping[bytes, int], with_added_tokens: bool = True) -> dict[str, int]:
        vocab = {spell(token): rank for token, rank in ranks.items()}
        return {**vocab, **self._special_tokens} if with_added_tokens else vocab


class TiktokenEncoding:
    """The result of tiktoken for one text, with the attributes of ``tokenizers.Encoding``. All word ids are None."""

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
        return list(_character_ranges(self.ids, self._engine.token_bytes))

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


def _character_ranges(ids: list[int], token_bytes: Callable[[int], bytes]) -> Iterator[tuple[int, int]]:
    """Yield for each token the range of characters of which the token has bytes."""
    characters = 0  # the number of characters that have begun so far
    for id in ids:
        data = token_bytes(id)
        begun = sum(byte & 0xC0 != 0x80 for byte in data)
        inside = data[:1] != b"" and data[0] & 0xC0 == 0x80
        yield characters - inside, characters + begun
        characters += begun
