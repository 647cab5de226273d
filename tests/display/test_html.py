"""Tokens as HTML: what a notebook shows, in colour, escaped, bounded; and in a real browser."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from crayon_hf import AutoTokenizer, Tokenizer
from crayon_hf.display.html import MOST_TOKENS
from tests.support.browser import started

HOSTILE = (
    "</span><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "\" onmouseover=\"document.title='owned'",
    "</style></div>' & &lt; &#60;",
    "\u202egnp.exe\u202c \u0000\x1b[31m \ud7ff\ufeff\u200b",
)


class Tags(HTMLParser):
    """The tags of a fragment, its attributes and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.titles: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.titles += [value or "" for name, value in attrs if name == "title"]
        if tag not in ("br", "wbr", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text(text: str, gpt2_like: Path, wordpiece_like: Path) -> None:
    for path in (gpt2_like, wordpiece_like):
        shown = Tags(Tokenizer.from_file(path).encode(text)._repr_html_())
        assert set(shown.tags) <= {"style", "div", "b", "i", "span", "u", "br", "wbr"}
        assert shown.attributes <= {"class", "title"}
        assert shown.open == []
        assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e\u200b\ufeff]", "".join(shown.titles))


def test_an_encoding(gpt2_like: Path) -> None:
    encoding = Tokenizer.from_file(gpt2_like).encode("Hello world\n")
    shown = Tags(encoding._repr_html_())
    assert len(shown.titles) == len(encoding)
    for title, id, token, (start, end) in zip(
        shown.titles, encoding.ids, encoding.tokens, encoding.offsets, strict=True
    ):
        assert title.splitlines()[0] == f"id {id}"
        assert title.splitlines()[1] == f"token {token}"
        assert title.splitlines()[-1] == f"chars {start}-{end}"
    text = html.unescape(re.sub(r"<style>.*?</style>|<b>.*?</b>|<[^>]*>", "", encoding._repr_html_(), flags=re.DOTALL))
    assert text.strip() == "Hello·world↵"  # the spelling of bytes is undone


def test_special_tokens(llama3_like: Path) -> None:
    encoding = Tokenizer.from_file(llama3_like).encode("Hello")
    shown = encoding._repr_html_()
    assert shown.count('class="cs"') == sum(encoding.special_tokens_mask) == 1
    assert "added around the text" in shown


def test_long_texts_are_cut(gpt2_like: Path) -> None:
    tokenizer = Tokenizer.from_file(gpt2_like)
    encoding = tokenizer.encode("a b " * 20_000)
    shown = encoding._repr_html_()
    assert shown.count("<span") == MOST_TOKENS
    assert f"… and {len(encoding) - MOST_TOKENS:,} more" in shown
    assert len(shown) < 200_000
    tokenizer.add_tokens(["z" * 5000])
    assert len(tokenizer.encode("z" * 5000)._repr_html_()) < 4000


def test_tokenizers(gpt2_like: Path, tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_file(gpt2_like)
    shown = tokenizer._repr_html_()
    assert "<i>tokens</i> 2,000" in shown
    assert "chars 0-" in shown
    (tmp_path / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    shown = Tokenizer.from_file(tmp_path / "tokenizer.json")._repr_html_()
    assert "<b>Tokenizer</b>" in shown
    assert f"<i>from</i> {tmp_path.name}/tokenizer.json" in shown  # not what it was compiled to in the cache
    opened = AutoTokenizer.from_pretrained(tmp_path)
    shown = opened._repr_html_()
    assert f"<b>{type(opened).__name__}</b>" in shown
    assert "<i>tokens</i> 2,000" in shown
    assert f"<i>from</i> {tmp_path.name}" in shown
    assert "<i>from</i> memory" in Tokenizer.from_str(gpt2_like.read_text(encoding="utf-8"))._repr_html_()

    import tokenizers

    assert "Tokenizer" in Tokenizer(tokenizers.models.BPE())._repr_html_()  # nothing to encode with yet


def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    program = "import sys; from crayon_hf.cli import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True)


def test_the_page_of_inspect(gpt2_like: Path, tmp_path: Path) -> None:
    text = "an unlikely concatenation <b>"
    done = run("inspect", text, "-t", str(gpt2_like), "--mode", "both", "--html", str(tmp_path / "x.html"))
    assert (done.returncode, done.stdout.decode()) == (0, f"wrote {tmp_path / 'x.html'}\n")
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    tags = Tags(page)
    assert tags.tags.count("div") == 2
    assert "script" not in tags.tags
    assert "Content-Security-Policy" in page
    done = run("inspect", text, "-t", str(gpt2_like), "--mode", "both", "--html", "-")
    assert done.stdout.decode() == page
    for option in ("--json", "--trace"):
        assert run("inspect", "x", "--html", "-", option).returncode == 2


@pytest.mark.slow
def test_in_a_browser(gpt2_like: Path, tmp_path: Path) -> None:
    """No text runs, and every token is readable on both grounds: a contrast of 4.5 at least, as WCAG asks."""
    fragment = Tokenizer.from_file(gpt2_like).encode(" ".join(HOSTILE) + " plain words")._repr_html_()
    measure = """() => [...document.querySelectorAll('.crayon-hf span')].map(span => {
        const light = color => { const [r, g, b] = color.match(/\\d+/g).map(v => { const c = v / 255;
            return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4 }); return .2126*r + .7152*g + .0722*b };
        const ground = light(getComputedStyle(span).backgroundColor);
        return [span, ...span.querySelectorAll('u')].map(each => { const ink = light(getComputedStyle(each).color);
            return (Math.max(ink, ground) + .05) / (Math.min(ink, ground) + .05) }) }).flat()"""
    grounds = set()
    with started() as chromium:
        for scheme in ("light", "dark"):
            for attributes in (
                *("", 'data-jp-theme-light="false"', 'data-jp-theme-light="true"', 'class="vscode-dark"'),
                'id="notebook-container"',  # nbconvert's classic page
            ):
                path = tmp_path / "page.html"
                path.write_text(
                    f"<!DOCTYPE html><meta charset=utf-8><title>t</title><body {attributes}>{fragment}",
                    encoding="utf-8",
                )
                page = chromium.new_page(color_scheme=scheme)
                page.goto(path.as_uri())
                assert page.title() == "t"
                contrasts = page.evaluate(measure)
                assert len(contrasts) > 20
                assert min(contrasts) >= 4.5
                ground = page.evaluate(
                    "() => getComputedStyle(document.querySelector('.crayon-hf .c0')).backgroundColor"
                )
                dark = "false" in attributes or "vscode-dark" in attributes
                expected = dark or (scheme == "dark" and not attributes)
                assert (ground == "rgb(29, 68, 104)") == expected, (scheme, attributes, ground)
                grounds.add(ground)
    assert len(grounds) == 2
