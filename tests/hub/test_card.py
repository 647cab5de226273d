"""`make_card` adds our part to a repository's model card: metadata and text of the card are kept, and no text becomes
markup by accident."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf.errors import CrayonError
from crayon_hf.hub import front_matter
from crayon_hf.hub.card import BEGIN, END, PLOT_PNG, PLOT_SVG, TAGS, Facts, make_card
from tests.parity.report_samples import HOSTILE, agreeing, filled
from tests.support.versions import since_hub_1

FACTS = Facts("user/name", base="gpt2", vocab_size=50257, metadata={"license": "mit", "base_model": "openai/gpt2"})

SHAPES = {
    "nothing": "",
    "text alone": "# A model\n\nIts text.\n",
    "no newline at the end": "# A model\n\nIts text.",
    "tags": "---\nlicense: apache-2.0\ntags:\n- one\n- two\n---\n\n# A model\n",
    "tags, indented, with comments": "---\n# first\ntags:\n    # a\n    - one # b\n    - 'two'   # c\nx: 1\n---\nA\n",
    "tags in a row": "---\ntags: [one, 'two, three']\nlicense: mit\n---\n# A model\n",
    "one tag": "---\ntags: one\nlicense: mit\n---\n",
    "empty tags": "---\ntags:\nlicense: mit\n---\n",
    "Norwegian": "---\nlanguage:\n- no\n- yes\nversion: 1.10\ndate: 2024-01-02\n---\n# A model\n",
    "a literal at the end": "---\nwidget:\n- text: |+\n    One\n\n    Two\n---\ntext\n",
    "anchors": "---\nx: &a [1, 2]\ny: *a\n---\ntext\n",
    "Windows": "---\r\nlicense: mit\r\ntags:\r\n- one\r\n---\r\n\r\n# A model\r\n\r\ntext\r\n",
    "a byte order mark": "\ufeff---\nlicense: mit\n---\ntext\n",
    "white space around": "\n\n---\nlicense: mit\n---   \n\ntext\n",
    "an index": "---\nmodel-index:\n- name: x\n  results:\n  - metrics: [{type: a, value: 0.10}]\n---\n",
    "a row": "---\n{license: mit, tags: [one], x: 1}\n---\n",
    "not ASCII": "---\nauthor: Zoë 漢字 🙂\ntags: [größe]\n---\n# Modell\n",
}

REFUSED = {
    "not YAML": "---\na: [\n---\ntext\n",
    "a list": "---\n- a\n---\n",
    "tags elsewhere": "---\nx: &a [one]\ntags: *a\n---\n",
    "tags that are a mapping": "---\ntags: {a: b}\n---\n",
    "no such day": "---\nx: 2024-02-31\n---\n",
    "half of our part": f"text\n\n{BEGIN}\n\nmore text\n",
    "the other half": f"text\n\n{END}\n",
    "our part twice": f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n",
    "our part, the wrong way round": f"{END}\n{BEGIN}\n",
}


def metadata(card: str) -> Any:
    return before(card)[1]


def before(card: str) -> tuple[str, dict[str, Any], str]:
    """Split a card as huggingface_hub does: its YAML, the values in the YAML, and the text."""
    from huggingface_hub.repocard import REGEX_YAML_BLOCK

    card = card.removeprefix("\ufeff")
    match = REGEX_YAML_BLOCK.search(card)
    return ("", {}, card) if match is None else (match[2], yaml.safe_load(match[2]) or {}, card[match.end() :])


SPACES = pytest.param("white space around", marks=since_hub_1("sees no metadata behind white space"))


@pytest.mark.parametrize("name", [SPACES if name in SPACES.values else name for name in SHAPES])
def test_what_there_was_stays(name: str) -> None:
    """The bytes of a card around our part are unchanged. Making the card again replaces our part, and gives the
    same."""
    shape = SHAPES[name]
    block, had, text = before(shape)
    card = make_card(shape, FACTS, agreeing())
    own = had.get("tags") or []
    own = own if isinstance(own, list) else [own]
    tags = [*own, *(tag for tag in TAGS if tag not in own)]
    assert metadata(card) == {"library_name": "crayon-hf", **FACTS.metadata, **had, "tags": tags}
    assert text.strip() in card
    assert card.count(BEGIN) == card.count(END) == 1
    for line in block.splitlines():  # `no`, Norwegian, must not become false
        assert line in card.splitlines() or "tags" in line or line == "]" or line.startswith("{")
    assert make_card(card, FACTS, agreeing()) == card
    assert len(set(re.findall(r"\r\n|\n|\r", card))) == 1
    newline = front_matter.line_end(card)
    edited = card.replace(END, f"{END}{newline}{newline}Below.").replace(BEGIN, f"Above.{newline}{newline}{BEGIN}")
    again = make_card(edited, FACTS, replace(agreeing(), started="2027-01-01T00:00:00Z", speeds=()))
    assert "2027-01-01T00:00:00Z" in again
    assert agreeing().started not in again
    outside = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    assert outside.sub("", again) == outside.sub("", edited)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_edited_is_refused(name: str) -> None:
    with pytest.raises(CrayonError, match=r"README\.md"):
        make_card(REFUSED[name], FACTS, agreeing())


def test_a_new_card() -> None:
    card = make_card(None, FACTS, agreeing())
    assert metadata(card) == {"library_name": "crayon-hf", **FACTS.metadata, "tags": list(TAGS)}
    assert make_card(card, FACTS, agreeing()) == card
    for library in ("crayon_hf", "transformers"):
        assert f'from {library} import AutoTokenizer\n\ntokenizer = AutoTokenizer.from_pretrained("user/name")' in card
    report = agreeing()
    for said in (f"{report.inputs:,}", f"{report.characters:,}", report.started, report.target.source_digest):
        assert said in card
    assert f"]({PLOT_PNG})]({PLOT_SVG})" in card


def test_facts_that_decide() -> None:
    bare = make_card(None, Facts("name", metadata={"license": None}), replace(agreeing(), speeds=()))
    assert "license" not in metadata(bare)
    assert "speed" not in bare
    assert "library_name" not in metadata(make_card("text\n", replace(FACTS, is_model=True), agreeing()))
    branch = make_card(None, replace(FACTS, revision="v1/x"), agreeing())
    assert branch.count('from_pretrained("user/name", revision="v1/x")') == 2
    assert "crayon-hf pull user/name@v1/x\n" in branch


HOSTILE_TEXTS = (
    HOSTILE,
    BEGIN,
    f"\n{END}\n",
    "| a | b | ``` x ````",
    "\n---\nlicense: evil\n---\n# h",
    "@me www.x.invalid",
)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_texts(text: str) -> None:
    """Text of the report never becomes a heading, a row, markup or one of our comments."""
    facts = replace(FACTS, base=text)
    card = make_card(None, facts, filled(text))
    assert make_card(card, facts, filled(text)) == card
    body, expected = without_code(card), without_code(make_card(None, facts, filled("plain")))
    for pattern in (r"^#", r"^\|", r"(?<!\\)\|", r"(?<!\\)`", r"(?<!\\)<[a-z!/]", r"(?<!\\)\*"):
        assert len(re.findall(pattern, body, re.MULTILINE)) == len(re.findall(pattern, expected, re.MULTILINE)), pattern
    assert not re.search(r"https?://x|www\.|(?<!\\)@", body)
    assert all(character.isprintable() or character == "\n" for character in card)


def without_code(card: str) -> str:
    """The card without code and without escaped backslashes, so that each remaining backslash escapes a character."""
    text = re.sub(r"^(`{3,})\w+\n.*?^\1$", "", card, flags=re.DOTALL | re.MULTILINE).replace("\\\\", "")
    return re.sub(r"(?<!\\)`[^`\n]*`", "``", text)


KEYS = st.text(st.sampled_from("abcxyz_-"), min_size=1, max_size=6).filter(lambda key: key != "tags" and key[0] != "-")
WORDS = st.text(max_size=12) | st.sampled_from(["no", "yes", "1.10", "null", "- a", "a: b", "# c", "|", "2024-01-02"])
PRINTABLE = WORDS.filter(lambda word: not re.search("[\ud800-\udfff]", word))
VALUES = st.recursive(
    PRINTABLE | st.integers() | st.booleans() | st.none(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(KEYS, children, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=50)
@given(
    st.dictionaries(KEYS, VALUES, max_size=4),
    st.lists(PRINTABLE, max_size=4) | PRINTABLE | st.none(),
    st.sampled_from([None, False, True]),
    st.booleans(),
)
def test_any_metadata(values: dict[str, Any], tags: Any, flow: bool | None, unicode: bool) -> None:
    values = {**values, "tags": tags, "z": 1}
    block = yaml.safe_dump(values, default_flow_style=None if flow else False, allow_unicode=unicode, sort_keys=False)
    block = block.rstrip("\n")
    values = yaml.safe_load(block)  # PyYAML cannot read everything that it writes
    tags = values["tags"]
    edited = front_matter.filled(block, {"license": "mit", "base_model": None}, TAGS)
    own = tags if isinstance(tags, list) else [] if tags is None else [tags]
    expected = {"license": "mit", **values, "tags": [*own, *(tag for tag in TAGS if tag not in own)]}
    assert yaml.safe_load(edited) == expected
    assert front_matter.filled(edited, {"license": "mit"}, TAGS) == edited
