"""`Encoding`, with the interface of ``tiktoken.Encoding``, and `get_encoding`."""

from __future__ import annotations

import copy
import math
import os
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from crayon_hf._core import Engine
from crayon_hf.errors import TokenIdError, VocabularyError
from crayon_hf.fallback.delegated import warn_delegated
from crayon_hf.fallback.tiktoken_engine import stock_encoding
from crayon_hf.formats.tiktoken import KNOWN_ENCODINGS, RankFile, find_published_file, write_ranks
from crayon_hf.tiktoken import _plugins
from crayon_hf.tiktoken._arguments import bytes_of, check_text, check_threads, number_of, ranks_of, specials_of
from crayon_hf.tiktoken._specials import (
    are_plain,
    common_beginning,
    is_ambiguous,
    pattern_of,
    raise_disallowed_special_token,
)
from crayon_hf.tokenizer import Tokenizer, opening
from crayon_hf.util.byte_level import spell
from crayon_hf.util.extras import needed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["ENCODINGS", "Encoding", "get_encoding", "raise_disallowed_special_token"]

NOTHING: frozenset[str] = frozenset()
Allowed = Literal["all"] | AbstractSet[str]
Disallowed = Literal["all"] | Collection[str]


class Encoding:
    """Encodes and decodes as ``tiktoken.Encoding`` does.

    docs/from-tiktoken.md has examples.
    """

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        """Make an encoding from its parts.

        `explicit_n_vocab`, if given, must be the number of tokens, and the ids must be consecutive.
        """
        highest = max(max(mergeable_ranks.values()), max(special_tokens.values(), default=0))
        if explicit_n_vocab:
            assert len(mergeable_ranks) + len(special_tokens) == explicit_n_vocab
            assert highest == explicit_n_vocab - 1
        ranks, specials = ranks_of(mergeable_ranks), specials_of(special_tokens)
        if "" in specials:
            raise VocabularyError("a special token is empty: it would match everywhere")
        # If a tokenizer.json cannot express the special tokens, the engine has none, and this class finds them itself.
        known = specials if are_plain(specials, ranks) else {}
        self._set_up(name, pat_str, specials, known, _open_ranks(name, pat_str, ranks, known))
        self._mergeable_ranks = mergeable_ranks
        self.max_token_value = highest

    def _set_up(
        self, name: str, pattern: str, specials: Mapping[str, int], known: Collection[str], tokenizer: Tokenizer
    ) -> None:
        """Set the attributes. `known` are the special tokens that the engine itself can find."""
        self.name = name
        self._pat_str = pattern
        self._special_tokens = dict(specials)
        self._special_token_values = set(specials.values())
        self._tokenizer = tokenizer
        self._engine = tokenizer._current_engine()  # never outdated: no other object changes this tokenizer
        self._native = self._engine if isinstance(self._engine, Engine) else None
        self._missing = frozenset(specials) - frozenset(known)
        self._special_pattern = pattern_of(frozenset(specials))
        self._special_prefix = common_beginning(specials)

    @classmethod
    def _published(cls, name: str) -> Encoding:
        pattern, specials = KNOWN_ENCODINGS[name].pattern, KNOWN_ENCODINGS[name].special_tokens
        path = find_published_file(name)
        named: dict[int, str] = {}
        for content, id in specials.items():
            named.setdefault(id, content)  # tiktoken decodes an id of two names to the first one
        known = {content: id for id, content in named.items()}
        if path is None or len(known) == len(specials):
            known, tokenizer = specials, Tokenizer.from_tiktoken(name)
        else:
            tokenizer = Tokenizer.from_tiktoken(path, pattern=pattern, special_tokens=known, name=name)
        encoding = cls.__new__(cls)
        encoding._set_up(name, pattern, specials, known, tokenizer)
        return encoding

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    # -- encoding

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the ids of a text, with special tokens read as ordinary text."""
        if not isinstance(text, str):
            raise TypeError(f"text is {type(text).__name__}, expected str")
        return self._engine.encode_ids(text, False, True)

    def encode(
        self, text: str, *, allowed_special: Allowed = NOTHING, disallowed_special: Disallowed = "all"
    ) -> list[int]:
        """Return the ids of a text.

        Special tokens in `allowed_special` are recognised. Raise ValueError for a text with a token of
        `disallowed_special`, by default all tokens that are not allowed. Other special tokens are ordinary text.
        """
        if disallowed_special == "all" and isinstance(text, str) and self._special_prefix not in text:
            # Without a special token in the text, all valid arguments give the same result.
            kind = allowed_special.__class__
            if kind is str:
                agreed = allowed_special == "all"
            else:
                agreed = kind in (frozenset, set) and allowed_special <= self.special_tokens_set  # type: ignore[operator]
            if agreed:
                return self._engine.encode_ids(text, False, True)
        return self._encode(text, self._check(text, allowed_special, disallowed_special))

    def encode_to_numpy(
        self, text: str, *, allowed_special: Allowed = NOTHING, disallowed_special: Disallowed = "all"
    ) -> npt.NDArray[np.uint32]:
        """Return the ids of `encode` as a read-only array. Raise UnicodeEncodeError for a lone surrogate."""
        import numpy as np

        rule, disallowed = self._rules(allowed_special, disallowed_special)
        self._refuse(text, disallowed)
        if not text.isascii():
            text.encode()
        allowed = self._known(rule)
        if not allowed or (self._knows_all_in(text) and allowed >= self.special_tokens_set):
            ids = self._engine.encode_ragged([text], False, not allowed)[0].view(np.uint32)
        else:
            ids = np.array(self._encode(text, allowed), dtype=np.uint32)
        ids.flags.writeable = False
        return ids

    def encode_ordinary_batch(self, text: Iterable[str], *, num_threads: int = 8) -> list[list[int]]:
        """`encode_ordinary` for many texts, in parallel."""
        if self._has_own("encode_ordinary"):
            check_threads(num_threads)
            return list(map(self.encode_ordinary, text))
        return self._lists(list(text), True, num_threads)

    def encode_batch(
        self,
        text: Iterable[str],
        *,
        num_threads: int = 8,
        allowed_special: Allowed = NOTHING,
        disallowed_special: Disallowed = "all",
    ) -> list[list[int]]:
        """`encode` for many texts, in parallel."""
        texts = list(text)
        if disallowed_special is None:
            raise TypeError("disallowed_special is None, expected 'all' or a collection of str")
        allowed, disallowed = self._rules(allowed_special, disallowed_special)
        check_threads(num_threads)
        if not texts:
            return []
        if self._has_own("encode"):
            return [self.encode(one, allowed_special=allowed, disallowed_special=disallowed) for one in texts]
        self._refuse(texts[0], disallowed)
        allowed = self._known(allowed)
        for one in texts[1:]:
            self._refuse(one, disallowed)
        if not allowed:
            return self._lists(texts, True, num_threads)
        if allowed >= self.special_tokens_set and all(map(self._knows_all_in, texts)):
            return self._lists(texts, False, num_threads)
        return [self._encode(one, allowed) for one in texts]

    def encode_with_unstable(
        self, text: str, *, allowed_special: Allowed = NOTHING, disallowed_special: Disallowed = "all"
    ) -> tuple[list[int], list[list[int]]]:
        """Return the ids that stay if more text follows, and the lists of ids that could come after them.

        Needs the tiktoken library.
        """
        found: tuple[list[int], list[list[int]]] = self._library.encode_with_unstable(
            text, allowed_special=allowed_special, disallowed_special=disallowed_special
        )
        return found

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of one token, special or not. Raise KeyError if the token does not exist."""
        if self._native is not None and (found := self._native.id_of_bytes(text_or_bytes)) is not None:
            return found
        data = bytes_of(text_or_bytes)
        id = self._tokenizer.token_to_id(spell(data))
        if id is not None and self._tokenizer.decode_bytes([id]) == data:
            return id
        special = self._special_tokens.get(data.decode("utf-8", "replace"))
        if special is None:
            raise KeyError(data)
        return special

    # -- decoding

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Return the joined bytes of all ids. Raise KeyError for an unknown id."""
        if isinstance(tokens, bytes):
            tokens = list(tokens)  # each byte is an id
        try:
            return self._engine.decode_bytes(tokens)
        except TokenIdError:
            return b"".join(map(self._bytes_of, tokens))

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Return the text of some ids. `errors` is as for ``bytes.decode``, since ids may end inside a character."""
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of one token, special or not. Raise KeyError if the token does not exist."""
        if self._native is not None and (found := self._native.token_bytes(token)) is not None:
            return found
        try:
            return self._bytes_of(token)
        except KeyError:
            raise KeyError(str(token)) from None

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """Return a list with the bytes of each id."""
        if self._native is not None and (found := self._native.tokens_bytes(tokens)) is not None:
            return found
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """Return the text of some ids, and the character offset of each id. Raise UnicodeDecodeError for invalid UTF-8.

        If a token begins inside a character, its offset is that of the character.
        """
        if self._native is not None and (found := self._native.bytes_and_starts(tokens)) is not None:
            return found[0].decode("utf-8"), found[1]
        parts = self.decode_tokens_bytes(tokens)
        characters, starts = 0, []
        for part in parts:
            inside = 0x80 <= part[0] < 0xC0
            starts.append(max(0, characters - inside))
            characters += sum(not 0x80 <= byte < 0xC0 for byte in part)
        return b"".join(parts).decode("utf-8", errors="strict"), starts

    def decode_batch(
        self, batch: Iterable[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """`decode` for many sequences of ids."""
        check_threads(num_threads)
        return [self.decode(tokens, errors) for tokens in batch]

    def decode_bytes_batch(self, batch: Iterable[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """`decode_bytes` for many sequences of ids."""
        check_threads(num_threads)
        return [self.decode_bytes(tokens) for tokens in batch]

    # -- the vocabulary

    def token_byte_values(self) -> list[bytes]:
        """Return the bytes of every token that is not special, sorted."""
        return self._sorted_tokens.copy()

    @property
    def eot_token(self) -> int:
        """The id of ``<|endoftext|>``. Raises KeyError if the encoding has no such token."""
        return self._special_tokens["<|endoftext|>"]

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """The special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Whether an id is that of a special token."""
        assert isinstance(token, int)
        return token in self._special_token_values

    @cached_property
    def max_token_value(self) -> int:
        """The highest id."""
        return max(self._tokenizer.get_vocab().values())

    @property
    def n_vocab(self) -> int:
        """One more than the highest id."""
        return self.max_token_value + 1

    @cached_property
    def _sorted_tokens(self) -> list[bytes]:
        return sorted(self._mergeable_ranks)

    @cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        ranks = {}
        for id in range(self.max_token_value + 1):
            if id not in self._special_token_values:
                try:
                    ranks[self._tokenizer.decode_bytes([id])] = id
                except TokenIdError:
                    continue  # a hole in the ids
        return ranks

    # -- pickling: a published encoding by its name, any other by its parts

    def __getstate__(self) -> object:
        return self.name if self is ENCODINGS.get(self.name) else self._parts()

    def __setstate__(self, state: object) -> None:
        if isinstance(state, str):
            self.__dict__ = get_encoding(state).__dict__
            return
        assert isinstance(state, dict)
        self.__init__(**state)  # type: ignore[misc]

    def _parts(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "pat_str": self._pat_str,
            "mergeable_ranks": self._mergeable_ranks,
            "special_tokens": self._special_tokens,
        }

    def _has_own(self, name: str) -> bool:
        """Whether a derived class or the instance replaces the method `name`, which tiktoken calls for each text."""
        return getattr(getattr(self, name), "__func__", None) is not vars(Encoding)[name]

    # -- special tokens

    def _rules(self, allowed: Any, disallowed: Any) -> tuple[Any, frozenset[str]]:
        if isinstance(allowed, str) and allowed == "all":
            allowed = self.special_tokens_set
        if isinstance(disallowed, str) and disallowed == "all":
            disallowed = self.special_tokens_set - allowed
        return allowed, frozenset(disallowed or ())

    def _check(self, text: str, allowed_special: Allowed, disallowed_special: Disallowed) -> AbstractSet[str]:
        allowed, disallowed = self._rules(allowed_special, disallowed_special)
        self._refuse(text, disallowed)
        return self._known(allowed)

    def _refuse(self, text: str, disallowed: frozenset[str]) -> None:
        check_text(text)
        if disallowed == self.special_tokens_set:
            found = self._find_special(text)
        else:
            match = pattern_of(disallowed).search(text) if disallowed else None
            found = match.group() if match else None
        if found is not None:
            raise_disallowed_special_token(found)

    def _known(self, allowed: Any) -> AbstractSet[str]:
        if not isinstance(allowed, (set, frozenset)):
            raise TypeError(f"allowed_special is {type(allowed).__name__}, expected 'all' or a set of str")
        for token in allowed:
            if not isinstance(token, str):
                raise TypeError(f"allowed_special has {type(token).__name__} in it, expected str")
            token.encode()  # raises for a lone surrogate
        return allowed & self.special_tokens_set

    def _find_special(self, text: str) -> str | None:
        """Return the first special token in the text, or None."""
        check_text(text)
        # Most special tokens share a prefix, and a search for one string is many times faster than for several.
        if self._special_prefix not in text or not self._special_tokens:
            return None
        match = self._special_pattern.search(text)
        return match.group() if match else None

    def _knows_all_in(self, text: str) -> bool:
        """Whether the engine can find every special token in the text."""
        return not any(content in text for content in self._missing)

    def _encode(self, text: str, allowed: AbstractSet[str]) -> list[int]:
        """Return the ids, with the tokens of `allowed` recognised. All of `allowed` are special tokens."""
        encode_ids = self._engine.encode_ids
        if not allowed or self._special_prefix not in text:
            return encode_ids(text, False, True)
        if len(allowed) == len(self._special_tokens) and self._knows_all_in(text):
            return encode_ids(text, False, False)
        if is_ambiguous(frozenset(self._special_tokens)):
            found: list[int] = self._library.encode(text, allowed_special=allowed, disallowed_special=())
            return found
        ids: list[int] = []
        start = 0
        for match in pattern_of(frozenset(allowed)).finditer(text):
            ids += encode_ids(text[start : match.start()], False, True)
            ids.append(self._special_tokens[match.group()])
            start = match.end()
        return ids + encode_ids(text[start:], False, True)

    # -- the library's private methods that projects use

    @property
    def _core_bpe(self) -> Any:
        return self._library._core_bpe

    @_core_bpe.setter
    def _core_bpe(self, core: Any) -> None:
        # The program assigns a vocabulary of its own, so this becomes an encoding of the library.
        vars(self).update(_mergeable_ranks=self._mergeable_ranks, max_token_value=self.max_token_value, _core_bpe=core)
        self.__class__ = _stock_class()
        warn_delegated("the program has assigned _core_bpe", "tiktoken")

    def _encode_bytes(self, text: bytes) -> list[int]:
        if not isinstance(text, bytes):
            raise TypeError(f"text is {type(text).__name__}, expected bytes")
        try:
            return self.encode_ordinary(text.decode())
        except UnicodeDecodeError:
            found: list[int] = self._library._encode_bytes(text)
            return found

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """Return the ids of a text that the pattern does not split."""
        data = bytes_of(text_or_bytes)
        # The engine's vocabulary has the special tokens, too, and would find one as a whole piece.
        if self._tokenizer.engine == "native" and data.decode("utf-8", "replace") not in self._special_tokens:
            if not data and (empty := self._tokenizer.token_to_id("")) is not None:
                return [empty]
            return self._uncut.encode_bytes(data)
        found: list[int] = self._library._encode_single_piece(data)
        return found

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        found: list[int] = self._library._encode_only_native_bpe(text)
        return found

    @cached_property
    def _uncut(self) -> Tokenizer:
        from crayon_hf import pre_tokenizers

        tokenizer = copy.copy(self._tokenizer)
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        return tokenizer

    # -- inside

    def _bytes_of(self, token: int) -> bytes:
        try:
            return self._tokenizer.decode_bytes([token])
        except TokenIdError:
            pass
        token = number_of(token)
        for content, id in self._special_tokens.items():
            if id == token:
                return content.encode()
        raise KeyError(f"Invalid token for decoding: {token}")

    def _lists(self, texts: list[str], special_as_text: bool, num_threads: int | None) -> list[list[int]]:
        check_threads(num_threads)
        for text in texts:
            check_text(text)
        threads = 0 if num_threads is None or num_threads >= (os.cpu_count() or 1) else math.ceil(num_threads)
        return self._engine.encode_lists(texts, False, special_as_text, threads)

    @cached_property
    def _library(self) -> Any:
        """The encoding with the same parts, as an object of the tiktoken library."""
        return stock_encoding(_stock_class(), **self._parts())


def _stock_class() -> Any:
    with needed("this call", "tiktoken"):
        from tiktoken import Encoding as Stock
    return Stock


def _open_ranks(name: str, pattern: str, ranks: Mapping[bytes, int], specials: Mapping[str, int]) -> Tokenizer:
    if len(set(ranks.values())) != len(ranks):
        raise VocabularyError("two tokens have the same rank")
    try:
        return Tokenizer._of(opening.open_tiktoken(write_ranks(ranks), pattern, specials, name))
    except VocabularyError as error:  # for example a byte without a token, which the library accepts
        refused = error
    try:
        return Tokenizer._of(opening.delegate_ranks(dict(ranks), RankFile(name, pattern, dict(specials)), str(refused)))
    except VocabularyError:
        raise refused from None


# -- encodings by name

ENCODINGS: dict[str, Encoding] = {}
_lock = threading.RLock()


def get_encoding(encoding_name: str) -> Encoding:
    """Return an encoding by name, published or of a plugin (``tiktoken_ext``). Each name always gives the same object.

    Raise ValueError for an unknown name.

    docs/from-tiktoken.md has examples.
    """
    if not isinstance(encoding_name, str):
        raise ValueError(f"Expected a string in get_encoding, got {type(encoding_name)}")
    with _lock:
        found = ENCODINGS.get(encoding_name)
        if found is None:
            found = ENCODINGS[encoding_name] = _open(encoding_name)
        return found


def _open(name: str) -> Encoding:
    constructor = _plugins.constructor_of(name)
    if constructor is None:
        known = ", ".join(_plugins.ENCODING_CONSTRUCTORS)
        raise ValueError(f"Unknown encoding {name}.\nKnown encodings: {known}")
    return Encoding._published(name) if _plugins.is_published(name) else Encoding(**constructor())
