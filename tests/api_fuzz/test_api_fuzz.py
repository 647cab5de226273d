"""Some random sequences for each face. ``python tests/api_fuzz/run.py`` goes on for as long as one likes."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.api_fuzz.of_tiktoken import BothEncodings
from tests.api_fuzz.of_tokenizers import BothTokenizers
from tests.api_fuzz.of_transformers import BothFast
from tests.support.versions import since

FEW = settings(max_examples=20, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck))

TestTiktoken = BothEncodings.TestCase
TestTiktoken.settings = FEW
TestTokenizers = since((0, 23), "spells added tokens otherwise")(BothTokenizers.TestCase)
TestTokenizers.settings = FEW
TestTransformers = BothFast.TestCase
TestTransformers.settings = FEW
