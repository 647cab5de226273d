"""The trainers of ``tokenizers``, which our `Tokenizer.train` takes."""

from tokenizers.trainers import *  # noqa: F403
