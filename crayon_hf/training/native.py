"""`train_bpe` trains a BPE tokenizer natively. It is byte-level, or has the components of another tokenizer."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from crayon_hf.tokenizer_state import state
from crayon_hf.training import output as outputs
from crayon_hf.training import templates
from crayon_hf.training_data import options as bpe_options
from crayon_hf.training_data.corpus import corpus_of
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
    """The result of a training."""

    tokenizer: Tokenizer
    seconds: float
    files: list[str]
    """The files written."""
    trained: Trained | None = None
    """The model and its counts, or None if the ``tokenizers`` library trained the model."""
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
    """Train a BPE tokenizer with the same merges and ids as ``tokenizers.trainers.BpeTrainer``.

    Options that the trainer has, too, mean the same and have the same defaults. By default the tokenizer is byte-level.
    Give at most one of `tokenizer`, `pattern` and `pre_tokenizer`.

    Args:
        source: The training text: an iterable of texts, of lists of texts or of `os.PathLike`, the path of one file
            (a single str is a path), or a binary file. Each line of a text file is one text and keeps its line ending,
            as in ``Tokenizer.train``. JSON lines, CSV, TSV, parquet and Arrow files give the strings of one column.
            Files may be compressed (.gz, .bz2, .xz, .zst).
        vocab_size: The most tokens, special tokens and alphabet included.
        min_frequency: The lowest count with which a pair is merged.
        special_tokens: Tokens that get the first ids.
        limit_alphabet: Keep only this many characters of the texts, the most frequent ones.
        initial_alphabet: Characters to include in any case. The default for a byte-level pre-tokenizer is the byte
            alphabet, so that every text can be encoded. Otherwise it is empty.
        continuing_subword_prefix: Precedes tokens that do not begin a word, such as ``##``.
        end_of_word_suffix: Follows tokens that end a word, such as ``</w>``.
        max_token_length: Merges make tokens of fewer characters than this.
        show_progress: Draw a bar on standard error if that is a terminal. A function is called with
            (stage, done, total) instead.
        tokenizer: A template, or the path of its ``tokenizer.json``. The result has the template's components, prefix
            and suffix, and the template's special tokens before `special_tokens`.
        pattern: The pattern that cuts text: the name of a published one (``gpt2``, ``llama3``, ``o200k``, ...) or a
            ``tokenizers.Regex``. The default is ``llama3``.
        pre_tokenizer: A pre-tokenizer to use instead of a pattern.
        column: The column that holds the text.
        format: ``text``, ``jsonl``, ``csv``, ``tsv``, ``parquet`` or ``arrow``. By default the suffix of each file
            decides.
        length: The number of items of an iterable, for the progress bar.
        threads: The number of threads; 0 means one for each core.
        output: Where to save the tokenizer. ``NAME.json`` or ``NAME.dat`` writes both, the tokenizer.json and its
            cartridge; any other name is a directory that transformers opens.
        overwrite: Replace a tokenizer that `output` already has, with all its files.

    Returns:
        The trained tokenizer.

    Raises:
        CorpusError: A file is damaged, or (BadRecordError) a record is not a text; the message names file and line.
        InvalidUtf8Error: A text is not UTF-8; the message names the file and the line.
        OSError: A file cannot be read, or `output` cannot be written or already has a tokenizer. `output` is checked
            before the texts are read.
        ValueError: Options contradict each other, or `pattern` is unknown.
        VocabularyError: The template has another type of model.

    >>> texts = ["low lower lowest"] * 9
    >>> crayon_hf.train_bpe(texts, vocab_size=262, show_progress=False).encode("lowest").tokens
    ['low', 'e', 'st']
    """
    return run_bpe(**locals()).tokenizer


def run_bpe(source: Source, **arguments: Any) -> Run:
    """Train as `train_bpe` does, and return the tokenizer with facts about the training."""
    begun = time.monotonic()
    call = inspect.signature(train_bpe).bind(source, **arguments)
    call.apply_defaults()
    asked = SimpleNamespace(**call.arguments)
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
    corpus = corpus_of(source, asked.column, asked.format, asked.length)
    target = outputs.checked(asked.output, source, asked.overwrite)
    trained = train_model(untrained, corpus, options, reporter(asked.show_progress), threads)
    made._take(trained)
    templates.settle_ids(start)
    files = outputs.save(made, target)
    return Run(made, time.monotonic() - begun, files, trained, not trained.words)
