"""Some random sequences for each face. ``python tests/faces/run.py`` goes on for as long as one likes."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.faces.of_tiktoken import BothEncodings
from tests.faces.of_tokenizers import BothTokenizers
from tests.faces.of_transformers import BothFast
from tests.support.versions import since

FEW = settings(max_examples=20, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck))

TestTiktoken = BothEncodings.TestCase
TestTiktoken.settings = FEW
TestTokenizers = since((0, 23), "spells added tokens otherwise")(BothTokenizers.TestCase)
TestTokenizers.settings = FEW
TestTransformers = BothFast.TestCase
TestTransformers.settings = FEW
