"""The components and added tokens that classes of transformers 5 add to a bare vocabulary.

The classes of ``tokenizers`` build them, so the result is the ``tokenizer.json`` that transformers would save.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.sidecar_files import Beside
from crayon_hf.formats.special_tokens import SpecialTokens, special_tokens
from crayon_hf.util.reference import reference_class

_END = "<|endoftext|>"
_GPT2 = {"bos_token": _END, "eos_token": _END, "unk_token": _END}
_ROBERTA = {
    **{"bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "cls_token": "<s>"},
    **{"unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"},
}
_BERT = {
    **{"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]"},
    "mask_token": "[MASK]",
}
_QWEN2_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class _Class(NamedTuple):
    """How a class of transformers builds its tokenizer."""

    defaults: Mapping[str, str | None]
    build: Callable[[tokenizers.Tokenizer, Mapping[str, Any]], None]
    finish: Callable[[tokenizers.Tokenizer, SpecialTokens, Mapping[str, Any]], None]


def byte_level(vocab: dict[str, int], merges: list[tuple[str, str]], beside: Beside) -> Converted:
    """Convert byte-level BPE as the class that the files `beside` name, or as GPT2Tokenizer if they name none."""
    name = _class_name(beside, "GPT2Tokenizer", _BYTE_LEVEL_CLASSES, _BYTE_LEVEL_MODELS)
    options = {"continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False}
    return _assemble(lambda: models.BPE(vocab, merges, **options), name, _BYTE_LEVEL_CLASSES[name], beside)


def wordpiece(vocab: dict[str, int], beside: Beside) -> Converted:
    """Convert WordPiece as BertTokenizer, or as the class that the files `beside` name. All of them work alike."""
    name = _class_name(beside, "BertTokenizer", _WORDPIECE_CLASSES, _WORDPIECE_MODELS)
    unknown = special_tokens(beside, _BERT).text("unk_token")
    if unknown not in vocab:
        raise VocabularyError(f"vocab.txt has no {unknown!r}, its unknown token")
    cls = _WORDPIECE_CLASSES[name]
    named = {unknown, *map(str, special_tokens(beside, cls.defaults).to_add)}
    if not vocab.keys() >= named:  # the missing tokens get ids after all others
        return _assemble(lambda: models.WordPiece(vocab, unk_token=unknown), name, cls, beside)
    # `tokenizers` reads and writes a whole vocabulary slowly. Its other components need only the added tokens.
    few = {token: vocab[token] for token in named}
    converted = _assemble(lambda: models.WordPiece(few, unk_token=unknown), name, cls, beside)
    before, member, _ = converted.tokenizer_json.rpartition(b'"vocab": ')
    return converted._replace(tokenizer_json=b"%s%s%s\n  }\n}" % (before, member, _core.vocabulary_text(vocab, True)))


def _assemble(model: Callable[[], Any], name: str, cls: _Class, beside: Beside) -> Converted:
    config = {key: value for key, value in beside.config.items() if key != "added_tokens_decoder"}
    tokens = special_tokens(beside, cls.defaults)
    try:
        tokenizer = reference_class()(model())
        cls.build(tokenizer, config)
        if tokens.to_add:
            tokenizer.add_tokens(tokens.to_add)
        cls.finish(tokenizer, tokens, config)
        written = tokenizer.to_str(pretty=True).encode()
    except VocabularyError:
        raise
    except Exception as error:  # the library raises Exception itself
        raise VocabularyError(f"tokenizers cannot build a {name}: {error}") from error
    added = {str(id): token.__getstate__() for id, token in tokenizer.get_added_tokens_decoder().items()}
    for key in ("additional_special_tokens", "add_bos_token", "add_eos_token"):  # the tokenizer.json expresses these
        config.pop(key, None)
    config |= tokens.as_config() | {"added_tokens_decoder": added, "tokenizer_class": name}
    return Converted(written, config, "tokenizers")


def _build_byte_level(tokenizer: tokenizers.Tokenizer, config: Mapping[str, Any]) -> None:
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=_flag(config, "add_prefix_space", False))
    tokenizer.decoder = decoders.ByteLevel()


def _build_codegen(tokenizer: tokenizers.Tokenizer, config: Mapping[str, Any]) -> None:
    _build_byte_level(tokenizer, config)
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=True, use_regex=True, trim_offsets=False)


def _build_qwen2(tokenizer: tokenizers.Tokenizer, config: Mapping[str, Any]) -> None:
    prefix = bool(_flag(config, "add_prefix_space", False))
    tokenizer.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(_QWEN2_PATTERN), behavior="isolated", invert=False)
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.decoder = decoders.ByteLevel()


def _build_bert(tokenizer: tokenizers.Tokenizer, config: Mapping[str, Any]) -> None:
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=_flag(config, "tokenize_chinese_chars", True),
        strip_accents=_flag(config, "strip_accents", None),
        lowercase=_flag(config, "do_lower_case", True),
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")


def _finish_plain(tokenizer: tokenizers.Tokenizer, tokens: SpecialTokens, config: Mapping[str, Any]) -> None:
    """Add a template with the beginning-of-text and end-of-text tokens that the config asks for."""
    if tokenizer.post_processor is not None and not {"add_bos_token", "add_eos_token"} & config.keys():
        return
    first, last = (
        str(tokens.named[name]) if name in tokens.named and _flag(config, f"add_{name}", False) else None
        for name in ("bos_token", "eos_token")
    )
    around = [(text, id) for text in (first, last) if text and (id := tokenizer.token_to_id(text)) is not None]

    def part(name: str, type_id: int) -> list[str]:
        texts = (first, f"${name}", last)
        return [f"{text}:{type_id}" for text in texts if text]

    single = part("A", 0)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=" ".join(single), pair=" ".join([*single, *part("B", 1)]), special_tokens=list(dict.fromkeys(around))
    )


def _finish_qwen2(tokenizer: tokenizers.Tokenizer, tokens: SpecialTokens, config: Mapping[str, Any]) -> None:
    _finish_plain(tokenizer, tokens, config)
    every = dict.fromkeys(map(str, [*tokens.named.values(), *tokens.extra]))
    tokenizer.add_tokens([tokenizers.AddedToken(text, special=True) for text in every])


def _finish_roberta(tokenizer: tokenizers.Tokenizer, tokens: SpecialTokens, config: Mapping[str, Any]) -> None:
    sep, cls = (_with_id(tokenizer, tokens, name) for name in ("sep_token", "cls_token"))
    trims = _flag(config, "trim_offsets", True)
    tokenizer.post_processor = processors.RobertaProcessing(sep, cls, trims, _flag(config, "add_prefix_space", False))


def _finish_bert(tokenizer: tokenizers.Tokenizer, tokens: SpecialTokens, _: Mapping[str, Any]) -> None:
    sep, cls = (_with_id(tokenizer, tokens, name) for name in ("sep_token", "cls_token"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls[0]}:0 $A:0 {sep[0]}:0",
        pair=f"{cls[0]}:0 $A:0 {sep[0]}:0 $B:1 {sep[0]}:1",
        special_tokens=[cls, sep],
    )


def _with_id(tokenizer: tokenizers.Tokenizer, tokens: SpecialTokens, name: str) -> tuple[str, int]:
    text = tokens.text(name)
    id = tokenizer.token_to_id(text)
    assert id is not None, "every named token was added"
    return text, id


_BYTE_LEVEL_CLASSES = {
    "GPT2Tokenizer": _Class(_GPT2, _build_byte_level, _finish_plain),
    "CodeGenTokenizer": _Class(_GPT2, _build_codegen, _finish_plain),
    "RobertaTokenizer": _Class(_ROBERTA, _build_byte_level, _finish_roberta),
    "Qwen2Tokenizer": _Class({"unk_token": _END, "eos_token": _END, "pad_token": _END}, _build_qwen2, _finish_qwen2),
}
_BYTE_LEVEL_CLASSES |= dict.fromkeys(
    ("BartTokenizer", "LEDTokenizer", "LongformerTokenizer"), _BYTE_LEVEL_CLASSES["RobertaTokenizer"]
)
_WORDPIECE_CLASSES = dict.fromkeys(
    (
        *("BertTokenizer", "ConvBertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "LayoutLMTokenizer"),
        *("LxmertTokenizer", "MobileBertTokenizer", "SqueezeBertTokenizer"),
    ),
    _Class(_BERT, _build_bert, _finish_bert),
)

# The class for each type of model, where no file names a class.
_BYTE_LEVEL_MODELS = {
    **dict.fromkeys(("gpt2", "gpt_neo", "gptj", "opt"), "GPT2Tokenizer"),
    **{"codegen": "CodeGenTokenizer", "roberta": "RobertaTokenizer", "bart": "RobertaTokenizer"},
    **{"longformer": "RobertaTokenizer", "qwen2": "Qwen2Tokenizer"},
}
_WORDPIECE_MODELS = dict.fromkeys(
    ("bert", "convbert", "distilbert", "electra", "layoutlm", "mobilebert", "squeezebert"), "BertTokenizer"
)


def _class_name(beside: Beside, default: str, classes: Mapping[str, _Class], by_model: Mapping[str, str]) -> str:
    named = beside.config.get("tokenizer_class") or beside.model_config.get("tokenizer_class")
    model = beside.model_config.get("model_type")
    if isinstance(named, str):
        name = named.removesuffix("Fast")
    elif isinstance(model, str):
        name = by_model.get(model, f"tokenizer of {model}")
    else:
        name = default
    if name not in classes:
        known = ", ".join(classes)
        raise UnsupportedError(
            f"a {name}: crayon-hf reads these files only for {known}; save it "
            "with transformers, which writes a tokenizer.json"
        )
    return name


def _flag(config: Mapping[str, Any], name: str, default: bool | None) -> Any:
    value = config.get(name, default)
    if value is not None and type(value) is not bool:
        raise VocabularyError(f"{name} in tokenizer_config.json is {value!r}, not true or false")
    return value
