"""The models of ``tokenizers``."""

from tokenizers.models import *  # noqa: F403
