"""``tiktoken.model``: the published encoding of each model of OpenAI."""

from __future__ import annotations

from crayon_hf.formats.openai_models import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING, encoding_of_model
from crayon_hf.tiktoken.core import Encoding, get_encoding

__all__ = ["MODEL_PREFIX_TO_ENCODING", "MODEL_TO_ENCODING", "encoding_for_model", "encoding_name_for_model"]


def encoding_name_for_model(model_name: str) -> str:
    """Return the name of the encoding that a model uses. Raise KeyError for an unknown model.

    docs/from-tiktoken.md has examples.
    """
    if (name := encoding_of_model(model_name)) is not None:
        return name
    raise KeyError(
        f"Could not automatically map {model_name} to a tokeniser. "
        "Please use `tiktoken.get_encoding` to explicitly get the tokeniser you expect."
    )


def encoding_for_model(model_name: str) -> Encoding:
    """Return the encoding that a model uses. Raise KeyError for an unknown model.

    docs/from-tiktoken.md has examples.
    """
    return get_encoding(encoding_name_for_model(model_name))
