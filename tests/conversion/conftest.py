"""A fixture with a small source tokenizer for each conversion script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crayon_hf.formats.tiktoken import write_ranks
from tests.formats.gguf_files import write_gguf
from tests.formats.tekken_files import small_tekken
from tests.support.reference_impl import ranked_tokens
from tests.support.sentencepiece_models import trained
from tests.support.version_2_files import WORDS, write_version_2


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory, gpt2_like: Path, training_text: list[str]) -> dict[str, Path]:
    """The paths of small source tokenizers, by the name of the conversion script that reads them."""
    home = tmp_path_factory.mktemp("sources")
    (home / "my-model").mkdir()
    (home / "my-model" / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    model = json.loads(gpt2_like.read_bytes())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    merges = [" ".join(pair) for pair in model["merges"]]
    write_gguf(home / "model.gguf", "gpt2", tokens, types=[1] * len(tokens), merges=merges, keys={"pre": "gpt-2"})
    options = {"vocab_size": 600, "model_type": "bpe", "byte_fallback": True, "character_coverage": 0.99}
    options["normalization_rule_name"] = "identity"  # NFKC takes seconds to convert
    (home / "tokenizer.model").write_bytes(trained(training_text, **options))
    ranks = ranked_tokens({"model": model})
    (home / "mine.tiktoken").write_bytes(write_ranks({token: rank for rank, token in enumerate(ranks)}))
    (home / "tekken.json").write_text(json.dumps(small_tekken(ranks)))
    write_version_2(home / "vocab_lite.dat", WORDS)
    return {
        **{"huggingface": home / "my-model", "tiktoken": home / "mine.tiktoken", "gguf": home / "model.gguf"},
        **{"sentencepiece": home / "tokenizer.model", "tekken": home / "tekken.json"},
        "crayon": home / "vocab_lite.dat",
    }
