"""Unigram, WordPiece and WordLevel models, trained by the ``tokenizers`` library from the sources of `train_bpe`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crayon_hf.errors import VocabularyError
from crayon_hf.training import output as outputs
from crayon_hf.training import templates
from crayon_hf.training.native import Run, Source
from crayon_hf.training_data.batches import Corpus
from crayon_hf.training_data.corpus import corpus_of
from crayon_hf.training_data.counting import STAGE
from crayon_hf.training_data.progress import Report, end, reporter
from crayon_hf.util.reference import need_components

if TYPE_CHECKING:
    from crayon_hf.tokenizer import Tokenizer

_BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_SPECIAL_TOKENS = {"Unigram": ("<unk>",), "WordPiece": _BERT, "WordLevel": ("[UNK]",)}


def train_unigram(source: Source, **options: Any) -> Tokenizer:
    """Train a Unigram tokenizer with ``tokenizers.trainers.UnigramTrainer``.

    Without a template the tokenizer works like SentencePiece: it applies NFKC, joins runs of spaces, writes U+2581 for
    a space, and has the unknown token ``<unk>``. Once all texts are read, Ctrl-C takes effect only when the library has
    finished.

    Args:
        source: Texts or files, as for `train_bpe`.
        options: Options of the trainer by name, and `column`, `format`, `length`, `show_progress`, `tokenizer` (a
            template), `output` and `overwrite` of `train_bpe`.

    Returns:
        The trained tokenizer.

    Raises:
        TypeError: The trainer has no such option.
        VocabularyError: The trainer fails, or the template has another type of model.
        UnsupportedError: The installed ``tokenizers`` has no trainers (1.0).

    >>> tokenizer = crayon_hf.train_unigram(["some words and some more"] * 9, vocab_size=40, show_progress=False)
    >>> tokenizer.decode(tokenizer.encode("some more words").ids)
    'some more words'
    """
    return run_by_reference("Unigram", source, **options).tokenizer


def train_wordpiece(source: Source, **options: Any) -> Tokenizer:
    """Train a WordPiece tokenizer, with the arguments of `train_unigram`.

    Without a template the tokenizer works like that of BERT and has the same special tokens.

    >>> crayon_hf.train_wordpiece(["some words and some more"], vocab_size=40).token_to_id("[CLS]") is None
    False
    """
    return run_by_reference("WordPiece", source, **options).tokenizer


def train_wordlevel(source: Source, **options: Any) -> Tokenizer:
    """Train a WordLevel tokenizer, with the arguments of `train_unigram`.

    Without a template the tokenizer cuts text with ``Whitespace`` and has the unknown token ``[UNK]``.

    >>> crayon_hf.train_wordlevel(["some words and some more"]).encode("some words").tokens
    ['some', 'words']
    """
    return run_by_reference("WordLevel", source, **options).tokenizer


def run_by_reference(
    kind: str,
    source: Source,
    *,
    tokenizer: Any = None,
    show_progress: bool | Report = True,
    column: str = "text",
    format: str | None = None,
    length: int | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    **values: Any,
) -> Run:
    """Train a model of the type `kind` with ``tokenizers``. Return the tokenizer with facts about the training."""
    need_components(f"training a {kind} model")
    from tokenizers import trainers

    begun = time.monotonic()
    start = templates.Start(_fresh(kind), []) if tokenizer is None else templates.like(tokenizer, kind)
    trainer_class = getattr(trainers, f"{kind}Trainer")
    unknown = sorted(name for name in values if not hasattr(trainer_class, name) and name != "unk_token")
    if unknown:
        raise TypeError(f"{trainer_class.__name__} has no option {', '.join(unknown)}")
    given = values.pop("special_tokens", () if tokenizer is not None else _SPECIAL_TOKENS[kind])
    values["special_tokens"] = [*start.special_tokens, *given]
    if kind == "Unigram":
        values.setdefault("unk_token", start.unk_token if tokenizer is not None else "<unk>")
    trainer = trainer_class(show_progress=False, **values)
    corpus = corpus_of(source, column, format, length)
    target = outputs.checked(output, source, overwrite)
    report = reporter(show_progress)
    made = start.tokenizer
    seen = [False]
    try:
        made.train_from_iterator(_texts(corpus, report, seen), trainer)
    except Exception as error:
        if type(error) is not Exception:
            raise
        raise VocabularyError(f"{trainer_class.__name__}: {error}") from error  # the library raises plain Exception
    finally:
        end(report)
    templates.settle_ids(start)
    if tokenizer is None and kind == "WordPiece" and all(made.token_to_id(token) is not None for token in _BERT[2:4]):
        _put_template(made)
    files = outputs.save(made, target)
    return Run(made, time.monotonic() - begun, files, is_empty=not seen[0])


def _texts(corpus: Corpus, report: Report | None, seen: list[bool]) -> Iterator[str]:
    """Yield all texts. `seen[0]` becomes true at the first text that is not blank."""
    for batch in corpus.batches:
        for text in batch.each():
            seen[0] = seen[0] or (not text.isspace() and bool(text))
            yield text
        if report is not None:
            report(STAGE, batch.done, corpus.total)


def _fresh(kind: str) -> Tokenizer:
    from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

    from crayon_hf.tokenizer import Tokenizer

    if kind == "Unigram":
        tokenizer = Tokenizer(models.Unigram())
        spaces = normalizers.Replace(Regex(" {2,}"), " ")
        tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
    elif kind == "WordPiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
    else:
        tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def _put_template(tokenizer: Tokenizer) -> None:
    from tokenizers import processors

    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in _BERT[2:4]],
    )
