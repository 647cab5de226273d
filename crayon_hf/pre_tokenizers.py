"""The pre-tokenizers of ``tokenizers``."""

from typing import TYPE_CHECKING

from crayon_hf.tokenizer_json.library_types import names_of

if TYPE_CHECKING:
    from tokenizers.pre_tokenizers import *  # noqa: F403
else:
    globals().update(names_of("pre_tokenizers"))
