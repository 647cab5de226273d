"""Training of tokenizers from texts.

`train_bpe` is native and finds the same merges as ``tokenizers.trainers.BpeTrainer``. The ``tokenizers`` library
trains Unigram, WordPiece and WordLevel models from the same sources. `extend` and `shrink` change an existing BPE
vocabulary.
"""

from __future__ import annotations

from crayon_hf.training.by_reference import train_unigram, train_wordlevel, train_wordpiece
from crayon_hf.training.extending import extend
from crayon_hf.training.native import train_bpe
from crayon_hf.training.shrinking import shrink
from crayon_hf.training.vocabulary import VocabularyChange

__all__ = [
    "VocabularyChange",
    "extend",
    "shrink",
    "train_bpe",
    "train_unigram",
    "train_wordlevel",
    "train_wordpiece",
]
