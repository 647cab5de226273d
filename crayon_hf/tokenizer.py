"""`Tokenizer`: the interface of ``tokenizers.Tokenizer`` over a compiled cartridge."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, overload

from crayon_hf import _core, cache
from crayon_hf.errors import CartridgeError, SourceMissingError, UnsupportedError, VocabularyError
from crayon_hf.files import write_atomic

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import tokenizers

    from crayon_hf.conversion.tiktoken import RankFile
    from crayon_hf.delegated import TiktokenEngine, TokenizersEngine

_MAGIC = b"CRAY"


class Tokenizer:
    """Text to ids and back, with the ids of the reference library.

    Open one with `from_file`, `from_str`, `from_tiktoken` or `from_profile`. The engine underneath is immutable, so
    that one tokenizer can be used by many threads at once.
    """

    __slots__ = ("_engine", "_path", "_source", "encode_special_tokens")

    encode_special_tokens: bool
    """True reads special tokens in a text as ordinary text. False (the default) recognises them."""

    def __init__(
        self,
        engine: _core.Engine | TokenizersEngine | TiktokenEngine,
        path: str | None = None,
        source: str | bytes | None = None,
    ) -> None:
        """For the constructors below. `path` is that of the cartridge; `source` is its tokenizer.json, or its path."""
        self._engine = engine
        self._path = path
        self._source = source
        self.encode_special_tokens = False

    # -- opening

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> Tokenizer:
        """Open a ``tokenizer.json`` or a cartridge (``.dat``); the contents say which it is.

        A ``tokenizer.json`` is compiled the first time and kept in the cache; after that it is only mapped.
        """
        name = os.fspath(path)
        with open(name, "rb") as file:
            head = file.read(8)
        name = os.path.abspath(name)  # it may be needed again when the working directory is another one
        if head.startswith(_MAGIC):
            return _open_cartridge(name, head)
        try:
            try:
                opened = cache.open_source(name, _json_recipe())
            except UnsupportedError as error:
                with open(name, "rb") as file:
                    return _delegate_json(file.read(), str(error))
        except VocabularyError as error:
            hint = "; a tiktoken rank file is opened with from_tiktoken" if name.endswith(".tiktoken") else ""
            raise VocabularyError(f"{name}: {error}{hint}") from error
        return Tokenizer(*opened)

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        """Compile the text of a ``tokenizer.json``, in memory."""
        if not isinstance(json, str):
            raise TypeError(f"json is {type(json).__name__}, expected str")
        return Tokenizer.from_buffer(json.encode())

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        """Compile the bytes of a ``tokenizer.json``, in memory."""
        data = bytes(buffer)
        try:
            return Tokenizer(_core.Engine.from_bytes(_json_recipe().compile(data).cartridge), source=data)
        except UnsupportedError as error:
            return _delegate_json(data, str(error))

    @staticmethod
    def from_tiktoken(
        path_or_name: str | os.PathLike[str],
        *,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        name: str | None = None,
    ) -> Tokenizer:
        """Open a tiktoken rank file, or a published encoding by its name (``"cl100k_base"``).

        A published file is recognised by its contents. Any other needs its `pattern`, or the `name` of the encoding
        whose pattern and special tokens it uses; `special_tokens` maps their text to their ids. A name alone looks in
        tiktoken's cache, and then asks tiktoken.
        """
        from crayon_hf.conversion import tiktoken as conversion

        if isinstance(path_or_name, str) and path_or_name in conversion.KNOWN_ENCODINGS:
            path: str | None = conversion.find_published_file(path_or_name)
            data = conversion.fetch_published_file(path_or_name) if path is None else None
            name = path_or_name if name is None else name
        else:
            path, data = os.fspath(path_or_name), None
        digest = cache.source_digest(path) if path is not None else sha256(data or b"").hexdigest()
        facts = conversion.identify(digest, pattern=pattern, special_tokens=special_tokens, name=name)
        recipe = _tiktoken_recipe(facts)
        path = None if path is None else os.path.abspath(path)
        try:
            opened = cache.open_source(path, recipe) if path is not None else cache.open_bytes(data or b"", recipe)
        except UnsupportedError as error:
            if path is not None:
                with open(path, "rb") as file:
                    data = file.read()
            return _delegate_tiktoken(conversion.read_ranks(data or b""), facts, str(error))
        return Tokenizer(*opened)

    @staticmethod
    def from_profile(name: str) -> Tokenizer:
        """Open a profile by its name: ``lite``, or any name in the search path (see ``CRAYON_PROFILE_DIR``)."""
        from crayon_hf.search_path import find_profile

        profile = find_profile(name)
        if profile.cartridge is None:
            return Tokenizer.from_file(str(profile.source))
        try:
            tokenizer = Tokenizer.from_file(profile.cartridge)
        except CartridgeError:
            if profile.source is None or _cartridge_version(profile.cartridge) == 2:
                raise
            return Tokenizer.from_file(profile.source)
        if profile.source is not None and not tokenizer._is_compiled_from(profile.source):
            return Tokenizer.from_file(profile.source)
        return tokenizer

    # -- encoding

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> _core.Encoding:
        """Encode a text, or a pair of texts; with `is_pretokenized` each is a list of words."""
        return self._engine.encode(sequence, pair, is_pretokenized, add_special_tokens, self.encode_special_tokens)

    def encode_batch(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True, threads: int = 0
    ) -> list[_core.Encoding]:
        """Encode many inputs, each one a text or a pair of texts. `threads` 0 means one for each core."""
        as_text = self.encode_special_tokens
        return self._engine.encode_batch(input, is_pretokenized, add_special_tokens, as_text, True, threads)

    def encode_batch_fast(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True, threads: int = 0
    ) -> list[_core.Encoding]:
        """`encode_batch` without offsets: those of the result are all (0, 0)."""
        as_text = self.encode_special_tokens
        return self._engine.encode_batch(input, is_pretokenized, add_special_tokens, as_text, False, threads)

    def encode_bytes(self, data: bytes) -> list[int]:
        """The ids of any bytes at all, UTF-8 or not: no special tokens, no normalizer. `decode_bytes` undoes it."""
        return self._engine.encode_bytes(data)

    def encode_ragged(
        self, texts: Sequence[str | bytes], add_special_tokens: bool = True, threads: int = 0
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Encode many texts into two arrays, (ids, row_splits): text i has ``ids[row_splits[i]:row_splits[i + 1]]``."""
        return self._engine.encode_ragged(texts, add_special_tokens, self.encode_special_tokens, threads)

    @overload  # a str is a sequence of str, and its count an int all the same
    def count_tokens(  # type: ignore[overload-overlap]
        self, texts: str | bytes, add_special_tokens: bool = True, threads: int = 0
    ) -> int: ...
    @overload
    def count_tokens(
        self, texts: Sequence[str | bytes], add_special_tokens: bool = True, threads: int = 0
    ) -> list[int]: ...
    def count_tokens(
        self, texts: str | bytes | Sequence[str | bytes], add_special_tokens: bool = True, threads: int = 0
    ) -> int | list[int]:
        """How many tokens a text has, or a list of that for each of many texts."""
        one = isinstance(texts, (str, bytes))
        batch: Any = [texts] if one else texts
        counts = self._engine.count_tokens(batch, add_special_tokens, self.encode_special_tokens, threads)
        return counts[0] if one else counts

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """How many special tokens `encode` adds to a text, or to a pair."""
        return self._engine.num_special_tokens_to_add(is_pair)

    # -- decoding

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of some ids. TokenIdError for an id that the vocabulary does not have."""
        return self._engine.decode(ids, skip_special_tokens)

    def decode_bytes(self, ids: Sequence[int], skip_special_tokens: bool = False) -> bytes:
        """The bytes of some ids, which need not be whole characters."""
        return self._engine.decode_bytes(ids, skip_special_tokens)

    def decode_batch(
        self, sequences: Iterable[Sequence[int]], skip_special_tokens: bool = True, threads: int = 0
    ) -> list[str]:
        """`decode` for many sequences of ids."""
        return self._engine.decode_batch(sequences, skip_special_tokens, threads)

    # -- vocabulary

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, spelled as in the vocabulary; None when there is none."""
        return self._engine.token_to_id(token)

    def id_to_token(self, id: int) -> str | None:
        """The token with an id, spelled as in the vocabulary; None when there is none."""
        return self._engine.id_to_token(id)

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Every token and its id."""
        return self._engine.get_vocab(with_added_tokens)

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """How many tokens there are."""
        return self._engine.get_vocab_size(with_added_tokens)

    def get_added_tokens_decoder(self) -> dict[int, tokenizers.AddedToken]:
        """The added tokens by id."""
        from tokenizers import AddedToken

        return {
            token["id"]: AddedToken(**{key: value for key, value in token.items() if key != "id"})
            for token in self._engine.added_tokens()
        }

    # -- saving

    def to_str(self, pretty: bool = False) -> str:
        """The ``tokenizer.json``, as the ``tokenizers`` library writes it."""
        import tokenizers

        text: str = tokenizers.Tokenizer.from_buffer(self._source_json()).to_str(pretty)
        return text

    def save(self, path: str | os.PathLike[str], pretty: bool = True) -> None:
        """Write the ``tokenizer.json`` to `path`; if `path` ends in ``.dat``, the cartridge, and the json beside it.

        The json beside a cartridge is, byte for byte, the one that it was compiled from; `pretty` is for a json alone.
        """
        name = os.fspath(path)
        if not name.endswith(".dat"):
            write_atomic(name, self.to_str(pretty).encode())
            return
        source, cartridge = self._source_json(), self._cartridge()
        write_atomic(_beside(name), source)
        write_atomic(name, cartridge)

    # -- the engine

    @property
    def engine(self) -> str:
        """``"native"``, or ``"delegated"`` when a component is not native and the reference library encodes."""
        return "native" if isinstance(self._engine, _core.Engine) else "delegated"

    def engine_report(self) -> dict[str, Any]:
        """Which engine this is and why: engine, reason, cpu, cartridge, reference."""
        return {
            "engine": self.engine,
            "reason": getattr(self._engine, "reason", None),
            "cpu": self._engine.cpu,
            "cartridge": self._path,
            "reference": _reference(self._engine.metadata),
        }

    def engine_info(self) -> dict[str, Any]:
        """The facts of the cartridge, or of the reference that stands in for one."""
        return self._engine.info()

    @property
    def source_digest(self) -> str | None:
        """The SHA-256 (hex) of the tokenizer.json that the cartridge was compiled from; None when delegated."""
        return self._engine.source_digest if isinstance(self._engine, _core.Engine) else None

    def __repr__(self) -> str:
        report = self.engine_report()
        return (
            f"Tokenizer(engine={report['engine']!r}, vocab_size={self.get_vocab_size()}, "
            f"reference={report['reference']!r}, cartridge={report['cartridge']!r})"
        )

    # -- copies

    def __copy__(self) -> Tokenizer:
        twin = Tokenizer(self._engine, self._path, self._source)
        twin.encode_special_tokens = self.encode_special_tokens
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        return self.__copy__()  # everything that is shared is immutable

    def __reduce__(self) -> tuple[Callable[..., Tokenizer], tuple[Any, ...]]:
        engine = self._engine
        if not isinstance(engine, _core.Engine):
            return _unpickle_delegated, (type(engine).__name__, engine.arguments, self.encode_special_tokens)
        try:
            source: bytes | None = self._source_json()
        except SourceMissingError:
            if self._path is None:
                raise
            source = None  # the path of the cartridge will have to do
        return _unpickle, (self._path, engine.source_digest, engine.metadata, source, self.encode_special_tokens)

    # -- inside

    def _is_compiled_from(self, source: str | os.PathLike[str]) -> bool:
        return cache.source_digest(os.fspath(source)) == getattr(self._engine, "source_digest", None)

    def _source_json(self) -> bytes:
        if isinstance(self._source, bytes):
            return self._source
        if self._source is None:
            raise UnsupportedError(f"there is no tokenizer.json (not native: {self.engine_report()['reason']})")
        try:
            with open(self._source, "rb") as file:
                data = file.read()
        except FileNotFoundError as error:
            raise SourceMissingError(f"the tokenizer.json of this cartridge is not there: {self._source}") from error
        if sha256(data).hexdigest() != self._engine.source_digest:
            raise SourceMissingError(f"{self._source} is not the file that this cartridge was compiled from")
        return data

    def _cartridge(self) -> bytes:
        if not isinstance(self._engine, _core.Engine):
            raise UnsupportedError(f"there is no cartridge (not native: {self._engine.reason})")
        if self._path is not None:
            try:
                with open(self._path, "rb") as file:
                    data = file.read()
                if _core.Engine.from_bytes(data).source_digest == self._engine.source_digest:
                    return data
            except (OSError, CartridgeError):
                pass  # it was in a cache that somebody emptied: it can be made again
        return _recipe_of(self._engine.metadata).compile(self._source_json()).cartridge


def _reference(metadata: str) -> str:
    """Which library's output is right, from the metadata of a cartridge."""
    import json  # some milliseconds that opening a cached cartridge need not wait for

    reference: str = json.loads(metadata).get("reference", "tokenizers")
    return reference


