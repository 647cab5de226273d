"""Training: a tokenizer from texts.

`train_bpe` is the native trainer, with the merges of ``tokenizers.trainers.BpeTrainer``. Unigram, WordPiece and
WordLevel models are trained by the ``tokenizers`` library itself, from the same sources.
"""

from __future__ import annotations

from crayon_hf.training.by_reference import train_unigram, train_wordlevel, train_wordpiece
from crayon_hf.training.native import train_bpe

__all__ = ["train_bpe", "train_unigram", "train_wordlevel", "train_wordpiece"]
