"""Writes a vocabulary as a GGUF file that contains only the tokenizer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats.charsmap import rules_as_components
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.export_parts import (
    Document,
    Exactness,
    Opened,
    added_kinds,
    added_tokens,
    frame_of,
    normalizers,
    opened_document,
    pre_tokenizers,
    reading,
    refuse_options,
    roles_of,
    texts_by_id,
    unmerged,
)
from crayon_hf.formats.export_pieces import (
    check_bpe,
    check_unigram,
    check_words,
    cut_out_by,
    kinds_of,
    merged_scores,
    spelling_of,
    without_cuts,
)
from crayon_hf.formats.gguf import from_metadata
from crayon_hf.formats.gguf_file import Metadata, metadata_file
from crayon_hf.formats.gguf_models import UNLIMITED, unigram_spaces, unspelled
from crayon_hf.formats.gguf_patterns import GPT2, PRE_TOKENIZERS, PreTokenizer
from crayon_hf.formats.gguf_tokens import PREFIX, ROLES
from crayon_hf.formats.piece_types import NORMAL, SPACE, UNUSED, USER_DEFINED, Component, PieceOptions
from crayon_hf.tokenizer_json.document import ids_of
from crayon_hf.util.byte_level import BYTE_LEVEL

_TARGET = "llama.cpp"
_OPTIONS = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback")
_FILL = "[unused id {}]"
"""The text for an unused id. It contains spaces, which no byte-level token does."""
_ASCII_MARKS = re.compile(r"[^\w\x7f-\U0010ffff]|_", re.ASCII)
"""ASCII characters at which BERT cuts words: punctuation, symbols, spaces and controls."""
Keys = dict[str, Any]


class GgufFile(NamedTuple):
    """A GGUF file for llama.cpp."""

    data: bytes
    """The file: metadata without tensors, which llama.cpp opens with ``vocab_only``."""
    model: str
    """``tokenizer.ggml.model``: gpt2, llama, t5 or bert."""
    pre: str | None
    """``tokenizer.ggml.pre``, the name of the pattern that splits text; None unless the model is gpt2."""
    tokens: int
    """The number of tokens; their ids are those of the vocabulary."""
    differences: tuple[str, ...]
    """The cases in which llama.cpp gives other ids; empty unless `inexact` is true."""


def to_gguf(vocabulary: Converted | Opened, *, inexact: bool = False) -> GgufFile:
    """Write a vocabulary as a GGUF file with which llama.cpp gives the same ids.

    The function checks the file with crayon-hf's own reader of GGUF files. docs/sources.md lists the cases in which
    llama.cpp and this reader differ. The file does not contain truncation or padding.

    Args:
        vocabulary: An open `Tokenizer`, or the result of `crayon_hf.formats.convert`.
        inexact: Write the file even if llama.cpp gives other ids in some cases that are known. The result lists these
            cases.

    Returns:
        The bytes of the file, the names of its model and pattern, the number of tokens, and the cases in which the ids
        differ.

    Raises:
        UnsupportedError: A GGUF file cannot express a component of the tokenizer; the message names it.
        VocabularyError: The ``tokenizer.json`` is malformed.

    >>> made = to_gguf(crayon_hf.formats.convert("lite"))
    >>> made.model, made.pre, made.tokens
    ('gpt2', 'llama3', 50000)
    """
    converted, document = opened_document(vocabulary)
    if "sentencepiece" in converted.metadata:
        raise UnsupportedError(
            "a SentencePiece model, opened with the library's own parts: convert the .model file itself"
        )
    exactness = Exactness(inexact)
    with reading():
        model, keys = _model_of(converted, document, exactness)
        tokens = keys["tokens"]
        keys |= _around(model, converted, document)
        metadata = {"general.architecture": model, f"{PREFIX}model": model}
        metadata |= {PREFIX + key: value for key, value in keys.items()} | _from_config(model, converted.config)
        _check_read_again(metadata, converted, document, exactness)
        return GgufFile(metadata_file(metadata), model, keys.get("pre"), len(tokens), tuple(exactness.differences))


def _model_of(converted: Converted, document: Document, exactness: Exactness) -> tuple[str, Keys]:
    kind = document["model"]["type"]
    if kind == "BPE" and any(step.get("type") == "ByteLevel" for step in pre_tokenizers(document)):
        return "gpt2", _byte_level(document, exactness)
    if kind == "BPE":
        return "llama", _merged(converted, document, exactness)
    if kind == "Unigram":
        return "t5", _unigram(converted, document, exactness)
    if kind == "WordPiece":
        return "bert", _wordpiece(document, exactness)
    raise UnsupportedError(f"a {kind} vocabulary: a GGUF file has BPE, Unigram and WordPiece")


# -- the models


def _byte_level(document: Document, exactness: Exactness) -> Keys:
    model, added = document["model"], added_tokens(document)
    if normal := normalizers(document):
        case = f"the normalizer {normal[0].get('type')}: llama.cpp normalizes no text for this model"
        if normal != [{"type": "NFC"}]:
            raise UnsupportedError(case)
        exactness.differs(case)
    refuse_options(model, _OPTIONS, _TARGET)
    vocab = ids_of(model)
    if model.get("unk_token") is not None and any(letter not in vocab for letter in map(chr, BYTE_LEVEL.values())):
        raise UnsupportedError("unk_token, and bytes without a token: llama.cpp drops such bytes")
    texts = texts_by_id(document, _FILL)
    kinds = dict.fromkeys(vocab, NORMAL) | added_kinds(document)
    pairs = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    if odd := next((pair for pair in pairs if pair.count(" ") != 1), None):
        raise UnsupportedError(f"the merge {odd!r}: a GGUF file has one space between the two tokens, and no other")
    pre = _name_of_pattern(document, [text for text in vocab if text not in added])
    return {"pre": pre, **_listed(texts, [kinds.get(text, UNUSED) for text in texts]), "merges": pairs}


def _name_of_pattern(document: Document, tokens: Sequence[str]) -> str:
    """Return llama.cpp's name of the pattern that splits text. Raises UnsupportedError if llama.cpp has none."""
    patterns = _patterns(document)
    strips = {token["content"] for token in document["added_tokens"] if token.get("lstrip")}
    named = [name for name, pre in PRE_TOKENIZERS.items() if not pre.spaces_escaped and _alike(pre, patterns)]
    if strips:  # llama.cpp applies lstrip only with these patterns
        named = [name for name in named if name.startswith("jina-v2-")]
    ignores = bool(document["model"].get("ignore_merges"))
    whole = unmerged(document["model"], tokens)
    fitting = [name for name in named if whole is None or PRE_TOKENIZERS[name].ignore_merges == ignores]
    if not named:
        flag = f" with the added token {min(strips)!r}, which has lstrip," if strips else ""
        raise UnsupportedError(
            f"the pre-tokenizer: llama.cpp has no name for its pattern{flag} ({patterns[-1][:80]!r})"
        )
    if not fitting:
        taken = "takes" if not ignores else "does not take"
        raise UnsupportedError(
            f"ignore_merges: no merges make the token {whole!r}, and llama.cpp {taken} it whole with that pattern "
            f"({named[0]})"
        )
    return fitting[0]


