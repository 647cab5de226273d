"""The added tokens of a tokenizer, and the rules for adding one.

The rules are those of the ``tokenizers`` library (the reference):

- A known added token keeps its id and takes the new flags.
- A token of the model keeps the model's id.
- A token that was special once stays special for `decode`, even if its flag changes.
- A token that was normalized once keeps its normalized spelling until another normalizer is set.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from crayon_hf import _core
from crayon_hf.util.reference import reference_class

if TYPE_CHECKING:
    import tokenizers


class Token(NamedTuple):
    """An added token without its id."""

    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True
    special: bool = False


class AddedTokens:
    """The added tokens by id and by content."""

    __slots__ = ("_decoder", "_ids", "_last", "_normalized", "_specials", "_tokens")

    def __init__(self, tokens: Iterable[dict[str, Any]]) -> None:
        """`tokens` are dicts with ``id`` and the fields of `Token`, as in a tokenizer.json, in order of addition."""
        self._tokens: dict[int, Token] = {}
        self._ids: dict[str, int] = {}
        self._specials: set[str] = set()
        self._normalized: set[str] = set()
        self._last = -1
        self._decoder: Callable[[], dict[int, tokenizers.AddedToken]] | None = None
        rows = list(tokens)
        self._put([int(row["id"]) for row in rows], [Token(*(row[name] for name in Token._fields)) for row in rows])

    def copy(self) -> AddedTokens:
        """Return a copy."""
        twin = AddedTokens(())
        twin._tokens, twin._ids, twin._last = dict(self._tokens), dict(self._ids), self._last
        twin._specials, twin._normalized = set(self._specials), set(self._normalized)
        return twin

    def reopened(self) -> AddedTokens:
        """Return the tokens as if saved and opened again: only the flags then say which tokens are special."""
        twin = self.copy()
        twin._specials = {token.content for token in self._tokens.values() if token.special}
        return twin.normalized_anew()

    def normalized_anew(self) -> AddedTokens:
        """Return the tokens after a change of the normalizer: only the flags then say which tokens are normalized."""
        twin = self.copy()
        twin._normalized = {token.content for token in self._tokens.values() if token.normalized}
        return twin

    def marked(self, special: Iterable[str], normalized: Iterable[str]) -> AddedTokens:
        """Return a copy in which these contents count as special, or as normalized, whatever their flags say."""
        twin = self.copy()
        twin._specials.update(special)
        twin._normalized.update(normalized)
        return twin

    def add(self, tokens: Iterable[Token], find: Callable[[list[str]], Iterable[int | None]], size: int) -> int:
        """Add tokens in order.

        New ids follow the highest id before the call. Tokens of this call that have ids of the model do not count.

        Args:
            tokens: The tokens.
            find: Returns the model's id of each content, or None.
            size: The number of tokens that the model has.

        Returns:
            The number of tokens that were added or changed.
        """
        tokens = list(tokens)
        contents = [token.content for token in tokens]
        own_ids, new_id = find(contents), max(self._last + 1, size)
        if "" not in contents and len(set(contents)) == len(contents) and self._ids.keys().isdisjoint(contents):
            # No token depends on an earlier one, so all are added at once, in half the time.
            new_ids = itertools.count(new_id)
            ids = [next(new_ids) if id is None else id for id in own_ids]
            self._put(ids, tokens)
            return len(tokens)
        return self._add_in_order(tokens, own_ids, new_id)

    def _add_in_order(self, tokens: list[Token], own_ids: Iterable[int | None], new_id: int) -> int:
        added = 0
        for token, own_id in zip(tokens, own_ids, strict=True):
            id = self._ids.get(token.content)
            if not token.content or (id is not None and self._tokens.get(id) == token):
                continue
            if id is None:
                id = own_id
            if id is None:
                id, new_id = new_id, new_id + 1
            self._put([id], [token])
            added += 1
        return added

    def for_engine(self) -> list[dict[str, Any]]:
        """Return the tokens as dicts for the engine.

        In them `special` says how the engine treats a token, which may contradict the token's flag.
        """
        rows = [_fields_of(id, token) for id, token in self._tokens.items()]
        respelled = set(self.lasting_spellings())
        for row in rows:
            row["special"] = row["content"] in self._specials
            if row["content"] in respelled:
                row["respelled"] = True
        return rows

    def lasting_specials(self) -> list[str]:
        """Return the contents of the tokens that count as special although their flag says otherwise."""
        return [
            token.content for token in self._tokens.values() if token.content in self._specials and not token.special
        ]

    def lasting_spellings(self) -> list[str]:
        """Return the contents of the tokens that are spelled as normalized ones although their flag says otherwise."""
        return [
            token.content
            for token in self._tokens.values()
            if token.content in self._normalized and not token.normalized
        ]

    def lasts(self) -> bool:
        """Whether a token counts as special or normalized against its flags. A tokenizer.json stores only the flags."""
        return bool(self.lasting_specials() or self.lasting_spellings())

    def for_json(self) -> list[dict[str, Any]]:
        """Return the member ``added_tokens`` of a ``tokenizer.json``."""
        return [_fields_of(id, token) for id, token in sorted(self._tokens.items())]

    def written(self, pretty: bool) -> bytes:
        """Return the text of `for_json` inside a ``tokenizer.json``, as the library writes it."""
        return _core.added_tokens_text(self._tokens, pretty)

    def decoder(self) -> dict[int, tokenizers.AddedToken]:
        """Return the dict of `Tokenizer.get_added_tokens_decoder`."""
        made = self._decoder
        if made is None:
            # The library makes its AddedToken objects in a third of the time that Python code takes.
            has_components = hasattr(reference_class(), "get_added_tokens_decoder")
            made = self._decoder = self.holder().get_added_tokens_decoder if has_components else self._own
        return made()

    def holder(self) -> tokenizers.Tokenizer:
        """Return a tokenizer of the library that has only these tokens."""
        from tokenizers import models

        ids = {token.content: id for id, token in sorted(self._tokens.items())}
        holder: tokenizers.Tokenizer = reference_class()(models.WordLevel(ids, unk_token=""))
        holder.add_tokens(list(self._own().values()))
        return holder

    def _own(self) -> dict[int, tokenizers.AddedToken]:
        from crayon_hf.util.added_token import AddedToken

        return {id: AddedToken(**token._asdict()) for id, token in sorted(self._tokens.items())}

    def _put(self, ids: list[int], tokens: list[Token]) -> None:
        # This avoids a tuple for each token: with fifty thousand tuples, garbage collection would double the time.
        self._decoder = None
        contents = [token.content for token in tokens]
        self._specials.update([token.content for token in tokens if token.special])
        self._normalized.update([token.content for token in tokens if token.normalized])
        self._last = max([self._last, *ids])
        self._ids.update(zip(contents, ids, strict=True))
        self._tokens.update(zip(ids, tokens, strict=True))


def _fields_of(id: int, token: Token) -> dict[str, Any]:
    content, single_word, lstrip, rstrip, normalized, special = token
    return {
        "id": id,
        "content": content,
        "single_word": single_word,
        "lstrip": lstrip,
        "rstrip": rstrip,
        "normalized": normalized,
        "special": special,
    }


def lasting_of(reference: tokenizers.Tokenizer) -> tuple[list[str], list[str]]:
    """Return the contents that a reference treats as special, and as normalized, although their flags say otherwise.

    A tokenizer.json does not store these facts, so the reference's decoder is asked.
    """
    tokens = reference.get_added_tokens_decoder()
    other = next((id for id in range(len(tokens) + 1) if id not in tokens and reference.id_to_token(id)), None)
    special = [t.content for id, t in tokens.items() if not t.special and _is_skipped(reference, id, other)]
    normalized = [t.content for id, t in tokens.items() if not t.normalized and reference.id_to_token(id) != t.content]
    return special, normalized


def _is_skipped(reference: tokenizers.Tokenizer, id: int, other: int | None) -> bool:
    if reference.decode([id], skip_special_tokens=False):
        return not reference.decode([id], skip_special_tokens=True)
    # The decoder gives no text for this token alone, but may give a text for it between other tokens.
    rows = ([id] * 3, [id] if other is None else [other, id, other])
    return any(len({reference.decode(row, skip_special_tokens=skip) for skip in (True, False)}) > 1 for row in rows)


def tokens_of(tokens: Any, special: bool) -> list[Token]:
    """Check the argument of `add_tokens` or `add_special_tokens`. With `special`, each AddedToken is made special in
    place."""
    if not isinstance(tokens, list):
        raise TypeError(f"tokens is {type(tokens).__name__}, expected a list of str and AddedToken")
    if set(map(type, tokens)) == {str} and _is_utf8("".join(tokens)):
        flags = (False, False, False, not special, special)
        return [tuple.__new__(Token, (token, *flags)) for token in tokens]  # half the time of Token(token, *flags)
    return [_token_of(token, special, i) for i, token in enumerate(tokens)]


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _token_of(token: Any, special: bool, index: int) -> Token:
    if isinstance(token, str):
        try:
            token.encode()
        except UnicodeEncodeError as error:
            raise TypeError(f"token {index} has a lone surrogate, which is not valid text: {error}") from None
        return Token(str(token), normalized=not special, special=special)
    from crayon_hf.util.added_token import is_added_token

    if not is_added_token(token):
        raise TypeError(f"token {index} is {type(token).__name__}, expected str or AddedToken")
    if special:
        token.special = True
    return Token(*(getattr(token, name) for name in Token._fields))
