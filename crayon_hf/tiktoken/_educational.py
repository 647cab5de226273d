"""``tiktoken._educational``, imported from the ``tiktoken`` library: byte pair encoding as readable Python."""

from crayon_hf.util.extras import needed

with needed("crayon_hf.tiktoken._educational", "tiktoken"):
    from tiktoken._educational import (
        SimpleBytePairEncoding,
        bpe_encode,
        bpe_train,
        train_simple_encoding,
        visualise_tokens,
    )

__all__ = ["SimpleBytePairEncoding", "bpe_encode", "bpe_train", "train_simple_encoding", "visualise_tokens"]
