"""The pre-tokenizers of ``tokenizers``."""

from tokenizers.pre_tokenizers import *  # noqa: F403
