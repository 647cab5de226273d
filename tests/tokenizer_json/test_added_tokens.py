"""Many added tokens: added and written in a few steps, with what the plain way gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from crayon_hf import Tokenizer
from crayon_hf.tokenizer_json.added_tokens import AddedTokens, Token, tokens_of
from tests.support.steps import steps_of

MANY = 3000
CONTENTS = st.one_of(st.sampled_from(["", "a", "b", "<x>", '"\\\n\x00\x1f\x7f']), st.text(max_size=5))
TOKENS = st.builds(Token, CONTENTS, *(st.booleans() for _ in range(5)))
MODEL = {"a": 3, "<x>": 0, "é": 7}


def find(contents: list[str]) -> list[int | None]:
    return list(map(MODEL.get, contents))


def added_plainly(added: AddedTokens, tokens: list[Token]) -> int:
    """Token by token, as the reference does it."""
    count, new_id = 0, max(added._last + 1, len(MODEL))
    for token in tokens:
        id = added._ids.get(token.content)
        if not token.content or (id is not None and added._tokens.get(id) == token):
            continue
        if id is None:
            id = MODEL.get(token.content)
        if id is None:
            id, new_id = new_id, new_id + 1
        if token.special:
            added._specials.add(token.content)
        if token.normalized:
            added._normalized.add(token.content)
        added._last = max(added._last, id)
        added._ids[token.content] = id
        added._tokens[id] = token
        count += 1
    return count


def parts(added: AddedTokens) -> object:
    tokens, ids = list(added._tokens.items()), list(added._ids.items())
    return tokens, ids, added._specials, added._normalized, added._last


@given(st.lists(st.lists(TOKENS, max_size=6), max_size=4))
def test_tokens_are_added_as_one_by_one(batches: list[list[Token]]) -> None:
    ours, plain = AddedTokens(()), AddedTokens(())
    for batch in batches:
        assert ours.add(batch, find, len(MODEL)) == added_plainly(plain, batch)
        assert parts(ours) == parts(plain)
    rows = [
        {"id": id, **token._asdict(), "special": token.content in plain._specials}
        | ({"respelled": True} if token.content in plain._normalized and not token.normalized else {})
        for id, token in plain._tokens.items()
    ]
    assert ours.for_engine() == rows
    assert parts(AddedTokens(ours.for_json())) == parts(AddedTokens(sorted(ours.for_json(), key=lambda row: row["id"])))


@given(st.lists(st.one_of(CONTENTS, st.text(st.characters(), max_size=3)), max_size=5), st.booleans())
def test_texts_become_tokens_as_one_by_one(texts: list[str], special: bool) -> None:
    def plainly() -> list[Token]:
        for index, text in enumerate(texts):
            try:
                text.encode()
            except UnicodeEncodeError as error:
                message = f"token {index} has a lone surrogate, which is not valid text: {error}"
                raise TypeError(message) from None
        return [Token(text, normalized=not special, special=special) for text in texts]

    assert outcome(lambda: tokens_of(texts, special)) == outcome(plainly)


def outcome(call: Callable[[], list[Token]]) -> object:
    try:
        return call()
    except TypeError as error:
        return str(error)


@given(st.dictionaries(st.integers(0, 1 << 40), TOKENS, max_size=5), st.booleans())
def test_tokens_are_written_as_the_plain_way_writes_them(tokens: dict[int, Token], pretty: bool) -> None:
    added = AddedTokens({"id": id, **token._asdict()} for id, token in tokens.items())
    how = {"indent": 2} if pretty else {"separators": (",", ":")}
    plain = json.dumps({"added_tokens": added.for_json()}, ensure_ascii=False, **how)
    written = added.written(pretty).decode()
    assert plain == ('{\n  "added_tokens": %s\n}' if pretty else '{"added_tokens":%s}') % written


@pytest.mark.parametrize("pretty", [False, True])
def test_many_tokens_are_saved_as_the_library_saves_them(gpt2_like: Path, tmp_path: Path, pretty: bool) -> None:
    contents = [f'<"added_tokens"\\{chr(0x100 + i)}{i}>' for i in range(MANY)]
    ours, reference = Tokenizer.from_file(str(gpt2_like)), tokenizers.Tokenizer.from_file(str(gpt2_like))
    for one in (ours, reference):
        one.enable_padding(pad_token='"added_tokens":null, "added_tokens": null')
        one.add_special_tokens(["<first>", "the"])
        assert one.add_tokens([*contents, tokenizers.AddedToken("<last>", lstrip=True)]) == MANY + 1
    assert ours.to_str(pretty) == reference.to_str(pretty)
    ours.save(tmp_path / "ours.json", pretty)
    reference.save(str(tmp_path / "stock.json"), pretty)
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "stock.json").read_bytes()
    assert ours.encode(f"{contents[7]} <last>").ids == reference.encode(f"{contents[7]} <last>").ids


@pytest.mark.parametrize("pretty", [False, True])
def test_no_step_for_each_token(gpt2_like: Path, tmp_path: Path, pretty: bool) -> None:
    tokenizer = Tokenizer.from_file(str(gpt2_like))
    # Two to make a Token, and two for its id.
    assert steps_of(lambda: tokenizer.add_tokens([f"<{i}>" for i in range(MANY)])) < 5 * MANY
    tokenizer.to_str()  # imports what it needs
    assert steps_of(lambda: tokenizer.save(tmp_path / "a.json", pretty)) < MANY
    assert steps_of(lambda: tokenizer.to_str(pretty)) < MANY
