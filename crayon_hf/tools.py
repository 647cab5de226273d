"""The tools of ``tokenizers``."""

from tokenizers.tools import *  # noqa: F403
