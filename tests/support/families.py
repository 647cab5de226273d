"""Trained tokenizers with the components of the usual families of models."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
BERT_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def byte_level(
    text: Iterable[str], size: int, special_tokens: list[str], pre_tokenizer: Any = None, normalizer: Any = None
) -> Tokenizer:
    """BPE over bytes, with the pattern of gpt2 by default."""
    tokenizer = Tokenizer(models.BPE())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return trained(tokenizer, text, trainers.BpeTrainer, size, special_tokens, initial_alphabet=alphabet)


def word_piece(text: Iterable[str], size: int, special_tokens: list[str], unknown: str = "[UNK]") -> Tokenizer:
    """WordPiece with BERT's components, without its post-processor."""
    tokenizer = Tokenizer(models.WordPiece(unk_token=unknown))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return trained(tokenizer, text, trainers.WordPieceTrainer, size, special_tokens)


def unigram(
    text: Iterable[str], size: int, special_tokens: list[str], normalizer: Any = None, pre_tokenizer: Any = None
) -> Tokenizer:
    """Unigram over words with a mark for spaces. `<unk>` is the unknown token."""
    tokenizer = Tokenizer(models.Unigram())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return trained(tokenizer, text, trainers.UnigramTrainer, size, special_tokens, unk_token="<unk>")


def word_level(text: Iterable[str], special_tokens: list[str], normalizer: Any, unknown: str) -> Tokenizer:
    """Whole words, without a limit on their number."""
    tokenizer = Tokenizer(models.WordLevel(unk_token=unknown))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return trained(tokenizer, text, trainers.WordLevelTrainer, 30_000, special_tokens)


def llama(
    text: Iterable[str], size: int, special_tokens: list[str], normalizer: Any, pre_tokenizer: Any, **more: Any
) -> Tokenizer:
    """BPE on characters with `byte_fallback`. The special tokens get the first ids, and the bytes the next. `more` are
    options of the trainer."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    words = [word for line in text for word in line.split()]
    trained(tokenizer, words, trainers.BpeTrainer, size, [*special_tokens, *BYTES], **more)
    document = json.loads(tokenizer.to_str())
    document["added_tokens"] = document["added_tokens"][: len(special_tokens)]  # the bytes are ordinary tokens
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.decoder = llama_decoder()
    return tokenizer


def llama_decoder() -> decoders.Decoder:
    return decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )


def template(tokenizer: Tokenizer, single: str, pair: str) -> processors.TemplateProcessing:
    """The post-processor for two templates whose special tokens the tokenizer has."""
    names = {part.partition(":")[0] for part in (*single.split(), *pair.split()) if not part.startswith("$")}
    tokens = [(name, tokenizer.token_to_id(name)) for name in sorted(names)]
    return processors.TemplateProcessing(single=single, pair=pair, special_tokens=tokens)


def trained(
    tokenizer: Tokenizer, text: Iterable[str], trainer: Any, size: int, special_tokens: list[str], **more: Any
) -> Tokenizer:
    """Train the tokenizer with this class of trainers."""
    made = trainer(vocab_size=size, special_tokens=special_tokens, show_progress=False, **more)
    tokenizer.train_from_iterator(text, made)
    return tokenizer
