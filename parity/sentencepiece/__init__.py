"""``python -m parity.sentencepiece [MODEL...]``: our ids, pieces and texts against those of ``sentencepiece``.

Compared fields: ``ids`` and ``pieces`` without bos and eos, and the ``decoded`` text. A target is a SentencePiece
``.model``; without one, every ``$CRAYON_SHARED/vocab/*/tokenizer.model`` is compared, else a small model that the
library trains first. Needs ``pip install sentencepiece``.

With ``--models N``, N random models are made by ``--seed`` and compared instead. They are trained with random options,
or made of random pieces. They have repeated scores, user-defined pieces over spaces, control and unused pieces, and
rules of their own. Each is compared on 60 texts and 30 rows of arbitrary ids; the last line counts models, inputs and
differences. ``--first K`` with ``--models 1`` repeats model K. Needs ``pip install protobuf``, too.
"""
