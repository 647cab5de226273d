"""Checks the rule for compiling a tokenizer.json, and makes documents for such checks. The rule:

If ``tokenizers`` refuses a document, so does crayon_hf. If ``tokenizers`` opens it, crayon_hf gives the same results,
or refuses it as unsupported and names the component.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from tokenizers import Tokenizer, processors

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.tokenizer_json.parts import added_token, byte_level, split
from tests.support import reference_impl
from tests.support.versions import COUNTS_ALL_PIECES, shown_token

GPT2_SPLIT = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
MERGES = [(b" ", b"a"), (b"a", b"b"), (b" a", b"b"), (b"ab", b"ab"), (b"e", b"\xcc"), (b"\xc3", b"\xa9"), (b"1", b"2")]
TEXTS = ("", " ", "ab", " abab ab", "ab1212 12", "<s>ab <s> a</s>ab", "e\u0301 \u00e9", "a'll  ab\n\n ab", "x<m>  ab")
TEXTS += ("\U0001f642",)


def document(**parts: Any) -> reference_impl.Document:
    """A tokenizer.json with added tokens, and a component of each of several native kinds. `parts` replaces top-level
    fields."""
    out = reference_impl.byte_level_document(MERGES, more=["<s>", "</s>", "\u4e2d"])
    vocab = out["model"]["vocab"]
    out["added_tokens"] = [
        *(added_token(vocab[content], content) for content in ("<s>", "</s>")),
        added_token(len(vocab), "<m>", special=False, rstrip=True, normalized=True),
    ]
    out["normalizer"] = {"type": "NFC"}
    cuts = [split(QWEN_SPLIT), byte_level(trim_offsets=False)]
    out["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": cuts}
    specials = [(content, vocab[content]) for content in ("<s>", "</s>")]
    template = processors.TemplateProcessing("<s> $A", "$A </s>:1 $B:1", specials)
    steps = [byte_level(use_regex=True), reference_impl.component(template)]
    out["post_processor"] = {"type": "Sequence", "processors": steps}
    return out | parts


def roberta_document() -> reference_impl.Document:
    out = document()
    vocab = out["model"]["vocab"]
    out["normalizer"] = None
    out["pre_tokenizer"] = byte_level(add_prefix_space=True, use_regex=True)
    out["post_processor"] = {
        "type": "RobertaProcessing",
        "sep": ["</s>", vocab["</s>"]],
        "cls": ["<s>", vocab["<s>"]],
        "trim_offsets": True,
        "add_prefix_space": False,
    }
    return out


def refusal(text: str) -> VocabularyError | None:
    try:
        reference_impl.open_engine(text)
    except VocabularyError as error:
        return error
    return None


def opened(text: str) -> Tokenizer | None:
    """The document opened by ``tokenizers``, or None if ``tokenizers`` refuses it."""
    tokenizer: Tokenizer | None = reference_impl.try_reference(lambda: Tokenizer.from_str(text))
    return tokenizer


def check(text: str) -> str:
    """Check the module's rule for a document, and return the case that applied, such as "refused"."""
    reference = opened(text)
    error = refusal(text)
    if reference is None:
        if error is None:
            check_kept(text)
            return "kept"
        return "refused"
    if error is not None:
        assert type(error) is UnsupportedError, f"the reference opens it: {error}"
        return "unsupported"
    both = reference_impl.Both(text)
    is_random = 0 < (getattr(reference.model, "dropout", None) or 0) < 1
    for sample in TEXTS:
        if is_random:
            check_random(both, sample)
            continue
        both.check(sample)
        both.check(sample, "ab a")
        both.check_decode(both.plain_reference.encode(sample).ids)
    check_vocabulary(both.engine, reference, json.loads(text).get("added_tokens") or [])
    for id in reference.get_vocab().values():
        both.check_decode([id])
    return "the same"


def check_kept(text: str) -> None:
    """Check a document in which only truncation or padding is malformed. The engine keeps both unread, and Python code
    reads them."""
    source = json.loads(text, parse_int=float)  # large integers become doubles
    settings = {name: source.get(name) for name in ("truncation", "padding")}
    assert opened(json.dumps(json.loads(text) | dict.fromkeys(settings))) is not None, "the reference refuses it"
    components = json.loads(reference_impl.open_engine(text).components, parse_int=float)
    assert {name: components[name] for name in settings} == settings


def check_random(both: reference_impl.Both, sample: str) -> None:
    """Check the encoding of `sample` with dropout. Dropout makes every encoding differ, but all have the same
    characters."""
    engine, reference = both.engine.encode(sample), both.reference.encode(sample)
    assert "".join(engine.tokens) == "".join(reference.tokens)
    for start, end in engine.offsets:
        assert 0 <= start <= end <= len(sample)


def check_vocabulary(engine: _core.Engine, reference: Tokenizer, added_tokens: list[Any]) -> None:
    """Compare all lookups of tokens and ids. `added_tokens` is the field of the document."""
    on_bytes = engine.info()["tokens"] == "bytes"
    for with_added in (True, False):
        vocab = reference.get_vocab(with_added)
        assert engine.get_vocab(with_added) == vocab, f"the vocabulary, {with_added=}"
        if COUNTS_ALL_PIECES or not with_added:
            assert engine.get_vocab_size(with_added) == reference.get_vocab_size(with_added)
    vocab = reference.get_vocab()
    for token, id in vocab.items():
        assert engine.token_to_id(token) == reference.token_to_id(token) == id, f"the id of {token!a}"
        # For an added token that matches in normalized text, this is its normalized content.
        shown = shown_token(reference, id)
        assert shown is not None
        assert engine.id_to_token(id) == shown, f"the token of {id}"
        assert engine.id_to_bytes(id) == (reference_impl.token_bytes(shown) if on_bytes else shown.encode())
        for near in (token + "a", token[:-1], token[1:], " " + token, token.replace("\u0120", " ")):
            assert engine.token_to_id(near) == reference.token_to_id(near), f"the id of {near!a}"
    for id in range(max(vocab.values(), default=0) + 70):
        assert engine.id_to_token(id) == shown_token(reference, id)
    for id in (2**31 - 1, 2**32 - 1):
        assert engine.id_to_token(id) is reference.id_to_token(id) is None
    assert engine.id_to_token(-1) is None
    added = reference.get_added_tokens_decoder()
    rows = engine.added_tokens()
    contents = dict.fromkeys(token["content"] for token in added_tokens if token["content"])
    assert [row["content"] for row in rows] == list(contents), "added tokens are in order of addition"
    assert sorted(row["id"] for row in rows) == sorted(added)
    for row in rows:
        want = added[row.pop("id")]
        assert row == {name: getattr(want, name) for name in row}
        assert len(row) == 6


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    # A few entries represent the long lists and tables of the model.
    for key, inner in list(items)[-12:]:
        yield (*path, key)
        yield from places(inner, (*path, key))


def changed(source: reference_impl.Document, path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> str:
    out = copy.deepcopy(source)
    place: Any = out
    for key in path[:-1]:
        place = place[key]
    change(place, path[-1])
    return json.dumps(out)


def replace_by(value: Any) -> Callable[[Any, Any], None]:
    def change(place: Any, key: Any) -> None:
        place[key] = value

    return change


def check_unsupported(source: reference_impl.Document, *named: str) -> None:
    """Check that the reference opens the document, and that our error names the component that is not native."""
    text = json.dumps(source)
    Tokenizer.from_str(text)
    error = refusal(text)
    assert type(error) is UnsupportedError, error
    for name in named:
        assert name in str(error), f"{name!r} is not in: {error}"
