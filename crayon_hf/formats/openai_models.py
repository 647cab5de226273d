"""Which published encoding each model of OpenAI uses."""

from __future__ import annotations

# The facts of tiktoken 0.14, module tiktoken.model.
_MODELS = {
    "gpt2": ("gpt2", "gpt-2"),
    "r50k_base": (
        *("text-davinci-001", "text-curie-001", "text-babbage-001", "text-ada-001"),
        *("davinci", "curie", "babbage", "ada"),
        *(f"text-similarity-{size}-001" for size in ("davinci", "curie", "babbage", "ada")),
        *(f"text-search-{size}-doc-001" for size in ("davinci", "curie", "babbage", "ada")),
        *(f"code-search-{size}-code-001" for size in ("babbage", "ada")),
    ),
    "p50k_base": (
        *("text-davinci-003", "text-davinci-002", "code-davinci-002", "code-davinci-001"),
        *("code-cushman-002", "code-cushman-001", "davinci-codex", "cushman-codex"),
    ),
    "p50k_edit": ("text-davinci-edit-001", "code-davinci-edit-001"),
    "cl100k_base": (
        *("gpt-4", "gpt-3.5-turbo", "gpt-3.5", "gpt-35-turbo", "davinci-002", "babbage-002"),
        *("text-embedding-ada-002", "text-embedding-3-small", "text-embedding-3-large"),
    ),
    "o200k_base": ("o1", "o3", "o4-mini", "gpt-5", "gpt-4.1", "gpt-4o"),
}
# Beginnings of names, in the order in which they are tried.
_BEGINNINGS = (
    ("o200k_base", ("o1-", "o3-", "o4-mini-", "gpt-5", "gpt-4.5-", "gpt-4.1-", "chatgpt-4o-", "gpt-4o-")),
    ("cl100k_base", ("gpt-4-", "gpt-3.5-turbo-", "gpt-35-turbo-")),
    ("o200k_harmony", ("gpt-oss-",)),
    ("o200k_base", ("ft:gpt-4o",)),
    ("cl100k_base", ("ft:gpt-4", "ft:gpt-3.5-turbo", "ft:davinci-002", "ft:babbage-002")),
)

MODEL_TO_ENCODING = {model: name for name, models in _MODELS.items() for model in models}
MODEL_PREFIX_TO_ENCODING = {prefix: name for name, prefixes in _BEGINNINGS for prefix in prefixes}


def encoding_of_model(model: str) -> str | None:
    """Return the name of the encoding that a model uses, or None for an unknown model.

    >>> encoding_of_model("gpt-4o"), encoding_of_model("gpt-4o-2024-08-06"), encoding_of_model("lite")
    ('o200k_base', 'o200k_base', None)
    """
    prefixes = (name for prefix, name in MODEL_PREFIX_TO_ENCODING.items() if model.startswith(prefix))
    return MODEL_TO_ENCODING.get(model) or next(prefixes, None)
