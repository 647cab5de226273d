"""Directories with tokenizers, as repositories on the Hub are: `python -m clients.vocabularies DIRECTORY`.

They come from CRAYON_SHARED. Without it, tokenizers of the same kinds are trained on this repository's own texts.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from clients import texts

NAMES = ("gpt2", "llama3", "qwen", "llama2", "t5-small", "bert-cased", "whisper-tiny", "roberta-base")
MODEL_TYPES = {
    "gpt2": "gpt2",
    "llama3": "llama",
    "qwen": "qwen2",
    "llama2": "llama",
    "t5-small": "t5",
    "bert-cased": "bert",
    "whisper-tiny": "whisper",
    "roberta-base": "roberta",
}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "gpt2": {
        "tokenizer_class": "GPT2Tokenizer",
        "model_max_length": 1024,
        **dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>"),
    },
    "roberta-base": {"tokenizer_class": "RobertaTokenizer", "model_max_length": 512},
}
"""Of those that CRAYON_SHARED has no tokenizer_config.json of: as they are on the Hub."""
WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"
ROLES = "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
TEMPLATE = ROLES + "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
VOCABULARY = 8000


def make(directory: Path) -> None:
    """Make the directories that are not there yet."""
    shared = os.environ.get("CRAYON_SHARED")
    for name in NAMES:
        home = directory / name
        if (home / "config.json").exists():
            continue
        home.mkdir(parents=True, exist_ok=True)
        if shared:
            for file in Path(shared, "vocab", name).iterdir():
                shutil.copy(file, home / file.name)
        else:
            trained, configuration = _train(name)
            trained.save(str(home / "tokenizer.json"))
            _write(home / "tokenizer_config.json", configuration)
        if name in CONFIGURATIONS and not (home / "tokenizer_config.json").exists():
            _write(home / "tokenizer_config.json", CONFIGURATIONS[name])
        _write(home / "config.json", {"model_type": MODEL_TYPES[name]})


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def _train(name: str) -> tuple[Any, dict[str, Any]]:
    """A small tokenizer of the kind that `name` is, and its configuration."""
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
        trainers,
    )

    def of_bytes(special: list[str], split: str | None = None) -> Any:
        it = Tokenizer(models.BPE())
        bytes_only = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=split is None)
        cuts = [pre_tokenizers.Split(Regex(split), "isolated")] if split else []
        it.pre_tokenizer = pre_tokenizers.Sequence([*cuts, bytes_only]) if cuts else bytes_only
        it.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        it.train_from_iterator(
            corpus,
            trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=alphabet),
        )
        return it

    corpus = texts.documents("english", 200, 2000) + texts.documents("multi", 100, 2000)
    limit: dict[str, Any] = {"model_max_length": 1024}
    if name == "gpt2":
        return of_bytes(["<|endoftext|>"]), CONFIGURATIONS["gpt2"]
    if name == "roberta-base":
        it = of_bytes(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
        it.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
        return it, CONFIGURATIONS["roberta-base"]
    if name in ("llama3", "qwen"):
        it = of_bytes(["<|endoftext|>", "<|im_start|>", "<|im_end|>"], WORDS)
        if name == "qwen":
            it.normalizer = normalizers.NFC()
        said = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "chat_template": TEMPLATE}
        return it, {"tokenizer_class": "PreTrainedTokenizerFast", **said, **limit}
    if name == "whisper-tiny":
        begin = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|zh|>", "<|translate|>", "<|transcribe|>"]
        begin += ["<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
        it = of_bytes(begin[:1])
        it.add_special_tokens([AddedToken(each, special=True) for each in begin[1:]])
        it.add_tokens([AddedToken(f"<|{number * 0.02:.2f}|>", normalized=False) for number in range(1501)])
        roles = dict.fromkeys(("bos_token", "eos_token", "unk_token", "pad_token"), "<|endoftext|>")
        return it, {"tokenizer_class": "WhisperTokenizer", **roles, **limit, "additional_special_tokens": begin[1:]}
    if name == "llama2":
        it = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
        it.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        tail = [decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        it.decoder = decoders.Sequence([decoders.Replace("▁", " "), *tail])
        special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
        words = [word for text in corpus for word in text.split()]
        it.train_from_iterator(words, trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=special))
        it.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
        )
        roles = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
        return it, {"tokenizer_class": "LlamaTokenizer", **roles, **limit}
    if name == "t5-small":
        it = Tokenizer(models.Unigram())
        it.pre_tokenizer, it.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        special = ["<pad>", "</s>", "<unk>", *(f"<extra_id_{number}>" for number in range(100))]
        it.train_from_iterator(
            corpus, trainers.UnigramTrainer(vocab_size=VOCABULARY, special_tokens=special, unk_token="<unk>")
        )
        it.post_processor = processors.TemplateProcessing(
            single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
        )
        roles = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
        return it, {"tokenizer_class": "T5Tokenizer", **roles, **limit}
    assert name == "bert-cased", name
    it = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    it.normalizer, it.pre_tokenizer = normalizers.BertNormalizer(lowercase=False), pre_tokenizers.BertPreTokenizer()
    it.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    it.train_from_iterator(corpus, trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=special))
    it.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    roles = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]"}
    return it, {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": False,
        "mask_token": "[MASK]",
        **roles,
        "model_max_length": 512,
    }


if __name__ == "__main__":
    make(Path(sys.argv[1]))