def _patterns(document: Document) -> list[str]:
    *cuts, last = pre_tokenizers(document)
    if last.get("type") != "ByteLevel":
        raise UnsupportedError(f"the pre-tokenizer {last.get('type')} after ByteLevel, which llama.cpp does not have")
    if last.get("add_prefix_space", True):
        raise UnsupportedError("the pre-tokenizer ByteLevel has add_prefix_space, which llama.cpp does not have")
    patterns = []
    for step in cuts:
        pattern = step.get("pattern")
        text = pattern.get("Regex") if isinstance(pattern, dict) else None
        if step.get("type") != "Split" or not text or step.get("behavior") != "Isolated" or step.get("invert"):
            raise UnsupportedError(f"the pre-tokenizer {step.get('type')}: llama.cpp cuts text only by patterns")
        patterns.append(text)
    return [*patterns, GPT2] if last.get("use_regex", True) else patterns or [""]


def _alike(pre: PreTokenizer, patterns: Sequence[str]) -> bool:
    return [*map(_canonical, pre.patterns)] == [*map(_canonical, patterns)]


def _canonical(pattern: str) -> str:
    return _core.family_of_pattern(pattern, "oniguruma") or pattern


def _merged(converted: Converted, document: Document, exactness: Exactness) -> Keys:
    texts, kinds = kinds_of(converted, document)
    document, kinds, cut_out = without_cuts(document, texts, kinds)
    if cut_out:
        exactness.differs(
            f"the user-defined piece {cut_out[0]!r}: llama.cpp cuts it out of the text first, and treats the "
            "text after it like a new text"
        )
    if not document["model"].get("byte_fallback"):
        raise UnsupportedError(
            "a BPE vocabulary over text without byte_fallback: llama.cpp spells unknown characters as bytes"
        )
    spelling = spelling_of(document, _TARGET, exactness, collapses=False)
    plain = PieceOptions(add_dummy_prefix=spelling.options.add_dummy_prefix, remove_extra_whitespaces=False)
    if spelling.options != plain:
        raise UnsupportedError("the normalizer: llama.cpp only writes ▁ for each space and before a text")
    check_bpe(document, texts, kinds, _TARGET)
    check_words(spelling, texts, kinds, _TARGET)
    if joined := next((t for t, kind in zip(texts, kinds, strict=True) if kind == USER_DEFINED and SPACE in t), None):
        raise UnsupportedError(f"the added token {joined!r} has a space: llama.cpp would make it by joining pieces")
    scores = merged_scores(document["model"], texts, kinds, (NORMAL, UNUSED), _TARGET)
    return {
        **_listed(texts, kinds),
        "scores": np.array(scores, np.float32),
        "add_space_prefix": spelling.options.add_dummy_prefix,
    }


