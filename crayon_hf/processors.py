"""The post-processors of ``tokenizers``."""

from typing import TYPE_CHECKING

from crayon_hf.util.reference import has_components, missing

if TYPE_CHECKING or has_components():
    from tokenizers.processors import *  # noqa: F403
else:
    from crayon_hf.tokenizer_json.described import MODULES

    globals().update(MODULES["processors"])
    __getattr__ = missing(__name__)
