"""``python -m parity.sentencepiece [MODEL...]``: our ids, pieces and texts against those of ``sentencepiece``.

Compared fields: ``ids`` and ``pieces`` without bos and eos, and the ``decoded`` text. A target is a SentencePiece
``.model``; without one, every ``$CRAYON_SHARED/vocab/*/tokenizer.model`` is compared, else a small model that the
library trains first. Needs ``pip install sentencepiece``.
"""
