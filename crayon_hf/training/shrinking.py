"""`shrink` removes tokens from a BPE vocabulary."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from crayon_hf import _core
from crayon_hf.errors import CorpusError, TokenIdError, VocabularyError
from crayon_hf.training import output as outputs
from crayon_hf.training.native import Source
from crayon_hf.training.vocabulary import (
    Named,
    Vocabulary,
    VocabularyChange,
    check_ids,
    ids_of_components,
    mapped_config,
    mapped_document,
    open_vocabulary,
    rebuilt,
    with_config_tokens,
)
from crayon_hf.training_data.corpus import corpus_of
from crayon_hf.training_data.counting import count_words
from crayon_hf.training_data.progress import Report, end, reporter
from crayon_hf.util import validation

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import tokenizers


def shrink(
    tokenizer: Named | tokenizers.Tokenizer,
    *,
    vocab_size: int | None = None,
    used_by: Source | None = None,
    min_frequency: int = 1,
    keep: Iterable[str | int] = (),
    show_progress: bool | Report = True,
    column: str = "text",
    format: str | None = None,
    length: int | None = None,
    threads: int = 0,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> VocabularyChange:
    """Remove tokens from a BPE vocabulary. Text that used no lost token gets the same tokens as before.

    The kept tokens get new ids without gaps, in the old order. Added tokens and the alphabet always stay. A token stays
    together with all tokens from which its merges make it.

    Args:
        tokenizer: A BPE tokenizer, or the path or name of one. Given a path or a name, the output keeps the settings
            of that tokenizer, such as its chat template.
        vocab_size: The number of tokens to keep. Tokens of low merge ranks are kept first; with `used_by`, the most
            used tokens are kept before them. Give this, `used_by` or both.
        used_by: Texts or files, as for `train_bpe`. Without `vocab_size`, all tokens that these texts use are kept.
        min_frequency: The number of uses from which on a token counts as used.
        keep: Tokens, or ids, that are kept in any case.
        show_progress: As for `train_bpe`.
        column: As for `train_bpe`, for `used_by`.
        format: As for `train_bpe`, for `used_by`.
        length: As for `train_bpe`, for `used_by`.
        threads: As for `train_bpe`.
        output: Where to save the result, as for `train_bpe`. `id_map` is saved as well: ``id_map.json`` in a
            directory, or ``NAME.id_map.json`` beside ``NAME.json``.
        overwrite: Replace a tokenizer that `output` already has.

    Returns:
        The new tokenizer, and `id_map`, an int64 array of shape (highest old id + 1,): the new id of each old one, or
        -1 for a lost token.

    Raises:
        VocabularyError: The size is too small for the tokens that must stay or larger than the vocabulary, or `keep`
            has a token that the vocabulary lacks.
        TokenIdError: `keep` has an id that the vocabulary lacks.
        UnsupportedError: The model is not BPE, or the engine does not support the tokenizer.
        CorpusError: `used_by` has no words, or a file is damaged.
        OSError: As for `train_bpe`.

    >>> change = crayon_hf.shrink("lite", vocab_size=5_000)
    >>> change.tokenizer.get_vocab_size(), change.id_map.shape, change.lost_tokens
    (5000, (50000,), 45000)
    """
    import numpy as np

    if vocab_size is None and used_by is None:
        raise ValueError("vocab_size and used_by are missing: give one of them, or both")
    most = None if vocab_size is None else validation.unsigned(vocab_size, "vocab_size", 31)
    least = max(validation.unsigned(min_frequency, "min_frequency", 64), 1)
    threads = validation.unsigned(threads, "threads", 16)
    report = reporter(show_progress)
    corpus = None if used_by is None else corpus_of(used_by, column, format, length)
    target = outputs.checked(output, used_by, overwrite)
    old = with_config_tokens(open_vocabulary(tokenizer))
    ids = old.ids()
    known = set(ids.values())
    if most is not None and most > len(known):
        raise VocabularyError(f"vocab_size is {most:,}, but the tokenizer has only {len(known):,} tokens: give fewer")
    required = sorted(_required(old, ids) | set(_ids_to_keep(keep, ids)))
    uses = np.zeros(0, np.uint64)
    try:
        if corpus is not None:
            words = count_words(old.counting_engine(), corpus, report, threads)
            if not words.total:
                raise CorpusError("used_by has no text, so no token is used")
            uses = _core.token_uses(words, old.engine, report)
            uses[uses < least] = 0
        affixes = {"continuing_subword_prefix": old.prefix, "end_of_word_suffix": old.suffix}
        kept = _core.kept_tokens(old.engine, required=required, uses=uses, most=most, **affixes)
    finally:
        end(report)
    return _changed(old, kept, most, len(known), target)


def _changed(
    old: Vocabulary, kept: npt.NDArray[np.bool_], most: int | None, size: int, target: str | None
) -> VocabularyChange:
    import numpy as np

    count = int(kept.sum())
    if most is not None and count > most:
        raise VocabularyError(
            f"vocab_size is {most:,}, but the added tokens, the alphabet, the tokens to keep and the tokens that "
            f"their merges need are {count:,}: give more"
        )
    id_map = np.full(len(kept), -1, np.int64)
    id_map[kept] = np.arange(count)
    new_id = {int(id): int(id_map[id]) for id in np.flatnonzero(kept)}
    document = mapped_document(old.document, new_id)
    result = rebuilt(document)
    contents = {token["content"]: int(token["id"]) for token in document["added_tokens"]}
    files = outputs.save(result, target, mapped_config(old.config, contents), id_map)
    return VocabularyChange(result, id_map, 0, size - count, files)


def _required(old: Vocabulary, ids: dict[str, int]) -> set[int]:
    """Return the ids that must stay: added tokens, tokens that components name, and the alphabet."""
    named = ids_of_components(old.document)
    check_ids(named, set(ids.values()))
    alphabet = set(old.byte_ids())
    if len(alphabet) < 256:
        prefix, suffix = old.prefix, old.suffix
        alphabet |= {
            id
            for token, id in old.model["vocab"].items()
            if len(token) == 1 or len(token.removeprefix(prefix).removesuffix(suffix)) == 1
        }
    return named | alphabet | {token["id"] for token in old.document["added_tokens"]}


def _ids_to_keep(keep: Any, ids: dict[str, int]) -> Iterable[int]:
    if isinstance(keep, (str, bytes)):
        raise TypeError(f"keep is {validation.kind(keep)}, expected a list of tokens and ids")
    known = set(ids.values())
    for token in keep:
        if isinstance(token, str):
            if token not in ids:
                raise VocabularyError(f"keep has {token!r}, which is not in the vocabulary")
            yield ids[token]
        else:
            id = validation.unsigned(token, "an id of keep", 32)
            if id not in known:
                raise TokenIdError(f"keep has the id {id}, which no token has")
            yield id
