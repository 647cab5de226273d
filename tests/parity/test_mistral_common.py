"""`python -m parity.mistral_common`: the tekken files in mistral_common, and small ones, agree with its Tekkenizer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mistral_common")
import parity.mistral_common.__main__ as suite
from tests.formats.tekken_files import small_tekken

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("number", [0, 1])
def test_shipped_files(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert suite.main([suite.shipped()[number], "--strings", "400"]) == 0
    assert "mistral-common" in capsys.readouterr().out


def listed(document: dict[str, Any]) -> None:
    names = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[THINK]", "[ \u00e9t\u00e9 \u00e9]"]
    document["special_tokens"] = [
        {"rank": rank, "token_str": name, "is_control": rank != 5} for rank, name in enumerate(names)
    ]
    document["config"]["version"] = "v13"
    document["image"] = {"image_patch_size": 14, "max_image_size": 1540, "spatial_merge_size": 2}


def none_at_all(document: dict[str, Any]) -> None:
    document["special_tokens"] = []
    document["config"]["default_num_special_tokens"] = 0
    document["config"]["default_vocab_size"] = len(document["vocab"])


def part_of_the_ranks(document: dict[str, Any]) -> None:
    """Change the document so that it lists ranks beyond the vocabulary's size, which readers ignore."""
    document["config"]["default_vocab_size"] = 30 + 258
    document["vocab"][258:] = [{"rank": "?", "token_bytes": "?", "token_str": None}] * 5


@pytest.mark.parametrize("change", [listed, none_at_all, part_of_the_ranks])
def test_small_files(change: Any, tmp_path: Path) -> None:
    document = small_tekken([*(bytes([byte]) for byte in range(256)), b"th", b"the", b" the", b"in", "\u00e9".encode()])
    change(document)
    (tmp_path / "tekken.json").write_text(json.dumps(document), encoding="utf-8")
    assert suite.main([str(tmp_path / "tekken.json"), "--strings", "300"]) == 0
