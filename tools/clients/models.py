"""Makes small models with random weights, with tokenizers: `python -m clients.models DIRECTORY VOCABULARIES`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SMALL: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
LABELS = ("O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC")


def make(directory: Path, vocabularies: Path) -> None:
    """Make the models that `directory` lacks, with tokenizers from `vocabularies`."""
    import torch
    import transformers as library

    transformers: Any = library

    def bert(head: str, **said: Any) -> Any:
        return getattr(transformers, f"BertFor{head}" if head else "BertModel")(
            transformers.BertConfig(vocab_size=size, max_position_embeddings=512, **SMALL, **said)
        )

    def tokens() -> Any:
        names = dict(enumerate(LABELS))
        return bert("TokenClassification", id2label=names, label2id={name: id_ for id_, name in names.items()})

    def llama() -> Any:
        return transformers.LlamaForCausalLM(
            transformers.LlamaConfig(vocab_size=size, max_position_embeddings=4096, num_key_value_heads=2, **SMALL)
        )

    def gpt2() -> Any:
        return transformers.GPT2LMHeadModel(
            transformers.GPT2Config(vocab_size=size, n_embd=32, n_layer=1, n_head=2, n_positions=1024)
        )

    kinds: dict[str, tuple[str, Callable[[], Any]]] = {
        "llama": ("llama3", llama),
        "gpt2": ("gpt2", gpt2),
        "bert": ("bert-cased", lambda: bert("")),
        "bert-classes": ("bert-cased", lambda: bert("SequenceClassification", num_labels=3)),
        "bert-mask": ("bert-cased", lambda: bert("MaskedLM")),
        "bert-tokens": ("bert-cased", tokens),
    }
    for name, (vocabulary, build) in kinds.items():
        home = directory / name
        if (home / "config.json").exists():
            continue
        shutil.copytree(vocabularies / vocabulary, home, dirs_exist_ok=True)
        (home / "config.json").unlink()
        tokenizer = transformers.AutoTokenizer.from_pretrained(vocabularies / vocabulary)
        size = len(tokenizer)
        torch.manual_seed(1)
        model = build()
        model.save_pretrained(home)


if __name__ == "__main__":
    make(*map(Path, sys.argv[1:]))
