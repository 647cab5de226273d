"""The count of lines and tokens in which longest match agrees with merging: right for lines counted by hand."""

from __future__ import annotations

import tokenizers

from crayon_hf import Tokenizer
from crayon_hf.parity import greedy


def test_counted_by_hand() -> None:
    level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(level.alphabet())
    # Merging makes a + bc, since "b c" comes first; longest match takes "ab".
    vocab = {token: id for id, token in enumerate([*alphabet, "bc", "ab"])}
    model = tokenizers.models.BPE(vocab=vocab, merges=[("b", "c"), ("a", "b")])
    stock = tokenizers.Tokenizer(model)
    stock.pre_tokenizer, stock.decoder = level, tokenizers.decoders.ByteLevel()
    exact, other = (Tokenizer.from_str(stock.to_str(), mode=mode) for mode in ("exact", "greedy"))
    found = greedy.agreement(exact, other, "abc\nab ab\n\nabcd\nx", "small")
    assert (found.lines, found.lines_equal) == (4, 2)  # empty lines do not count
    assert found.exact_tokens == 2 + 3 + 3 + 1  # a bc | ab Ġ ab | a bc d | x
    assert found.greedy_tokens == 2 + 3 + 3 + 1  # ab c | ab Ġ ab | ab c d | x
    assert found.tokens_equal == 0 + 3 + 1 + 1
    assert found.to_json()["lines_equal_share"] == 0.5
    assert found.to_json()["tokens_equal_share"] == 5 / 9
