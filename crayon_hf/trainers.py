"""The trainers of ``tokenizers``, which our `Tokenizer.train` takes."""

from typing import TYPE_CHECKING

from crayon_hf.util.reference import has_components, missing

if TYPE_CHECKING or has_components():
    from tokenizers.trainers import *  # noqa: F403
else:
    from crayon_hf.tokenizer_json.described import MODULES

    globals().update(MODULES["trainers"])
    __getattr__ = missing(__name__)
