"""The models of ``tokenizers``."""

from typing import TYPE_CHECKING

from crayon_hf.tokenizer_json.library_types import names_of

if TYPE_CHECKING:
    from tokenizers.models import *  # noqa: F403
else:
    globals().update(names_of("models"))
