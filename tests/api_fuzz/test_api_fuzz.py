"""Runs random sequences of calls and changes on our tokenizers and on those of tokenizers, tiktoken and transformers.

CRAYON_API_FUZZ sets the number of sequences: `make api-fuzz` runs several thousand, each time with another seed.
Hypothesis shrinks a sequence that fails.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from tests.api_fuzz.of_tiktoken import BothEncodings
from tests.api_fuzz.of_tokenizers import BothTokenizers
from tests.api_fuzz.of_transformers import BothFast
from tests.support.versions import since

MOST = int(os.environ.get("CRAYON_API_FUZZ", "0"))
RULES = settings(
    max_examples=MOST or 20,
    stateful_step_count=40 if MOST else 12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    **({"derandomize": False, "database": None} if MOST else {}),  # type: ignore[arg-type]
)

TestTiktoken = BothEncodings.TestCase
TestTiktoken.settings = RULES
TestTokenizers = since((0, 23), "spells added tokens otherwise")(BothTokenizers.TestCase)
TestTokenizers.settings = RULES
TestTransformers = BothFast.TestCase
TestTransformers.settings = RULES
