"""Texts for ``components``: hostile ones that every tokenizer gets, and some of the generated strings."""

from __future__ import annotations

from collections.abc import Sequence

from crayon_hf.parity.inputs.categories import CATEGORIES
from crayon_hf.parity.inputs.strings import generate

LONGEST = 300
"""Generated texts are cut to this length: most components need no longer ones, and the tokenizers are many."""

# fmt: off
HOSTILE = (
    "", " ", "a", "  two  spaces  ", "\t\n\r\n \n", "Hello, world!", "don't I'LL we've 'tis", "CamelCase HTTPServer2",
    "caf\xe9 cafe\u0301 \xc5 A\u030a", "\u0301\u0301a", "\xe9\xc9\u1e9e\xdf\u0130\u0131",
    "\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2 \u03a3", "\ufb01\u2460\u2026\xbd\u3300\uff71\uff9e",
    "\xa0\u2003\u3000\u200b\ufeff\u2028x", "a\x00b\x01\x7f\x85\xadc", "\u4f60\u597d\u4e16\u754c\u3002",
    "\u65e5\u672c\u8a9e\u30c6\u30ad\u30b9\u30c8", "\u4e00a\u4e8cb1", "\uac00\u1100\u1161\u11a8 \ud55c\uad6d\uc5b4",
    "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22", "\u0915\u094d\u0937\u093f \u0928\u092e\u0938\u094d\u0924\u0947",
    "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05b8\u05dc\u05d5\u05b9\u05dd",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1eb\U0001f1f7\U0001f44d\U0001f3fd 1\ufe0f\u20e3",
    "\U00020000\U0001d15e\U000e0100\U0010ffff", "12345 \u0661\u0662\u0663 \xb2\u2164 3.14",
    "x--y!!.?;:_-+$^`~\xab\xbb\u2014", "  <s> hello</s>  ", "<mask><mask> a<mask>b", "[CLS][SEP]<pad><unk>",
    "\u2581\u2581a \u2581b_c\xe9 d", "\u0120a\u010a##b @@c</w>", "<0x41><0xE4>\xe4", "word wor wo w",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "xxaxxbxx", "``quoted'' (a|b)", "\r\r\n\n a\r\nb",
    "\ud7ff\ue000\ufffd\uffff", "international configuration", "\u01c5\u02b0\u1e9b\u0323 ", "do n't ca n't . , ! 's",
    " \u0301 a \u093f", "e\u0301e\u0300\u0302", "a" * 101 + " b", "\ufdfa\ufb1d\u2f800\u0344\u0958", " [X] a[X] b[X]",
)
# fmt: on


def texts_for(added: Sequence[str], strings: int, seed: int) -> list[tuple[str, str]]:
    """Return pairs of a category and a text: the hostile texts, then generated ones.

    The seed chooses the first category of the generated texts.
    """
    names = list(CATEGORIES)
    start = seed * strings % len(names)
    made = generate(strings, seed, names[start:] + names[:start], [content for content in added if content])
    return [("hostile", text) for text in HOSTILE] + [(category, text[:LONGEST]) for category, text in made]
