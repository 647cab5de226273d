"""The playground opens tokenizers of Hub repositories. Its requests to the Hub have the repositories' names, and never
the user's text."""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import tokenizers

from tests.hub.hub_client import start_client
from tests.hub.hub_tokenizers import repository
from tests.hub.local_hub import LocalHub

pytest.importorskip("huggingface_hub")

TEXT = "secretive quick brown foxes"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_repositories(hub: LocalHub, home: Path, gpt2_like: Path, llama3_like: Path) -> None:
    hub.commit("user/first", repository(gpt2_like))
    hub.commit("user/second", repository(llama3_like))
    process = start_client(hub, ["-m", "crayon_hf", "playground", "user/first", "--text", TEXT], home)
    assert process.stdout is not None
    address = process.stdout.readline().strip()

    def ask(path: str, **fields: Any) -> Any:
        place = urlsplit(address)
        headers = {"Origin": f"{place.scheme}://{place.netloc}", "Content-Type": "application/json"}
        with urllib.request.urlopen(
            urllib.request.Request(f"{address}{path}", json.dumps(fields).encode(), headers)
        ) as answer:
            return json.load(answer)

    assert "user/missing" in ask("open", name="user/missing")["error"]
    assert ask("open", name="user/second") == {}
    before = len(hub.requests)
    how = {"add_special_tokens": True, "special_as_text": False, "names": ["user/first", "user/second"], "text": TEXT}
    answer = ask("encode", first=0, count=100, **how)
    for place, (panel, source) in enumerate(zip(answer["panels"], (gpt2_like, llama3_like), strict=True)):
        assert [row[0] for row in panel["rows"]] == tokenizers.Tokenizer.from_file(str(source)).encode(TEXT).ids
        assert ask("check", panel=place, **how)["same"]
    assert len(hub.requests) == before  # the reference opens the downloaded files
    assert not any("secretive" in str(vars(request)) for request in hub.requests)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=600) == 130
