"""GGUF files to ``tokenizer.json``.

The result gives the ids of llama.cpp with special tokens found in the text (``llama_tokenize`` with ``parse_special``).
It adds the tokens for the beginning and end of a text (``add_special``) if asked for special tokens. For byte-level BPE
llama.cpp does not normalize text, so a model whose own ``tokenizer.json`` normalizes gets other ids from llama.cpp. In
some parts llama.cpp only approximates models' own tokenizers, and the result follows the models: in tables of Unicode,
in a few patterns (`gguf_patterns`), and in BERT's removal of accents. See docs/sources.md for all differences.
"""

from __future__ import annotations

import os
from typing import Any

from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats import gguf_models
from crayon_hf.formats.converted import Converted, Progress, written
from crayon_hf.formats.gguf_file import Metadata, read_metadata
from crayon_hf.formats.gguf_patterns import pre_tokenizer
from crayon_hf.formats.gguf_template import Frame, template
from crayon_hf.formats.gguf_tokens import PREFIX, Tokens, flag, read_tokens, string, strings

_MODEL = PREFIX + "model"
_TEMPLATE = "tokenizer.chat_template"
_NAMED = ("bos", "eos", "unk", "sep", "pad", "mask")
_MODELS = ("gpt2", "gemma4", "llama", "bert", "t5")


def read_gguf(path: str | os.PathLike[str], progress: Progress | None = None) -> Converted:
    """Read the vocabulary of a GGUF file, from its metadata alone.

    Raises VocabularyError for a file that is damaged or has no vocabulary, and UnsupportedError for an unsupported
    kind of vocabulary.
    """
    return from_metadata(read_metadata(path), progress)


def from_metadata(metadata: Metadata, progress: Progress | None = None) -> Converted:
    """Read the vocabulary from the metadata of a GGUF file. The errors are those of `read_gguf`."""
    if _MODEL not in metadata:
        raise VocabularyError(
            f"the GGUF file has no {_MODEL}: it holds no vocabulary, or is not the first part of a model"
        )
    model = string(metadata, _MODEL, "")
    if model == "gpt2":
        return _bpe(metadata, model, string(metadata, PREFIX + "pre", ""))
    if model == "gemma4":
        return _bpe(metadata, model, "gemma4")
    if model == "llama":
        return _llama(metadata, progress)
    if model == "bert":
        return _bert(metadata)
    if model == "t5":
        return _t5(metadata)
    raise UnsupportedError(f"tokenizer model {model[:80]!r} of a GGUF file; supported: {', '.join(_MODELS)}")


def _bpe(metadata: Metadata, model: str, name: str) -> Converted:
    pre = pre_tokenizer(name)
    merges = strings(metadata, "merges")
    if merges is None and name != "kimi-k2":
        raise VocabularyError(f"the GGUF file has no {PREFIX}merges")
    ids = {} if model == "gemma4" else {"eos": 11} if pre.default_bos is None else {"bos": pre.default_bos, "eos": 11}
    tokens = read_tokens(metadata, ids)
    document = gguf_models.byte_level_bpe(tokens, merges or (), pre)
    frame = _frame(metadata, tokens, bos=pre.add_bos, eos=False, sep=pre.add_sep)
    if model == "gemma4" or name in ("gemma4", "granite-embed-multi-311m"):
        frame = frame._replace(bos=tokens.id_of("bos", "a model that begins with it"))
    return _converted(metadata, document, tokens, frame, pre.clean_spaces)


def _llama(metadata: Metadata, progress: Progress | None) -> Converted:
    tokens = read_tokens(metadata, {"bos": 1, "eos": 2, "unk": 0})
    document = gguf_models.sentencepiece_bpe(tokens, flag(metadata, "add_space_prefix", True), progress)
    return _converted(metadata, document, tokens, _frame(metadata, tokens, bos=True, eos=False, sep=False), False)


def _bert(metadata: Metadata) -> Converted:
    tokens = read_tokens(metadata, {"bos": 101, "unk": 100, "sep": 102, "pad": 0, "mask": 103})
    lowercase = flag(metadata, "normalizer.lowercase", True)
    document = gguf_models.wordpiece(tokens, lowercase, flag(metadata, "normalizer.strip_accents", lowercase))
    why = "a WordPiece model"
    # llama.cpp adds these two tokens even if the file's settings exclude them.
    frame = Frame(bos=tokens.id_of("bos", why), eos=tokens.id_of("sep", why), shared_begin=True)
    return _converted(metadata, document, tokens, frame, True)


def _t5(metadata: Metadata) -> Converted:
    tokens = read_tokens(metadata, {"eos": 1, "unk": 2, "pad": 0})
    charsmap = metadata.get(PREFIX + "precompiled_charsmap")
    if charsmap is not None and getattr(charsmap, "dtype", None) not in ("u1", "i1"):
        raise VocabularyError(f"{PREFIX}precompiled_charsmap is not an array of bytes")
    document = gguf_models.unigram(
        tokens,
        b"" if charsmap is None else charsmap.tobytes(),
        flag(metadata, "add_space_prefix", False),
        flag(metadata, "remove_extra_whitespaces", False),
    )
    return _converted(metadata, document, tokens, _frame(metadata, tokens, bos=False, eos=True, sep=False), False)


def _frame(metadata: Metadata, tokens: Tokens, *, bos: bool, eos: bool, sep: bool) -> Frame:
    """Return the special ids around a text. `bos`, `eos` and `sep` are the defaults if the file states nothing."""

    def put(role: str, default: bool) -> int | None:
        key = f"add_{role}_token"
        if PREFIX + key not in metadata:
            return tokens.special.get(role) if default else None
        return tokens.id_of(role, key) if flag(metadata, key, default) else None

    return Frame(bos=put("bos", bos), eos=put("eos", eos), sep=put("sep", sep))


def _converted(
    metadata: Metadata, document: dict[str, Any], tokens: Tokens, frame: Frame, clean_spaces: bool
) -> Converted:
    texts = {added["id"]: added["content"] for added in document["added_tokens"]}
    document["post_processor"] = template(frame, tokens.texts)
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **{f"{role}_token": texts[id] for role, id in tokens.special.items() if role in _NAMED and id in texts},
        "add_bos_token": frame.bos is not None,
        "add_eos_token": frame.eos is not None,
        "clean_up_tokenization_spaces": clean_spaces,
    }
    length = metadata.get(string(metadata, "general.architecture", "") + ".context_length")
    if isinstance(length, int) and length > 0:
        config["model_max_length"] = length
    chat = _chat_template(metadata)
    if chat is not None:
        config["chat_template"] = chat
    says = {key: metadata[PREFIX + key] for key in ("model", "pre") if PREFIX + key in metadata}
    return Converted(written(document), config, "llama.cpp", metadata={"gguf": says})


def _chat_template(metadata: Metadata) -> str | list[dict[str, str]] | None:
    """The chat template, or a list of all templates with their names if the file has several."""
    named = {
        key.removeprefix(_TEMPLATE + "."): string(metadata, key, "")
        for key in metadata
        if key.startswith(_TEMPLATE + ".")
    }
    if _TEMPLATE in metadata:
        named["default"] = string(metadata, _TEMPLATE, "")
    if not named or list(named) == ["default"]:
        return named.get("default")
    return [{"name": name, "template": text} for name, text in named.items()]
