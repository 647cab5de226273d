"""Learns a BPE model from a corpus, and returns it as the ``model`` of a ``tokenizer.json``."""

from __future__ import annotations

from typing import Any, NamedTuple

from crayon_hf import _core
from crayon_hf.tokenizer_json import document as tokenizer_json
from crayon_hf.tokenizer_json.added_tokens import Token
from crayon_hf.training_data.batches import Corpus
from crayon_hf.training_data.counting import Untrained, count
from crayon_hf.training_data.options import BpeOptions
from crayon_hf.training_data.progress import Report, end


class Trained(NamedTuple):
    """A trained model, the special tokens to add, and counts of the corpus."""

    model: dict[str, Any]
    special_tokens: tuple[Token, ...]
    unique_words: int
    words: int
    bytes: int


def train_model(
    untrained: Untrained, corpus: Corpus, options: BpeOptions, report: Report | None, threads: int = 0
) -> Trained:
    """Count the words of a corpus and learn the merges."""
    try:
        words = count(untrained, corpus, report, threads)
        tokens, merges = _core.train_bpe(
            words,
            vocab_size=options.vocab_size,
            min_frequency=options.min_frequency,
            special_tokens=[token.content for token in options.special_tokens],
            limit_alphabet=options.limit_alphabet,
            initial_alphabet=options.initial_alphabet,
            continuing_subword_prefix=options.continuing_subword_prefix or "",
            end_of_word_suffix=options.end_of_word_suffix or "",
            max_token_length=options.max_token_length,
            progress=report,
        )
    finally:
        end(report)
    model = tokenizer_json.without_vocabulary(untrained.parts["model"]) | {
        "continuing_subword_prefix": options.continuing_subword_prefix,
        "end_of_word_suffix": options.end_of_word_suffix,
        "vocab": {token: id for id, token in enumerate(tokens)},
        "merges": [[tokens[left], tokens[right]] for left, right in merges],
    }
    return Trained(model, options.special_tokens, words.unique, words.total, words.bytes)
