"""The normalizers of ``tokenizers``."""

from tokenizers.normalizers import *  # noqa: F403