def _unigram(converted: Converted, document: Document, exactness: Exactness) -> Keys:
    texts, kinds = kinds_of(converted, document)
    if document["model"].get("byte_fallback"):
        raise UnsupportedError("byte_fallback: llama.cpp gives the unknown token for unknown characters of this model")
    spelling = spelling_of(document, _TARGET, exactness, _unigram_normalizers)
    scores = check_unigram(document, texts, kinds, exactness, _TARGET)
    check_words(spelling, texts, kinds, _TARGET)
    options = spelling.options
    keys: Keys = {
        **_listed(texts, kinds),
        "scores": np.array(scores, np.float32),
        "add_space_prefix": options.add_dummy_prefix,
        "remove_extra_whitespaces": options.remove_extra_whitespaces,
    }
    if options.charsmap:
        keys["precompiled_charsmap"] = np.frombuffer(options.charsmap, np.uint8)
    return keys


def _unigram_normalizers(options: PieceOptions) -> list[Component]:
    if not options.escape_whitespaces or options.treat_whitespace_as_suffix:
        raise UnsupportedError("the normalizer: llama.cpp writes ▁ for each space, before words")
    rules = rules_as_components(options.charsmap) if options.charsmap else []
    return [*rules, *unigram_spaces(options.add_dummy_prefix, options.remove_extra_whitespaces)]


def _wordpiece(document: Document, exactness: Exactness) -> Keys:
    model = document["model"]
    normal = [dict(step) for step in normalizers(document)]
    if [step.get("type") for step in normal] != ["BertNormalizer"]:
        names = ", ".join(str(step.get("type")) for step in normal) or "(none)"
        raise UnsupportedError(f"the normalizer {names}: llama.cpp has only BertNormalizer for WordPiece")
    options = normal[0]
    for option in ("clean_text", "handle_chinese_chars"):
        if not options.get(option, True):
            raise UnsupportedError(f"the normalizer BertNormalizer without {option}, which llama.cpp always applies")
    cuts = [step.get("type") for step in pre_tokenizers(document)]
    if cuts != ["BertPreTokenizer"]:
        raise UnsupportedError(
            f"the pre-tokenizer {', '.join(map(str, cuts)) or '(none)'}: llama.cpp has only BertPreTokenizer"
        )
    if model.get("continuing_subword_prefix", "##") != "##":
        raise UnsupportedError("continuing_subword_prefix other than ##: our reader of GGUF files always sets ##")
    inside = next((text for text in added_tokens(document) if not _ASCII_MARKS.search(text)), None)
    if inside is not None:
        raise UnsupportedError(f"the added token {inside!r}: llama.cpp also finds it in words after normalization")
    longest = model.get("max_input_chars_per_word", 100)
    if longest < UNLIMITED:
        exactness.differs(
            f"max_input_chars_per_word: a word of more than {longest} characters is unknown, and llama.cpp cuts it "
            "into tokens"
        )
    kinds = added_kinds(document)
    texts = texts_by_id(document)
    found = [kinds.get(text, NORMAL) for text in texts]
    strips = options.get("strip_accents")
    return {
        **_listed([unspelled(text, kind) for text, kind in zip(texts, found, strict=True)], found),
        "normalizer.lowercase": bool(options.get("lowercase", True)),
        "normalizer.strip_accents": bool(options.get("lowercase", True) if strips is None else strips),
    }


def _listed(texts: list[str], kinds: Sequence[int]) -> Keys:
    return {"tokens": texts, "token_type": np.array(kinds, np.int32)}


# -- the other keys