def _json_recipe() -> cache.Recipe:
    return _recipe_of('{"reference":"tokenizers"}')


def _recipe_of(metadata: str) -> cache.Recipe:

    def compile_json(data: bytes) -> cache.Compiled:
        flavor = "rust_regex" if _reference(metadata) == "tiktoken" else "oniguruma"
        return cache.Compiled(_core.compile_tokenizer_json(data, metadata, flavor))

    return cache.Recipe(f"tokenizer.json/{metadata}", compile_json)


def _tiktoken_recipe(facts: RankFile) -> cache.Recipe:
    import json

    metadata = json.dumps({"reference": "tiktoken", "name": facts.name}, separators=(",", ":"))

    def compile_ranks(data: bytes) -> cache.Compiled:
        from crayon_hf.conversion.tiktoken import read_ranks, tokenizer_json

        source = tokenizer_json(read_ranks(data), facts)
        return cache.Compiled(_recipe_of(metadata).compile(source).cartridge, source)

    return cache.Recipe(facts.recipe_name, compile_ranks)


def _cartridge_version(path: str | os.PathLike[str]) -> int:
    with open(path, "rb") as file:
        return int.from_bytes(file.read(8)[4:], "little")


def _open_cartridge(path: str, head: bytes) -> Tokenizer:
    if int.from_bytes(head[4:], "little") == 2:
        raise CartridgeError(f"{path} is a version 2 cartridge: greedy mode, which reads them, is not there yet")
    return Tokenizer(cache.open_cartridge(path), path, _beside(path))


