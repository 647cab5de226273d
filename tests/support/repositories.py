"""Small model repositories for ``transformers``, one for each family of tokenizer classes, trained here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, pre_tokenizers, processors

from tests.support import families

FAMILIES = ("byte_level", "bert", "t5", "llama")

CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def write_repositories(root: Path, training_text: list[str]) -> dict[str, Path]:
    """Train and write one repository for each family below `root`, and return their directories by family."""
    for name, make in zip(FAMILIES, (_byte_level, _bert, _t5, _llama), strict=True):
        tokenizer, config = make(training_text)
        directory = root / name
        directory.mkdir()
        tokenizer.save(str(directory / "tokenizer.json"))
        (directory / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return {name: root / name for name in FAMILIES}


def _byte_level(text: list[str]) -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = families.byte_level(text, 600, ["<|endoftext|>", "<pad>"])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    return tokenizer, {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|endoftext|>",
        "bos_token": "<|endoftext|>",
        "pad_token": "<pad>",
        "model_max_length": 40,
        "chat_template": CHAT_TEMPLATE,
    }


def _bert(text: list[str]) -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = families.word_piece(text, 500, families.BERT_TOKENS)
    tokenizer.post_processor = families.template(tokenizer, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
    return tokenizer, {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 64}


def _t5(text: list[str]) -> tuple[Tokenizer, dict[str, Any]]:
    extra = [f"<extra_id_{number}>" for number in range(10)]
    words = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer = families.unigram(text, 400, ["<pad>", "</s>", "<unk>", *reversed(extra)], pre_tokenizer=words)
    tokenizer.post_processor = families.template(tokenizer, "$A </s>", "$A </s> $B </s>")
    return tokenizer, {
        "tokenizer_class": "T5Tokenizer",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "pad_token": "<pad>",
        "extra_ids": 10,
        "additional_special_tokens": extra,
        "model_max_length": 512,
        "clean_up_tokenization_spaces": True,
    }


def _llama(text: list[str]) -> tuple[Tokenizer, dict[str, Any]]:
    words = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer = families.llama(text, 700, ["<unk>", "<s>", "</s>", "<pad>"], None, words, max_token_length=12)
    tokenizer.post_processor = families.template(tokenizer, "<s> $A", "<s> $A <s>:1 $B:1")
    return tokenizer, {
        "tokenizer_class": "LlamaTokenizer",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "pad_token": "<pad>",
        "legacy": False,
        "add_bos_token": True,
    }
