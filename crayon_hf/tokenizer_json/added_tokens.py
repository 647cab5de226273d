"""The added tokens of a tokenizer: which there are, and what adding one does.

The rules are those of the reference. A token that is there already keeps its id and takes the new flags; one that the
model knows takes the model's id; what was special once is left out by `decode` for ever, though its flag may change;
what was normalized once stays spelled as the normalizer leaves it, until another normalizer is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

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
        """`tokens` are dicts as the engine gives them, in order of addition."""
        self._tokens: dict[int, Token] = {}
        self._ids: dict[str, int] = {}
        self._specials: set[str] = set()
        self._normalized: set[str] = set()
        self._last = -1
        self._decoder: Callable[[], dict[int, tokenizers.AddedToken]] | None = None
        for fields in tokens:
            token = Token(**{name: fields[name] for name in Token._fields})
            self._put(int(fields["id"]), token)

    def copy(self) -> AddedTokens:
        """Another one with the same tokens."""
        twin = AddedTokens(())
        twin._tokens, twin._ids, twin._last = dict(self._tokens), dict(self._ids), self._last
        twin._specials, twin._normalized = set(self._specials), set(self._normalized)
        return twin

    def reopened(self) -> AddedTokens:
        """What is left of them when they have been written and read: only the flag says what is special."""
        twin = self.copy()
        twin._specials = {token.content for token in self._tokens.values() if token.special}
        return twin.normalized_anew()

    def normalized_anew(self) -> AddedTokens:
        """What is left of them when a normalizer has been set: only the flag says what is spelled as it leaves it."""
        twin = self.copy()
        twin._normalized = {token.content for token in self._tokens.values() if token.normalized}
        return twin

    def marked(self, special: Iterable[str], normalized: Iterable[str]) -> AddedTokens:
        """The same, of which these contents were special, or normalized, once."""
        twin = self.copy()
        twin._specials.update(special)
        twin._normalized.update(normalized)
        return twin

    def add(self, tokens: Iterable[Token], find: Callable[[str], int | None], size: int) -> int:
        """Add tokens in order; the count of those that changed something.

        `find` is the model's id of a content, `size` how many tokens the model has. New ids count on from those that
        there were before the call: ids that the model gives to tokens of this call do not count.
        """
        added, new_id = 0, max(self._last + 1, size)
        for token in tokens:
            id = self._ids.get(token.content)
            if not token.content or (id is not None and self._tokens.get(id) == token):
                continue
            if id is None:
                id = find(token.content)
            if id is None:
                id, new_id = new_id, new_id + 1
            self._put(id, token)
            added += 1
        return added

    def for_engine(self) -> list[dict[str, Any]]:
        """Dicts as the engine takes them: `special` is what it goes by when it decodes and when it reads text."""
        respelled = set(self.lasting_spellings())
        return [
            {"id": id, **token._asdict(), "special": token.content in self._specials}
            | ({"respelled": True} if token.content in respelled else {})
            for id, token in self._tokens.items()
        ]

    def lasting_specials(self) -> list[str]:
        """The contents that count as special although their flag no longer says so."""
        return [
            token.content for token in self._tokens.values() if token.content in self._specials and not token.special
        ]

    def lasting_spellings(self) -> list[str]:
        """The contents that are spelled as the normalizer leaves them although their flag no longer says so."""
        return [
            token.content
            for token in self._tokens.values()
            if token.content in self._normalized and not token.normalized
        ]

    def lasts(self) -> bool:
        """True when there is something that no tokenizer.json holds."""
        return bool(self.lasting_specials() or self.lasting_spellings())

    def for_json(self) -> list[dict[str, Any]]:
        """The list that a ``tokenizer.json`` holds."""
        return [{"id": id, **token._asdict()} for id, token in sorted(self._tokens.items())]

    def decoder(self) -> dict[int, tokenizers.AddedToken]:
        """What `Tokenizer.get_added_tokens_decoder` gives."""
        made = self._decoder
        if made is None:
            # The library makes its objects in a third of the time that Python takes.
            has_components = hasattr(reference_class(), "get_added_tokens_decoder")
            made = self._decoder = self.holder().get_added_tokens_decoder if has_components else self._own
        return made()

    def holder(self) -> tokenizers.Tokenizer:
        """One of the library's that has these tokens and no other."""
        from tokenizers import models

        ids = {token.content: id for id, token in sorted(self._tokens.items())}
        holder: tokenizers.Tokenizer = reference_class()(models.WordLevel(ids, unk_token=""))
        holder.add_tokens(list(self._own().values()))
        return holder

    def _own(self) -> dict[int, tokenizers.AddedToken]:
        from crayon_hf.util.added_token import AddedToken

        return {id: AddedToken(**token._asdict()) for id, token in sorted(self._tokens.items())}

    def _put(self, id: int, token: Token) -> None:
        self._decoder = None
        if token.special:
            self._specials.add(token.content)
        if token.normalized:
            self._normalized.add(token.content)
        self._last = max(self._last, id)
        self._ids[token.content] = id
        self._tokens[id] = token


def lasting_of(reference: tokenizers.Tokenizer) -> tuple[list[str], list[str]]:
    """What the flags of a reference's added tokens no longer say: contents that were special, and normalized, once.

    No tokenizer.json of it holds that; what it decodes tells.
    """
    tokens = reference.get_added_tokens_decoder()
    other = next((id for id in range(len(tokens) + 1) if id not in tokens and reference.id_to_token(id)), None)
    special = [t.content for id, t in tokens.items() if not t.special and _is_skipped(reference, id, other)]
    normalized = [t.content for id, t in tokens.items() if not t.normalized and reference.id_to_token(id) != t.content]
    return special, normalized


def _is_skipped(reference: tokenizers.Tokenizer, id: int, other: int | None) -> bool:
    if reference.decode([id], skip_special_tokens=False):
        return not reference.decode([id], skip_special_tokens=True)
    # Its decoder takes the text away where the token is alone: perhaps not among others.
    rows = ([id] * 3, [id] if other is None else [other, id, other])
    return any(len({reference.decode(row, skip_special_tokens=skip) for skip in (True, False)}) > 1 for row in rows)


def tokens_of(tokens: Any, special: bool) -> list[Token]:
    """Check the argument of `add_tokens` or `add_special_tokens`, which makes an AddedToken special in place."""
    if not isinstance(tokens, list):
        raise TypeError(f"tokens is {type(tokens).__name__}, expected a list of str and AddedToken")
    return [_token_of(token, special, i) for i, token in enumerate(tokens)]


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
