"""The post-processors of ``tokenizers``."""

from tokenizers.processors import *  # noqa: F403
