"""The library's own: byte pair encoding written to be read, in Python alone."""

from tiktoken._educational import (
    SimpleBytePairEncoding,
    bpe_encode,
    bpe_train,
    train_simple_encoding,
    visualise_tokens,
)

__all__ = ["SimpleBytePairEncoding", "bpe_encode", "bpe_train", "train_simple_encoding", "visualise_tokens"]
