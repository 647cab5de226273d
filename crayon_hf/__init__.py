"""The same token ids as ``tokenizers`` and ``tiktoken``, many times faster.

>>> import crayon_hf
>>> tokenizer = crayon_hf.Tokenizer.from_profile("lite")
>>> tokenizer.decode(tokenizer.encode("Hello, world!").ids)
'Hello, world!'
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if find_spec("crayon_hf._core") is None:
    raise ImportError(
        f"{Path(__file__).parent} is a source tree that is not compiled for this Python: run `python -m pip install -e "
        ".` in the directory above it, or start Python in another directory to import an installed crayon_hf"
    )

from crayon_hf import budgets, decode_stream, fingerprints
from crayon_hf._core import Encoding, __version__, trim
from crayon_hf.budgets import Appender, TokenIndex
from crayon_hf.decode_stream import DecodeStream
from crayon_hf.display import encoding_html
from crayon_hf.errors import (
    AmbiguousNameWarning,
    BadRecordError,
    CartridgeError,
    CorpusError,
    CrayonError,
    DelegatedWarning,
    DeviceError,
    DeviceLostError,
    DeviceOutOfMemoryError,
    DeviceUnavailableError,
    DeviceWarning,
    FormatError,
    HubError,
    InvalidUtf8Error,
    JobError,
    MissingExtraError,
    PipelineClosedError,
    ProfileNotFoundError,
    ProfileNotLoadedError,
    SourceMissingError,
    StoreCredentialsError,
    StoreError,
    TokenIdError,
    UnsupportedError,
    VocabularyError,
)
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.transformers import registration
from crayon_hf.util.lazy import lazy

if TYPE_CHECKING:
    from tokenizers import (
        AddedToken,
        BertWordPieceTokenizer,
        ByteLevelBPETokenizer,
        CharBPETokenizer,
        EncodeInput,
        InputSequence,
        NormalizedString,
        OffsetReferential,
        Offsets,
        OffsetType,
        PreTokenizedEncodeInput,
        PreTokenizedInputSequence,
        PreTokenizedString,
        Regex,
        SentencePieceBPETokenizer,
        SentencePieceUnigramTokenizer,
        SplitDelimiterBehavior,
        TextEncodeInput,
        TextInputSequence,
        Token,
    )

    from crayon_hf import (
        decoders,
        implementations,
        models,
        normalizers,
        pre_tokenizers,
        processors,
        tiktoken,
        tools,
        trainers,
    )
    from crayon_hf.budgets.chat import Chat
    from crayon_hf.comparison import Comparison, compare
    from crayon_hf.compat_crayon.pipeline import Pipeline
    from crayon_hf.compat_crayon.vocab import CrayonVocab
    from crayon_hf.corpora.job.corpus import tokenize_corpus
    from crayon_hf.corpora.job.shard import tokenize_shard
    from crayon_hf.hub import publish, pull
    from crayon_hf.patching import install, installed, uninstall
    from crayon_hf.training import extend, shrink, train_bpe, train_unigram, train_wordlevel, train_wordpiece
    from crayon_hf.transformers import AutoTokenizer, CrayonTokenizerFast

__all__ = [
    "AddedToken",
    "AmbiguousNameWarning",
    "Appender",
    "AutoTokenizer",
    "BadRecordError",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CartridgeError",
    "CharBPETokenizer",
    "Chat",
    "Comparison",
    "CorpusError",
    "CrayonError",
    "CrayonTokenizerFast",
    "CrayonVocab",
    "DecodeStream",
    "DelegatedWarning",
    "DeviceError",
    "DeviceLostError",
    "DeviceOutOfMemoryError",
    "DeviceUnavailableError",
    "DeviceWarning",
    "EncodeInput",
    "Encoding",
    "FormatError",
    "HubError",
    "InputSequence",
    "InvalidUtf8Error",
    "JobError",
    "MissingExtraError",
    "NormalizedString",
    "OffsetReferential",
    "OffsetType",
    "Offsets",
    "Pipeline",
    "PipelineClosedError",
    "PreTokenizedEncodeInput",
    "PreTokenizedInputSequence",
    "PreTokenizedString",
    "ProfileNotFoundError",
    "ProfileNotLoadedError",
    "Regex",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
    "SourceMissingError",
    "SplitDelimiterBehavior",
    "StoreCredentialsError",
    "StoreError",
    "TextEncodeInput",
    "TextInputSequence",
    "Token",
    "TokenIdError",
    "TokenIndex",
    "Tokenizer",
    "UnsupportedError",
    "VocabularyError",
    "__version__",
    "budgets",
    "compare",
    "decoders",
    "extend",
    "implementations",
    "install",
    "installed",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
    "publish",
    "pull",
    "shrink",
    "tiktoken",
    "tokenize_corpus",
    "tokenize_shard",
    "tools",
    "train_bpe",
    "train_unigram",
    "train_wordlevel",
    "train_wordpiece",
    "trainers",
    "trim",
    "uninstall",
]

_LIBRARY_TYPES = (
    *("NormalizedString", "PreTokenizedString", "Regex", "Token", "Offsets", "OffsetReferential", "OffsetType"),
    *("SplitDelimiterBehavior", "InputSequence", "TextInputSequence", "PreTokenizedInputSequence", "EncodeInput"),
    *("TextEncodeInput", "PreTokenizedEncodeInput"),
)
_MODULES = ("decoders", "implementations", "models", "normalizers", "pre_tokenizers", "processors", "tools", "trainers")

# Names that need other libraries, or that few programs use, are imported at their first use.
_HOMES = {
    "AutoTokenizer": "crayon_hf.transformers",
    "Chat": "crayon_hf.budgets.chat",
    "CrayonTokenizerFast": "crayon_hf.transformers",
    "CrayonVocab": "crayon_hf.compat_crayon.vocab",
    "Pipeline": "crayon_hf.compat_crayon.pipeline",
    **dict.fromkeys(("install", "installed", "uninstall"), "crayon_hf.patching"),
    **dict.fromkeys(("publish", "pull"), "crayon_hf.hub"),
    **dict.fromkeys(("Comparison", "compare"), "crayon_hf.comparison"),
    "tokenize_corpus": "crayon_hf.corpora.job.corpus",
    "tokenize_shard": "crayon_hf.corpora.job.shard",
    **dict.fromkeys(
        ("extend", "shrink", "train_bpe", "train_unigram", "train_wordlevel", "train_wordpiece"), "crayon_hf.training"
    ),
    **{name: f"crayon_hf.{name}" for name in ("tiktoken", *_MODULES)},
    # Names for `import crayon_hf as tokenizers`.
    "AddedToken": "crayon_hf.util.added_token",
    **dict.fromkeys(_LIBRARY_TYPES, "crayon_hf.tokenizer_json.library_types"),
    **dict.fromkeys(
        (
            *("BertWordPieceTokenizer", "ByteLevelBPETokenizer", "CharBPETokenizer", "SentencePieceBPETokenizer"),
            "SentencePieceUnigramTokenizer",
        ),
        "crayon_hf.implementations",
    ),
}

__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)


setattr(Encoding, "_repr_html_", encoding_html)  # noqa: B010 - the class is the engine's, which has no HTML
decode_stream.watch()
registration.watch()
fingerprints.watch()
