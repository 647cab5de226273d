"""`train_bpe`: byte-level BPE, or BPE with the components of another tokenizer, trained by the engine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from crayon_hf.tokenizer_state import state
from crayon_hf.training import output as outputs
from crayon_hf.training import templates
from crayon_hf.training_data import options as bpe_options
from crayon_hf.training_data.corpus import corpus_of, paths_of
from crayon_hf.training_data.models import Trained, train_model
from crayon_hf.training_data.progress import Report, reporter
from crayon_hf.util import validation
from crayon_hf.util.byte_level import BYTE_LEVEL

if TYPE_CHECKING:
    import tokenizers
    from tokenizers import AddedToken

    from crayon_hf.tokenizer import Tokenizer

Source = str | os.PathLike[str] | IO[bytes] | Iterable[Any]


class Run(NamedTuple):
    """A finished training."""

    tokenizer: Tokenizer
    seconds: float
    files: list[str]
    """The files written."""
    trained: Trained | None = None
    """The model and its counts; None if the reference trained."""
    is_empty: bool = False
    """Whether the source had no text."""


def train_bpe(
    source: Source,
    *,
    vocab_size: int = 30_000,
    min_frequency: int = 0,
    special_tokens: Sequence[str | AddedToken] = (),
    limit_alphabet: int | None = None,
    initial_alphabet: Iterable[str] | None = None,
    continuing_subword_prefix: str | None = None,
    end_of_word_suffix: str | None = None,
    max_token_length: int | None = None,
    show_progress: bool | Report = True,
    tokenizer: Tokenizer | tokenizers.Tokenizer | str | os.PathLike[str] | None = None,
    pattern: str | tokenizers.Regex | None = None,
    pre_tokenizer: tokenizers.pre_tokenizers.PreTokenizer | None = None,
    column: str = "text",
    format: str | None = None,
    length: int | None = None,
    threads: int = 0,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> Tokenizer:
    """Train a BPE tokenizer: the merges and ids of ``tokenizers.trainers.BpeTrainer``, with its options and defaults.

    The tokenizer is byte-level, or has the components of `tokenizer`.

    Args:
        source: The path of one file, a binary file, or an iterable of texts, of lists of texts or of `os.PathLike`. A
            text file gives its lines, each with its ending, as in ``Tokenizer.train``. JSON lines, CSV, parquet and
            Arrow files give the strings in `column`. Files may be packed (.gz, .bz2, .xz, .zst).
        vocab_size: The most tokens, special tokens and alphabet included.
        min_frequency: The least count of a pair that is merged.
        special_tokens: Tokens that get the first ids.
        limit_alphabet: The most characters in the alphabet; None for all.
        initial_alphabet: Characters that the alphabet always has. By default all byte characters for a byte-level
            pre-tokenizer, so every text can be encoded, and none for others.
        continuing_subword_prefix: The prefix of tokens inside a word.
        end_of_word_suffix: The suffix of tokens that end a word.
        max_token_length: The most characters of a merged token; None for no limit.
        show_progress: Whether to draw a bar on standard error, if that is a terminal; or a function to call with
            (stage, done, total).
        tokenizer: A template. Its components, its special tokens (before `special_tokens`), its prefix and its suffix
            are copied.
        pattern: The pattern of a byte-level tokenizer: the name of a published one (``gpt2``, ``llama3``, ``o200k``,
            ...), or a ``tokenizers.Regex``. By default that of the profile ``lite``.
        pre_tokenizer: A pre-tokenizer to use instead of a `pattern`.
        column: The name of the column or member that has the texts.
        format: ``text``, ``jsonl``, ``csv``, ``tsv``, ``parquet`` or ``arrow``; by default the ending of a file's name
            decides.
        length: The number of items in an iterable, for the progress bar.
        threads: Number of threads; 0 means one for each core.
        output: Where to save the result: ``NAME.json`` and the cartridge ``NAME.dat`` for a name with one of these
            endings, else a directory that transformers opens.
        overwrite: Whether to replace an existing tokenizer at `output`, with all its files.

    Returns:
        The trained tokenizer.

    Raises:
        CorpusError, InvalidUtf8Error: A file is damaged. The message names file and line.
        OSError: A file cannot be read, or `output` cannot be written or has a tokenizer (checked before counting).

    >>> texts = ["low lower lowest"] * 9
    >>> crayon_hf.train_bpe(texts, vocab_size=262, show_progress=False).encode("lowest").tokens
    ['low', 'e', 'st']
    """
    return run_bpe(BpeTraining(**locals())).tokenizer


@dataclass(frozen=True)
class BpeTraining:
    """The arguments of `train_bpe`, with its defaults."""

    source: Source
    vocab_size: int = 30_000
    min_frequency: int = 0
    special_tokens: Sequence[str | AddedToken] = ()
    limit_alphabet: int | None = None
    initial_alphabet: Iterable[str] | None = None
    continuing_subword_prefix: str | None = None
    end_of_word_suffix: str | None = None
    max_token_length: int | None = None
    show_progress: bool | Report = True
    tokenizer: Tokenizer | tokenizers.Tokenizer | str | os.PathLike[str] | None = None
    pattern: str | tokenizers.Regex | None = None
    pre_tokenizer: tokenizers.pre_tokenizers.PreTokenizer | None = None
    column: str = "text"
    format: str | None = None
    length: int | None = None
    threads: int = 0
    output: str | os.PathLike[str] | None = None
    overwrite: bool = False


def run_bpe(asked: BpeTraining) -> Run:
    """`train_bpe`, with facts about the run."""
    begun = time.monotonic()
    if sum(choice is not None for choice in (asked.tokenizer, asked.pattern, asked.pre_tokenizer)) > 1:
        raise ValueError("tokenizer, pattern and pre_tokenizer are alternatives: give one of them")
    if asked.tokenizer is None:
        start = templates.Start(templates.byte_level(asked.pattern, asked.pre_tokenizer), [])
    else:
        start = templates.like(asked.tokenizer, "BPE")
    made = start.tokenizer
    values: dict[str, Any] = {name: getattr(asked, name) for name in bpe_options.BpeOptions._fields}
    if asked.initial_alphabet is None:
        values["initial_alphabet"] = map(chr, BYTE_LEVEL.values()) if templates.has_byte_level(made) else ()
    special_tokens = asked.special_tokens
    if not isinstance(special_tokens, (str, bytes)):
        special_tokens = list(special_tokens)
    bpe_options.special_tokens_of(special_tokens)
    values["special_tokens"] = [*start.special_tokens, *special_tokens]
    threads = validation.unsigned(asked.threads, "threads", 16)
    with state.lock:
        untrained = made._state.untrained(False)
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        if values[name] is None:
            values[name] = untrained.parts["model"].get(name)
    options = bpe_options.checked(**values)
    corpus = corpus_of(asked.source, asked.column, asked.format, asked.length)
    target = None if asked.output is None else os.fsdecode(asked.output)
    if target is not None:
        outputs.check(target, paths_of(asked.source), asked.overwrite)
    trained = train_model(untrained, corpus, options, reporter(asked.show_progress), threads)
    made._take(trained)
    templates.settle_ids(start)
    files = [] if target is None else outputs.save(made, target)
    return Run(made, time.monotonic() - begun, files, trained, not trained.words)