def _around(model: str, converted: Converted, document: Document) -> Keys:
    """Return the keys of the special tokens: the id of each role, and which of them llama.cpp puts around a text."""
    before, after = frame_of(document)
    roles = roles_of(converted, document)
    own = document["model"]
    unknown = own.get("unk_id") if own["type"] == "Unigram" else ids_of(own).get(own.get("unk_token") or "")
    if unknown is not None:
        roles["unk"] = unknown
    if model == "bert":
        if len(before) != 1 or len(after) != 1:
            raise UnsupportedError(
                "the post-processor: llama.cpp puts one token before a text of WordPiece, one after it"
            )
        roles |= {"bos": before[0], "sep": after[0]}
        flags: Keys = {}
    else:
        if len(before) > 1 or len(after) > 1:
            raise UnsupportedError(
                f"the post-processor puts {len(before)} tokens before a text and {len(after)} after it: llama.cpp puts "
                "one at most"
            )
        roles |= {role: ids[0] for role, ids in (("bos", before), ("eos", after)) if ids}
        flags = {"add_bos_token": bool(before), "add_eos_token": bool(after)}
        flags |= {"add_sep_token": False} if model == "gpt2" else {}
    return flags | {f"{ROLES[role]}_token_id": id for role, id in roles.items() if role in ROLES}


def _from_config(model: str, config: Mapping[str, Any]) -> Keys:
    """Return the keys that a ``tokenizer_config.json`` gives: chat templates and the length of the longest text."""
    found: Keys = {}
    length, chat = config.get("model_max_length"), config.get("chat_template")
    if isinstance(length, int) and 0 < length < 2**32:
        found[f"{model}.context_length"] = length
    for name, text in _chats(chat):
        found["tokenizer.chat_template" + ("" if name == "default" else f".{name}")] = text
    return found


def _chats(chat: Any) -> Iterator[tuple[str, str]]:
    for entry in chat if isinstance(chat, list) else [{"name": "default", "template": chat}]:
        if isinstance(entry, Mapping) and isinstance(entry.get("template"), str):
            yield str(entry.get("name", "default")), entry["template"]


# -- the check of the file


def _check_read_again(metadata: Metadata, converted: Converted, document: Document, exactness: Exactness) -> None:
    """Raise an UnsupportedError if our reader finds other special tokens or ids in the file than the vocabulary has."""
    try:
        again = json.loads(from_metadata(metadata).tokenizer_json)
    except UnsupportedError:
        raise
    except VocabularyError as error:
        raise UnsupportedError(f"a GGUF file cannot have these tokens: {error}") from error
    ids = ids_of(document["model"])
    silent = {*(converted.metadata.get("control") or ()), *map(ids.get, cut_out_by(document, [*ids]))}
    found = {token["id"]: token for token in again["added_tokens"]}
    given = {token["id"]: token for token in document["added_tokens"]}
    _check_found(document, exactness)
    for id, token in {**found, **given}.items():
        if id not in given and id not in silent:
            exactness.differs(f"the token {token['content']!r}, which llama.cpp finds as a special token in every text")
        if id in given and (id not in found or any(found[id][flag] != token.get(flag, False) for flag in _STRIPS)):
            flag = next((flag for flag in _STRIPS if token.get(flag)), "")
            raise UnsupportedError(
                f"the added token {token['content']!r}{f' has {flag}' if flag else ''}: llama.cpp finds it differently"
            )
    if frame_of(again) != frame_of(document):
        raise UnsupportedError("the post-processor: llama.cpp puts other tokens around a text")
    read = ids_of(again["model"])
    if any(read.get(text) != id for text, id in ids.items() if id not in given):
        raise UnsupportedError("the tokens: llama.cpp reads some of them from a GGUF file as other tokens")


_STRIPS = ("lstrip", "rstrip")


def _check_found(document: Document, exactness: Exactness) -> None:
    """Raise an UnsupportedError if llama.cpp finds an added token at other places in a text than the tokenizer does."""
    tokens = document["added_tokens"]
    if alone := next((token["content"] for token in tokens if token.get("single_word")), None):
        raise UnsupportedError(f"the added token {alone!r} has single_word, which llama.cpp does not have")
    late = [token["content"] for token in tokens if token.get("normalized", not token.get("special"))]
    if late and normalizers(document):
        exactness.differs(
            f"the added token {late[0]!r} is found in the normalized text (normalized), and by llama.cpp in the "
            "original text"
        )
        return
    early = [token["content"] for token in tokens if token["content"] not in set(late)]
    both = next(((a, b) for a in late for b in early if _overlap(a, b)), None)
    if both is not None:
        raise UnsupportedError(
            f"the added tokens {both[0]!r} (normalized) and {both[1]!r} (not normalized), which overlap"
        )


def _overlap(a: str, b: str) -> bool:
    ends = range(1, min(len(a), len(b)))
    return a in b or b in a or any(a[-end:] == b[:end] or b[-end:] == a[:end] for end in ends)
