"""Counts the words of a corpus: the parts into which added tokens, normalizer and pre-tokenizer cut its texts.

Our engine cuts and counts. For components that it does not support, the ``tokenizers`` library cuts the texts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from crayon_hf import _core
from crayon_hf.cartridges.compiling import REFERENCE_METADATA, compiled_engine
from crayon_hf.errors import InvalidUtf8Error, UnsupportedError, VocabularyError
from crayon_hf.tokenizer_json import document as tokenizer_json
from crayon_hf.tokenizer_json.parts import whole_document
from crayon_hf.training_data.batches import Batch, Corpus, Lines
from crayon_hf.training_data.progress import Report
from crayon_hf.util.byte_level import BYTE_LEVEL
from crayon_hf.util.reference import need_components, reference_class
from crayon_hf.util.wording import joined

if TYPE_CHECKING:
    import tokenizers

    from crayon_hf.tokenizer_json.added_tokens import AddedTokens

STAGE = "Count words"


class Untrained(NamedTuple):
    """A tokenizer without its vocabulary."""

    parts: dict[str, Any]
    """The components as JSON, and the model's settings."""
    live: dict[str, Any]
    """Components that have no JSON, as objects of ``tokenizers``."""
    added: AddedTokens
    special_as_text: bool = False
    metadata: str = REFERENCE_METADATA


def count(untrained: Untrained, corpus: Corpus, report: Report | None, threads: int = 0) -> _core.WordCounter:
    """Count the words of a corpus, as the components of `untrained` cut its texts."""
    try:
        counter = _core.WordCounter(_counting_engine(untrained), threads)
    except VocabularyError as error:
        return _count_by_reference(untrained, str(error), corpus, report)
    return _filled(counter, corpus, report)


def count_words(engine: _core.Engine, corpus: Corpus, report: Report | None, threads: int = 0) -> _core.WordCounter:
    """Count the words of a corpus as an engine cuts its texts. Added tokens count as ordinary text."""
    return _filled(_core.WordCounter(engine, threads, added_tokens=False), corpus, report)


def _filled(counter: _core.WordCounter, corpus: Corpus, report: Report | None) -> _core.WordCounter:
    before = 0
    for batch in corpus.batches:
        _add(counter, batch, _within(report, before, batch.done, corpus.total))
        before = batch.done
        if report is not None:
            report(STAGE, before, corpus.total)
    return counter


def _add(counter: _core.WordCounter, batch: Batch, progress: Report | None) -> None:
    try:
        if isinstance(batch, Lines):
            counter.add_lines(batch.data, progress)
        else:
            counter.add(batch.texts, progress)
    except (InvalidUtf8Error, TypeError):
        for _ in batch.each():  # raises an error that names the text
            pass
        raise


def _within(report: Report | None, before: int, after: int, total: int) -> Report | None:
    """Return a function that reports the counter's progress within a batch, in the unit of the corpus."""
    if report is None:
        return None
    return lambda _, done, of: report(STAGE, before + (after - before) * done // of if of else before, total)


def _counting_engine(untrained: Untrained) -> _core.Engine:
    """Return an engine that cuts as the tokenizer does, with a minimal vocabulary."""
    if untrained.live:
        raise UnsupportedError(f"a {joined(untrained.live)} that has no JSON")
    vocab = {chr(code): byte for byte, code in BYTE_LEVEL.items()} if _ends_in_bytes(untrained) else {"a": 0}
    tokens, following = [], len(vocab)
    for token in _recognised(untrained):
        id = vocab.get(token["content"], following)
        following += id == following
        tokens.append(token | {"id": id})
    document = whole_document(
        {"type": "BPE", "vocab": vocab, "merges": []},
        added_tokens=sorted(tokens, key=lambda token: token["id"]),
        normalizer=untrained.parts["normalizer"],
        pre_tokenizer=untrained.parts["pre_tokenizer"],
    )
    return compiled_engine(tokenizer_json.dump(document).encode(), untrained.metadata)


def _recognised(untrained: Untrained) -> list[dict[str, Any]]:
    """Return the added tokens that the tokenizer finds in a text, as dicts for the engine."""
    tokens = untrained.added.for_engine()
    if not untrained.special_as_text:
        return tokens
    if len({token["special"] for token in tokens}) > 1:
        # The reference matches a special token and skips it, together with any other added token that overlaps it.
        raise UnsupportedError("special tokens as text beside other added tokens, in training")
    return [token for token in tokens if not token["special"]]


def _ends_in_bytes(untrained: Untrained) -> bool:
    last = untrained.parts["pre_tokenizer"]
    while isinstance(last, dict) and last.get("type") == "Sequence" and last.get("pretokenizers"):
        last = last["pretokenizers"][-1]
    return isinstance(last, dict) and last.get("type") == "ByteLevel"


# -- components that are not native


def _count_by_reference(untrained: Untrained, reason: str, corpus: Corpus, report: Report | None) -> _core.WordCounter:
    need_components(f"training with a tokenizer that the engine does not support ({reason})")
    from tokenizers import models, trainers

    from crayon_hf.fallback.delegated import warn_delegated

    warn_delegated(reason, "tokenizers", "cuts the text into words to train on")
    stock = _reference(untrained)
    plain = {"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}
    counter = _core.WordCounter(compiled_engine(json.dumps(plain).encode()))
    for batch in corpus.batches:
        # The pickle of this trainer is the only place where the library exposes the words that it counted.
        trainer = trainers.WordLevelTrainer(vocab_size=0, show_progress=False)
        stock.model = models.WordLevel({}, unk_token="")
        stock.train_from_iterator(batch.each(), trainer)
        counter.add_words(json.loads(trainer.__getstate__())["WordLevelTrainer"]["words"])
        if report is not None:
            report(STAGE, batch.done, corpus.total)
    return counter


def _reference(untrained: Untrained) -> tokenizers.Tokenizer:
    parts = {kind: untrained.parts[kind] for kind in ("normalizer", "pre_tokenizer")}
    model = {"type": "WordLevel", "vocab": {}, "unk_token": ""}
    document = {"version": "1.0", "added_tokens": [], **parts, "model": model}
    try:
        stock = reference_class().from_str(json.dumps(document))
    except Exception as error:  # the library raises plain Exception
        raise VocabularyError(f"tokenizers cannot open this tokenizer.json: {error}") from error
    for kind in parts.keys() & untrained.live.keys():
        setattr(stock, kind, untrained.live[kind])
    stock.add_special_tokens(untrained.added.lasting_specials())
    stock.add_tokens(list(untrained.added.decoder().values()))
    stock.encode_special_tokens = untrained.special_as_text
    return stock
