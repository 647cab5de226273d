"""The options of BPE training, which are those of ``tokenizers.trainers.BpeTrainer``: from a trainer or arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from crayon_hf.errors import UnsupportedError
from crayon_hf.tokenizer_json.added_tokens import Token, tokens_of
from crayon_hf.util import validation
from crayon_hf.util.reference import has_components

if TYPE_CHECKING:
    from collections.abc import Iterable

    import tokenizers


class BpeOptions(NamedTuple):
    """The options of a BPE training, with the defaults of ``BpeTrainer``."""

    vocab_size: int = 30_000
    min_frequency: int = 0
    special_tokens: tuple[Token, ...] = ()
    limit_alphabet: int | None = None
    initial_alphabet: tuple[str, ...] = ()
    continuing_subword_prefix: str | None = None
    end_of_word_suffix: str | None = None
    max_token_length: int | None = None


_PROGRESS = frozenset(("show_progress", "progress_format"))
_WITHOUT_MEANING = frozenset(("get_word_count",))


def native_options(model: dict[str, Any], trainer: Any) -> BpeOptions | None:
    """Return the options of a native training, or None if ``tokenizers`` has to train this model with this trainer.

    `model` is the model's JSON in the ``tokenizer.json``. A `trainer` of None means the default options.
    """
    if model.get("type") != "BPE":
        return None
    if trainer is None:
        return BpeOptions()
    if not _is_bpe(trainer):
        return None  # the reference raises the error
    try:
        return options_of(trainer)
    except UnsupportedError as error:
        from crayon_hf.fallback.delegated import warn_delegated

        warn_delegated(str(error), "tokenizers", "trains")
        return None


def _is_bpe(trainer: Any) -> bool:
    if not has_components():
        return type(trainer).__name__ == "BpeTrainer"
    from tokenizers.trainers import BpeTrainer

    return type(trainer) is BpeTrainer


def options_of(trainer: tokenizers.trainers.BpeTrainer) -> BpeOptions:
    """Return the options of a ``BpeTrainer``. Raise UnsupportedError if it has an option unknown here."""
    names = {name for name in dir(trainer) if not name.startswith("_")}
    unknown = names - set(BpeOptions._fields) - _PROGRESS - _WITHOUT_MEANING
    if unknown:
        raise UnsupportedError(f"a BpeTrainer with {', '.join(sorted(unknown))}")
    values = {name: getattr(trainer, name) for name in BpeOptions._fields if name in names}
    values["special_tokens"] = special_tokens_of(values["special_tokens"])
    values["initial_alphabet"] = tuple(values["initial_alphabet"])
    return BpeOptions(**values)


def checked(**values: Any) -> BpeOptions:
    """Check a user's arguments. Raise TypeError, ValueError or OverflowError for a wrong one."""
    for name in ("vocab_size", "min_frequency"):
        values[name] = validation.unsigned(values[name], name, 32 if name == "vocab_size" else 64)
    for name in ("limit_alphabet", "max_token_length"):
        values[name] = None if values[name] is None else validation.unsigned(values[name], name, 63)
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        values[name] = None if values[name] is None else validation.text(values[name], name)
    values["special_tokens"] = special_tokens_of(values["special_tokens"])
    letters = [validation.text(letter, "a character of initial_alphabet") for letter in values["initial_alphabet"]]
    values["initial_alphabet"] = tuple(letter[0] for letter in letters if letter)  # as the reference does
    return BpeOptions(**values)


def special_tokens_of(tokens: Iterable[Any]) -> tuple[Token, ...]:
    """Return the argument ``special_tokens``, a list of str and AddedToken, as `Token` objects."""
    if isinstance(tokens, (str, bytes)):
        raise TypeError(f"special_tokens is {validation.kind(tokens)}, expected a list of str and AddedToken")
    return tuple(tokens_of(list(tokens), special=True))
