"""The generator of hostile bytes: the same everywhere, most of it no text, some of it text."""

from __future__ import annotations

import hashlib

from crayon_hf.parity.inputs.byte_strings import CATEGORIES, MALFORMED, generate_bytes


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_one_seed_gives_one_sequence() -> None:
    assert list(generate_bytes(200, 3)) == list(generate_bytes(200, 3))
    assert list(generate_bytes(200, 3)) != list(generate_bytes(200, 4))


def test_python_versions_agree() -> None:
    random = b"\x01".join(data for name, data in generate_bytes(200, 7) if name == "random")
    assert hashlib.sha256(random).hexdigest()[:16] == "6de2ad3aabee14ca"


def test_every_category_holds_what_it_says() -> None:
    by_category: dict[str, list[bytes]] = {name: [] for name in CATEGORIES}
    for name, data in generate_bytes(2000, 1):
        by_category[name].append(data)
    assert {len(strings) for strings in by_category.values()} == {400}
    assert all(map(is_text, by_category["valid"]))
    for name in ("random", "mutated", "truncated", "malformed"):
        texts = sum(map(is_text, by_category[name]))
        assert texts < 360, name
    assert set(b"".join(by_category["random"])) == set(range(256))
    joined = b"\n".join(by_category["malformed"])
    assert [piece for piece in MALFORMED if piece not in joined] == []
