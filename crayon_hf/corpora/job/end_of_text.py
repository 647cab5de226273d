"""Find the end-of-text token and the padding token of a tokenizer."""

from __future__ import annotations

import json
import os
from typing import Any

from crayon_hf.corpora.job.options import Options
from crayon_hf.errors import JobError
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util.files import read_source
from crayon_hf.util.wording import joined

KNOWN = (
    "<|endoftext|>",
    "</s>",
    "<|end_of_text|>",
    "<eos>",
    "<|eos|>",
    "[EOS]",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
)
"""End-of-text tokens of published vocabularies: GPT-2 and Qwen, Llama 2 and T5, Llama 3, Gemma, BERT's successors,
DeepSeek."""

_CONFIGS = ("tokenizer_config.json", "special_tokens_map.json")


def find_eos(tokenizer: Tokenizer, name: str | None, token: str | None) -> int:
    """Return the id of `token`, else of the token in the tokenizer's own files, else of a known end-of-text token.

    `name` is the path that the tokenizer was opened from, if any.

    Raises:
        JobError: None of these is in the vocabulary, or several known tokens are.
    """
    where = "" if token is not None else " (named as eos_token beside the tokenizer)"
    token = _configured(name, "eos_token") if token is None else token
    if token is None:
        return _known(tokenizer)
    if (id := tokenizer.token_to_id(token)) is None:
        raise JobError(f"the tokenizer has no token {token!r}{where}: name its end of text with --eos (eos=)")
    return id


def find_pad(tokenizer: Tokenizer, name: str | None, options: Options) -> int:
    """Return the id of the `pad_token` option, else of the padding token in the tokenizer's own files, else of the
    end-of-text token, as trainers do. Raises JobError if no token is found."""
    token = _configured(name, "pad_token") if options.pad_token is None else options.pad_token
    if token is not None and (id := tokenizer.token_to_id(token)) is not None:
        return id
    if options.pad_token is not None:
        raise JobError(f"the tokenizer has no token {token!r}: name its padding with --pad-token (pad_token=)")
    try:
        return find_eos(tokenizer, name, options.eos)
    except JobError as error:
        raise JobError(f"the padding token is unknown: name it with --pad-token (pad_token=); {error}") from None


def _configured(name: str | None, kind: str) -> str | None:
    if name is None or not os.path.exists(name):
        return None
    directory = name if os.path.isdir(name) else os.path.dirname(name)
    for file in _CONFIGS:
        try:
            token: Any = json.loads(read_source(os.path.join(directory, file))).get(kind)
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(token, dict):
            token = token.get("content")
        if isinstance(token, str) and token:
            return token
    return None


def _known(tokenizer: Tokenizer) -> int:
    found = {token: id for token in KNOWN if (id := tokenizer.token_to_id(token)) is not None}
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise JobError(
            "the end-of-text token is unknown: no file beside the tokenizer has an eos_token, and none of the "
            "usual names is in its vocabulary: name it with --eos TOKEN (eos=)"
        )
    raise JobError(
        f"the end-of-text token is ambiguous: the tokenizer has {joined(found)}: name it with --eos TOKEN (eos=)"
    )
