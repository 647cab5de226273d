"""`extend` trains an existing BPE vocabulary further."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf import _core
from crayon_hf.errors import CorpusError, VocabularyError
from crayon_hf.training import output as outputs
from crayon_hf.training.native import Source
from crayon_hf.training.vocabulary import (
    Named,
    Vocabulary,
    VocabularyChange,
    native_engine,
    open_vocabulary,
    rebuilt,
    with_config_tokens,
)
from crayon_hf.training_data.corpus import corpus_of
from crayon_hf.training_data.counting import count_words
from crayon_hf.training_data.options import special_tokens_of
from crayon_hf.training_data.progress import Report, end, reporter
from crayon_hf.util import validation

if TYPE_CHECKING:
    import tokenizers
    from tokenizers import AddedToken

    from crayon_hf.tokenizer_json.added_tokens import Token


def extend(
    tokenizer: Named | tokenizers.Tokenizer,
    source: Source,
    *,
    vocab_size: int | None = None,
    new_tokens: int | None = None,
    min_frequency: int = 0,
    special_tokens: Sequence[str | AddedToken] = (),
    limit_alphabet: int | None = None,
    max_token_length: int | None = None,
    show_progress: bool | Report = True,
    column: str = "text",
    format: str | None = None,
    length: int | None = None,
    threads: int = 0,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> VocabularyChange:
    """Train a BPE vocabulary further on other texts. Old tokens keep their ids, and old merges their order.

    Training continues from the old merges, by the rules of `train_bpe`. New tokens get the ids after the highest one
    in use: first `special_tokens`, then characters that the vocabulary lacks, then the tokens of new merges.

    Args:
        tokenizer: A BPE tokenizer, or the path or name of one. Given a path or a name, the output keeps the settings
            of that tokenizer, such as its chat template.
        source: Texts or files, as for `train_bpe`.
        vocab_size: One more than the highest id of the result. A model's embedding needs this number of rows.
        new_tokens: The number of new tokens. Give either this or `vocab_size`.
        min_frequency: The lowest count with which a pair is merged or a new character is added.
        special_tokens: Special tokens to add.
        limit_alphabet: Add at most this many new characters, the most frequent ones. By default all that fit are
            added.
        max_token_length: Tokens of new merges have fewer characters than this (bytes, if the vocabulary is
            byte-level).
        show_progress: As for `train_bpe`.
        column: As for `train_bpe`.
        format: As for `train_bpe`.
        length: As for `train_bpe`.
        threads: As for `train_bpe`.
        output: Where to save the result, as for `train_bpe`. `id_map` is saved as well: ``id_map.json`` in a
            directory, or ``NAME.id_map.json`` beside ``NAME.json``.
        overwrite: Replace a tokenizer that `output` already has.

    Returns:
        The new tokenizer, and `id_map`, an int64 array of shape (highest old id + 1,). It maps each old id to itself,
        and each unused id to -1.

    Raises:
        VocabularyError: The size leaves no room for new tokens.
        UnsupportedError: The model is not BPE, or the engine does not support the tokenizer.
        CorpusError: The source has no words, or a file is damaged.
        OSError: As for `train_bpe`.

    >>> change = crayon_hf.extend("lite", ["Zwiebelkuchen und Zwiebelsuppe"] * 9, new_tokens=9, show_progress=False)
    >>> change.tokenizer.get_vocab_size(), change.id_map.shape
    (50009, (50000,))
    >>> change.tokenizer.encode("Zwiebelkuchen").tokens
    ['Zwiebelkuchen']
    """
    import numpy as np

    if (vocab_size is None) == (new_tokens is None):
        raise ValueError("vocab_size and new_tokens are alternatives: give one of them")
    for name, value in (("vocab_size", vocab_size), ("new_tokens", new_tokens)):
        if value is not None:
            validation.unsigned(value, name, 31)
    min_frequency = validation.unsigned(min_frequency, "min_frequency", 64)
    for name, value in (("max_token_length", max_token_length), ("limit_alphabet", limit_alphabet)):
        if value is not None:
            validation.unsigned(value, name, 63)
    specials = special_tokens_of(special_tokens)
    threads = validation.unsigned(threads, "threads", 16)
    report = reporter(show_progress)
    corpus = corpus_of(source, column, format, length)
    target = outputs.checked(output, source, overwrite)
    old = with_config_tokens(open_vocabulary(tokenizer))
    ids = old.ids()
    old_size = max(ids.values()) + 1
    total = old_size + new_tokens if new_tokens is not None else vocab_size
    assert total is not None
    grown = _with_special_tokens(old, specials, old_size)
    room = total - max(grown.ids().values()) - 1
    if total <= old_size or room < 0:
        raise VocabularyError(
            f"the new size is {total:,}, but the highest old id is {old_size - 1:,}"
            + (f", plus {len(specials)} special tokens" if specials else "")
            + f": give more than {max(old_size, total - room):,}"
        )
    try:
        words = count_words(grown.counting_engine(), corpus, report, threads)
        if not words.total:
            raise CorpusError("the source has no text, so no token can be learnt")
        most = room if limit_alphabet is None else min(room, limit_alphabet)
        grown = _with_characters(grown, words, most, min_frequency)
        options = {"vocab_size": total, "min_frequency": min_frequency, "max_token_length": max_token_length}
        document = _trained(grown, words, options, report)
    finally:
        end(report)
    result = rebuilt(document)
    id_map = np.full(old_size, -1, np.int64)
    old_ids = np.fromiter(ids.values(), np.int64, len(ids))
    id_map[old_ids] = old_ids
    files = outputs.save(result, target, old.config, id_map)
    new = sum(id >= old_size for id in document["model"]["vocab"].values())
    return VocabularyChange(result, id_map, new, 0, files)


def _trained(
    old: Vocabulary, words: _core.WordCounter, options: dict[str, Any], report: Report | None
) -> dict[str, Any]:
    """Return the ``tokenizer.json`` of `old` with the tokens and merges that training on the words adds."""
    ids = old.ids()
    tokens = [""] * (max(ids.values()) + 1)
    for token, id in ids.items():
        tokens[id] = token
    unknown = old.model["vocab"].get(old.model.get("unk_token"))
    apart = old.byte_ids() if unknown is None else [unknown, *old.byte_ids()]
    made, merges = _core.extend_bpe(
        words,
        old.engine,
        tokens=tokens,
        reusable=sorted(old.unmerged_ids() - set(apart)),
        apart=apart,
        continuing_subword_prefix=old.prefix,
        progress=report,
        **options,
    )
    new = {token: len(tokens) + i for i, token in enumerate(made)}
    tokens += made
    model = old.model | {
        "vocab": old.model["vocab"] | new,
        "merges": old.model["merges"] + [[tokens[left], tokens[right]] for left, right in merges],
    }
    return old.document | {"model": model}


def _with_special_tokens(old: Vocabulary, specials: Sequence[Token], following: int) -> Vocabulary:
    known = {token["content"] for token in old.document["added_tokens"]}
    new = [token for token in dict.fromkeys(specials) if token.content not in known]
    if not new:
        return old
    added, vocab = list(old.document["added_tokens"]), dict(old.model["vocab"])
    for token in new:
        id = vocab.setdefault(token.content, following)
        following += id == following
        added.append({"id": id, **token._asdict()})
    return _reopened(old, {"added_tokens": added, "model": old.model | {"vocab": vocab}})


def _with_characters(old: Vocabulary, words: _core.WordCounter, most: int, min_frequency: int) -> Vocabulary:
    """Add the `most` most frequent characters of the words that the vocabulary lacks."""
    if old.prefix or old.suffix:
        return old
    ids, has_bytes = old.ids(), len(old.byte_ids()) == 256
    missing = {
        character: count
        for character, count in _core.word_characters(words).items()
        if character not in ids and count >= min_frequency and not (has_bytes and character.isascii())
    }
    chosen = sorted(missing, key=lambda character: (-missing[character], -ord(character)))[:most]
    if not chosen:
        return old
    following = max(ids.values()) + 1
    new = {character: following + i for i, character in enumerate(sorted(chosen))}
    return _reopened(old, {"model": old.model | {"vocab": old.model["vocab"] | new}})


def _reopened(old: Vocabulary, changes: dict[str, Any]) -> Vocabulary:
    document = old.document | changes
    return Vocabulary(document, old.config, native_engine(rebuilt(document)))
