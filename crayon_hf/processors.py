"""The post-processors of ``tokenizers``."""

from typing import TYPE_CHECKING

from crayon_hf.tokenizer_json.library_types import names_of

if TYPE_CHECKING:
    from tokenizers.processors import *  # noqa: F403
else:
    globals().update(names_of("processors"))
