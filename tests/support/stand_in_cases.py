"""Small tokenizers of every kind of model, trained here, and the comparison of two tokenizers."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import tokenizers
from tokenizers import AddedToken, normalizers, processors

from tests.support import families
from tests.support.versions import IS_BESIDE_1

CORPUS = (
    "The quick brown fox jumps over the lazy dog; it's what they've said, isn't it?",
    "Der schnelle braune Fuchs springt über den faulen Hund. Größe, Äpfel!",
    "敏捷的棕色狐狸跳过了懒狗。 Быстрая лиса. 100% 🙂",
    "def encode(self, text: str) -> list[int]: return [self.vocab[t] for t in text.split()]",
)
TEXTS = (
    "",
    " ",
    "Hello, world!",
    "The QUICK brown  fox,\tjumps\nover <s> the [NEW] lazy dog. <mask> x",
    "naïve Zoë e\u0301 über 狐狸 🙂 [NEW][NEW] newword",
    "x" * 40,
)
FIELDS = ("ids", "tokens", "offsets", "type_ids", "attention_mask", "special_tokens_mask", "word_ids", "sequence_ids")
SPECIALS = ("<s>", "</s>", "<unk>", "<pad>")


def fields(encoding: Any) -> dict[str, Any]:
    """All fields of an encoding and of its overflow."""
    said = {name: getattr(encoding, name) for name in FIELDS}
    return said | {"overflowing": [fields(more) for more in encoding.overflowing]}


def outcome(call: Callable[[], Any]) -> Any:
    """The result of a call, or the name of the built-in class of its exception."""
    try:
        return plain(call())
    except Exception as error:
        known = (TypeError, OverflowError, AttributeError, UnicodeEncodeError, ValueError)
        return next((kind.__name__ for kind in known if isinstance(error, kind)), "Exception")


def plain(value: Any) -> Any:
    """Turn a result into a value that compares by contents."""
    if type(value).__name__ == "Encoding":
        return fields(value)
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    module = type(value).__module__ or ""
    if not module.startswith(("tokenizers", "crayon_hf")):
        return value
    try:
        return json.loads(value.__getstate__())  # a component, of the library or ours
    except Exception:
        return repr(value)


@cache
def trained(kind: str) -> str:
    """The JSON of a small tokenizer of this kind, which is one of KINDS."""
    return _KINDS[kind]().to_str()


def _byte_level() -> tokenizers.Tokenizer:
    tokenizer = families.byte_level(CORPUS, 400, list(SPECIALS))
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def _unigram() -> tokenizers.Tokenizer:
    normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("  ", " ")])
    return _with_template(families.unigram(CORPUS, 150, list(SPECIALS), normalizer))


def _word_level() -> tokenizers.Tokenizer:
    text = [text.lower() for text in CORPUS]
    return _with_template(families.word_level(text, list(SPECIALS), normalizers.Lowercase(), "<unk>"))


def _llama() -> tokenizers.Tokenizer:
    normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer = families.llama(CORPUS, 600, ["<unk>", "<s>", "</s>"], normalizer, None)
    tokenizer.post_processor = families.template(tokenizer, "<s> $A", "<s> $A <s>:1 $B:1")
    return tokenizer


def _with_template(tokenizer: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    tokenizer.post_processor = families.template(tokenizer, "<s> $A </s>", "<s> $A </s> $B:1 </s>:1")
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    return tokenizer


_KINDS: dict[str, Callable[[], tokenizers.Tokenizer]] = {
    "byte_level": _byte_level,
    "word_piece": lambda: _with_template(families.word_piece(CORPUS, 200, list(SPECIALS), "<unk>")),
    "unigram": _unigram,
    "word_level": _word_level,
    "llama": _llama,
}
KINDS = tuple(_KINDS)


def check(reference: Any, ours: Any, texts: tuple[str, ...] = TEXTS) -> None:
    """Compare the results and settings of two tokenizers, except saving."""
    for text in texts:
        for add_special_tokens in (True, False):
            expected = fields(reference.encode(text, add_special_tokens=add_special_tokens))
            assert fields(ours.encode(text, add_special_tokens=add_special_tokens)) == expected, text
    assert fields(ours.encode(*texts[2:4])) == fields(reference.encode(*texts[2:4]))
    batch = [*texts, texts[2:4]]
    assert plain(ours.encode_batch(batch)) == plain(reference.encode_batch(batch))
    ids = reference.encode(texts[3]).ids
    for skip in (True, False):
        assert ours.decode(ids, skip) == reference.decode(ids, skip)
        assert ours.decode_batch([ids, []], skip) == reference.decode_batch([ids, []], skip)
    for with_added_tokens in (True, False):
        assert ours.get_vocab(with_added_tokens) == reference.get_vocab(with_added_tokens)
        assert ours.get_vocab_size(with_added_tokens) == reference.get_vocab_size(with_added_tokens)
    assert plain(ours.get_added_tokens_decoder()) == plain(reference.get_added_tokens_decoder())
    for is_pair in (True, False):
        assert ours.num_special_tokens_to_add(is_pair) == reference.num_special_tokens_to_add(is_pair)
    for name in ("truncation", "padding", "encode_special_tokens"):
        assert getattr(ours, name) == getattr(reference, name)
    for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        assert type(getattr(ours, name)).__name__ == type(getattr(reference, name)).__name__
        assert IS_BESIDE_1 or type(getattr(ours, name)) is type(getattr(reference, name))
        assert plain(getattr(ours, name)) == plain(getattr(reference, name))


def check_saving(reference: Any, ours: Any) -> None:
    for pretty in (False, True):
        assert ours.to_str(pretty) == reference.to_str(pretty)
    for twin in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours), copy.copy(ours)):
        assert twin.to_str() == ours.to_str()
        assert plain(twin.encode_batch(list(TEXTS))) == plain(ours.encode_batch(list(TEXTS)))
