"""The same token ids as ``tokenizers`` and ``tiktoken``, many times faster, from the first byte.

>>> import crayon_hf
>>> tokenizer = crayon_hf.Tokenizer.from_profile("lite")
>>> tokenizer.decode(tokenizer.encode("Hello, world!").ids)
'Hello, world!'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from crayon_hf import fingerprints
from crayon_hf._core import Encoding, __version__
from crayon_hf.decode_stream import DecodeStream
from crayon_hf.errors import (
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
    PipelineClosedError,
    ProfileNotFoundError,
    ProfileNotLoadedError,
    SourceMissingError,
    TokenIdError,
    UnsupportedError,
    VocabularyError,
)
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.transformers_face import registration

if TYPE_CHECKING:
    from crayon_hf import tiktoken
    from crayon_hf.corpora.job.corpus import tokenize_corpus
    from crayon_hf.corpora.job.shard import tokenize_shard
    from crayon_hf.hub import publish, pull
    from crayon_hf.installing import install, installed, uninstall
    from crayon_hf.training import train_bpe, train_unigram, train_wordlevel, train_wordpiece
    from crayon_hf.transformers_face import AutoTokenizer, CrayonTokenizerFast
    from crayon_hf.xerv.pipeline import Pipeline
    from crayon_hf.xerv.vocab import CrayonVocab

__all__ = [
    "AutoTokenizer",
    "BadRecordError",
    "CartridgeError",
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
    "Encoding",
    "FormatError",
    "HubError",
    "InvalidUtf8Error",
    "JobError",
    "Pipeline",
    "PipelineClosedError",
    "ProfileNotFoundError",
    "ProfileNotLoadedError",
    "SourceMissingError",
    "TokenIdError",
    "Tokenizer",
    "UnsupportedError",
    "VocabularyError",
    "__version__",
    "install",
    "installed",
    "publish",
    "pull",
    "tiktoken",
    "tokenize_corpus",
    "tokenize_shard",
    "train_bpe",
    "train_unigram",
    "train_wordlevel",
    "train_wordpiece",
    "uninstall",
]

# What needs other libraries, or is not for everybody, is imported when it is first used.
_LAZY = {
    "AutoTokenizer": "transformers_face",
    "CrayonTokenizerFast": "transformers_face",
    "CrayonVocab": "xerv.vocab",
    "Pipeline": "xerv.pipeline",
    "install": "installing",
    "installed": "installing",
    "publish": "hub",
    "pull": "hub",
    "uninstall": "installing",
    "tiktoken": "",
    "tokenize_corpus": "corpora.job.corpus",
    "tokenize_shard": "corpora.job.shard",
    "train_bpe": "training",
    "train_unigram": "training",
    "train_wordlevel": "training",
    "train_wordpiece": "training",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _LAZY[name]
    value = getattr(import_module(f"{__name__}.{home}"), name) if home else import_module(f"{__name__}.{name}")
    globals()[name] = value
    return value


registration.watch()
fingerprints.watch()
