"""Random sequences of calls and changes on ours and on the library's own, for each interface.

CRAYON_API_FUZZ sets their number: `make api-fuzz` runs several thousand, each time with another seed. Failures are
shrunk.
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
