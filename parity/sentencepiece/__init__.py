"""``python -m parity.sentencepiece [MODEL...]``: our ids, pieces and texts against those of ``sentencepiece``.

Compared fields: ``ids`` and ``pieces`` without bos and eos, and the ``decoded`` text. A target is a SentencePiece
``.model``; without one, every ``$CRAYON_SHARED/vocab/*/tokenizer.model`` is compared, else a small model that the
library trains first. Needs ``pip install sentencepiece``.

With ``--models N``, N models are made at random instead, by ``--seed``: trained with random options, or of random
pieces, with scores that repeat, user-defined pieces over spaces, control and unused pieces, and rules of their own.
Each is compared on 60 texts and 30 rows of any ids; the last line counts models, inputs and differences. ``--first K``
with ``--models 1`` repeats model K. Needs ``pip install protobuf``, too.
"""
