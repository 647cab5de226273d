"""A fixture in which the engine refuses some vocabularies, so that tests can reach the fallback to ``tokenizers``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crayon_hf import UnsupportedError, _core


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Refuse WordPiece models, and patterns that contain "aeiou", as if the engine could not run them."""
    compile_json = _core.compile_tokenizer_json
    refused = {b'"WordPiece"': "model WordPiece", b"aeiou": "pattern '[aeiou]'"}

    def compile_or_refuse(data: bytes, *arguments: str) -> bytes:
        for mark, reason in refused.items():
            if mark in data:
                raise UnsupportedError(reason)
        return compile_json(data, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRAYON_CACHE_DIR", str(tmp_path_factory.mktemp("cache-of-the-refusing")))
        patch.setattr(_core, "compile_tokenizer_json", compile_or_refuse)
        yield
