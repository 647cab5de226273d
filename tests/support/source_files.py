"""The fixture with a small file of each vocabulary format that can be converted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crayon_hf import Tokenizer
from crayon_hf.formats.tiktoken import write_ranks
from tests.support.reference_impl import ranked_tokens
from tests.support.version_2_files import WORDS, write_version_2


@pytest.fixture(scope="session")
def source_files(
    tmp_path_factory: pytest.TempPathFactory, gpt2_like: Path, wordpiece_like: Path, training_text: list[str]
) -> dict[str, Path]:
    """The paths of small source tokenizers. The first six have the name of the conversion script that reads them."""
    from tests.formats.gguf_files import write_gguf
    from tests.formats.tekken_files import small_tekken
    from tests.support.sentencepiece_models import trained

    home = tmp_path_factory.mktemp("sources")
    names = {
        **{"huggingface": "my-model", "tiktoken": "mine.tiktoken", "gguf": "model.gguf", "tekken": "tekken.json"},
        **{"sentencepiece": "tokenizer.model", "crayon": "vocab_lite.dat", "cartridge": "ours.dat"},
        **{"slow": "slow/vocab.json", "merges": "slow/merges.txt", "bert": "bert"},
    }
    paths = {name: home / file for name, file in names.items()}
    for folder in ("my-model", "slow"):
        (home / folder).mkdir()
    document = json.loads(gpt2_like.read_bytes())
    vocab, merges = document["model"]["vocab"], [" ".join(pair) for pair in document["model"]["merges"]]
    (paths["huggingface"] / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    paths["slow"].write_text(json.dumps(vocab), encoding="utf-8")
    paths["merges"].write_text("\n".join(merges), encoding="utf-8")
    tokens = sorted(vocab, key=vocab.__getitem__)
    types = [3] + [1] * (len(tokens) - 1)
    write_gguf(paths["gguf"], "gpt2", tokens, types=types, merges=merges, keys={"pre": "gpt-2"})
    options = {"vocab_size": 600, "model_type": "bpe", "byte_fallback": True, "character_coverage": 0.99}
    # NFKC takes seconds to convert.
    paths["sentencepiece"].write_bytes(trained(training_text, normalization_rule_name="identity", **options))
    ranked = ranked_tokens(document)
    paths["tiktoken"].write_bytes(write_ranks({token: rank for rank, token in enumerate(ranked)}))
    paths["tekken"].write_text(json.dumps(small_tekken(ranked)))
    write_version_2(paths["crayon"], WORDS)
    Tokenizer.from_file(gpt2_like).save(paths["cartridge"])
    vocab = json.loads(wordpiece_like.read_bytes())["model"]["vocab"]
    lines = [*sorted(vocab, key=vocab.__getitem__), "[PAD]", "[MASK]"]
    paths["bert"].write_text("\n".join(lines), encoding="utf-8")
    return {**paths, "tokenizer.json": gpt2_like}