def _beside(path: str) -> str:
    return path.removesuffix(".dat") + ".json"


def _delegate_json(data: bytes, reason: str) -> Tokenizer:
    from crayon_hf.delegated import TokenizersEngine, warn_delegated

    tokenizer = Tokenizer(TokenizersEngine(data.decode(), reason), source=data)
    warn_delegated(reason, "tokenizers")
    return tokenizer


def _delegate_tiktoken(ranks: dict[bytes, int], facts: RankFile, reason: str) -> Tokenizer:
    from crayon_hf.delegated import TiktokenEngine, warn_delegated

    name = facts.name or "custom"
    tokenizer = Tokenizer(TiktokenEngine(name, facts.pattern, ranks, facts.special_tokens, reason))
    warn_delegated(reason, "tiktoken")
    return tokenizer


def _unpickle(
    path: str | None, digest: str, metadata: str, source: bytes | None, encode_special_tokens: bool
) -> Tokenizer:
    tokenizer = None
    if path is not None:
        try:
            engine = cache.open_cartridge(path)
            if engine.source_digest == digest and engine.metadata == metadata:
                tokenizer = Tokenizer(engine, path, _beside(path) if source is None else source)
        except (CartridgeError, OSError):
            if source is None:
                raise
    if tokenizer is None:
        if source is None:
            raise CartridgeError(f"{path} is not the cartridge that this tokenizer was pickled with")
        opened = cache.open_bytes(source, _recipe_of(metadata))
        tokenizer = Tokenizer(*opened)
    tokenizer.encode_special_tokens = encode_special_tokens
    return tokenizer


def _unpickle_delegated(kind: str, arguments: tuple[Any, ...], encode_special_tokens: bool) -> Tokenizer:
    from crayon_hf import delegated

    engine: TokenizersEngine | TiktokenEngine
    if kind == "TokenizersEngine":
        engine = delegated.TokenizersEngine(*arguments)
        tokenizer = Tokenizer(engine, source=arguments[0].encode())
    else:
        tokenizer = Tokenizer(delegated.TiktokenEngine(*arguments))
    tokenizer.encode_special_tokens = encode_special_tokens
    return tokenizer
