"""How llama.cpp cuts text before byte-level BPE, by the name that a GGUF file gives (``tokenizer.ggml.pre``).

The names, their settings and the order of their patterns are facts of llama.cpp (src/llama-vocab.cpp, of October 2026).
Each pattern cuts the pretokens of the pattern before it, and text that it does not match stays a pretoken: a Sequence
of isolating Splits. llama.cpp adapts some patterns to its own matcher: ``((?=[\\p{L}])([^a-z]))*`` for "letters other
than small ones". Here they have the form of the models' own tokenizer.json.
"""

from __future__ import annotations

from typing import NamedTuple

from crayon_hf.errors import UnsupportedError

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_MARKS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
_SPACES = r"\s+(?!\S)|\s+"
_LINES_AND_SPACES = r"\s*[\r\n]+|" + _SPACES

_LLAMA3 = rf"{_ENDINGS}|{_WORD}|\p{{N}}{{1,3}}|{_MARKS}|{_LINES_AND_SPACES}"
_QWEN2 = rf"{_ENDINGS}|{_WORD}|\p{{N}}|{_MARKS}|{_LINES_AND_SPACES}"
_MARKED_QWEN = r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
_QWEN35 = f"{_ENDINGS}|{_MARKED_QWEN}|{_LINES_AND_SPACES}"
_LONG_SPACES = "".join(rf"\s{{{count}}}(?!\S)|" for count in (512, 256, 128, 64, 32, 16, 8, 4))
_JAIS2 = rf"{_ENDINGS}|{_WORD}|\p{{N}}{{1,3}}|{_MARKS}|\s*[\r\n]+|{_LONG_SPACES}\s{{1,2}}(?!\S)|\s{{1}}"
_MINICPM5 = rf"{_ENDINGS}|{_WORD}|\p{{N}}+|{_MARKS}|{_LINES_AND_SPACES}"
_SEED_CODER = rf"{_ENDINGS}|{_WORD}|\p{{N}}{{1}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{_LINES_AND_SPACES}"
_UFAKZEKA = rf"{_WORD}|\p{{N}}|{_MARKS}|{_LINES_AND_SPACES}"
_BAILING = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
_EXAONE_MOE = (
    rf"{_ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]?|\s*[\r\n]|{_SPACES}"
)


def _cased(endings: str, numbers: str, upper: str, lower: str, marks: str = r" ?[^\s\p{L}\p{N}]+[\r\n/]*") -> str:
    """Return a pattern that also cuts words where a small letter is followed by a capital one."""
    before = r"[^\r\n\p{L}\p{N}]?"
    words = f"{before}{upper}*{lower}+{endings}|{before}{upper}+{lower}*{endings}"
    return f"{words}|{numbers}|{marks}|{_LINES_AND_SPACES}"


_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_O200K = _cased(_ENDINGS + "?", r"\p{N}{1,3}", _UPPER, _LOWER)
_TEKKEN = _cased("", r"\p{N}", _UPPER, _LOWER)
_YOUTU = _cased(_ENDINGS + "?", r"\p{N}", _UPPER, _LOWER)
_KIMI = r"\p{Han}+|" + _cased(
    _ENDINGS + "?", r"\p{N}{1,3}", _UPPER[:-1] + r"&&[^\p{Han}]]", _LOWER[:-1] + r"&&[^\p{Han}]]", _MARKS
)

_DIGIT, _UP_TO_3_DIGITS = r"\p{N}", r"\p{N}{1,3}"
_THREES_FROM_THE_RIGHT = r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"
_CJK = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
_ASIAN = (
    "[\u4e00-\u9fff\u3400-\u4dbf\u8c48-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf\u0e40-\u0e7f\u0e80-\u0eff"
    "\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+"
)
_YOUTU_SCRIPTS = (
    "[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f\ufe30-\ufe4f]+"
    "|[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
)
_ASCII_MARKS = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"""
_WORD_WITH_MARK = _ASCII_MARKS + r"[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
_DEEPSEEK3 = rf"{_WORD_WITH_MARK}| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_LINES_AND_SPACES}"
_SPARK = rf"{_WORD_WITH_MARK}| ?[\p{{P}}\p{{S}}]+|[\r\n]|{_SPACES}"
_DEEPSEEK_HAN = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
_DEEPSEEK_LETTERS = (
    r"\s?[A-Za-z"
    "\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376\u0377"
    "\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556"
    "\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a"
    "\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4"
    "\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc"
    "\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f"
    "\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b"
    "\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a"
    "\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2"
    "\U000118a0-\U000118df\U0001e900-\U0001e943]+"
)
_DEEPSEEK_MARKS = "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+"
_BLOOM = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"


class PreTokenizer(NamedTuple):
    """The settings of one pre-tokenizer name."""

    patterns: tuple[str, ...]
    ignore_merges: bool = False
    add_bos: bool = False
    """Whether a beginning-of-text token is added if the file does not state it."""
    add_sep: bool = False
    clean_spaces: bool = False
    """Whether decoding removes the spaces before punctuation."""
    default_bos: int | None = 11
    spaces_escaped: bool = False
    """BPE over text, not over bytes: spaces are written as U+2581, and unknown characters as byte tokens."""
    lines_whole: bool = False
    """Whether a run of line breaks that is a token becomes that token, even if merges give other tokens."""


_PLAIN = PreTokenizer((GPT2,))
_DIGITS = PreTokenizer((_DIGIT, GPT2))

# Each group has several names with the same settings. The second element is clean_spaces.
_GROUPS: tuple[tuple[str, bool, PreTokenizer], ...] = (
    ("default", True, PreTokenizer((r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"))),
    ("falcon", True, PreTokenizer((r"[\p{P}\$\+<=>\^~\|`]+", GPT2, r"[0-9][0-9][0-9]"))),
    (
        "gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert exaone4 mpt olmo jais",
        True,
        _PLAIN,
    ),
    ("trillion granite-docling", False, _PLAIN),
    ("jina-v1-en jina-v2-code roberta-bpe", True, _PLAIN._replace(add_sep=True)),
    ("starcoder refact codeshell exaone minerva-7b mellum2", True, _DIGITS),
    ("command-r smollm", False, _DIGITS),
    (
        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
        True,
        PreTokenizer((_LLAMA3,), ignore_merges=True, add_bos=True),
    ),
    ("dbrx smaug-bpe", True, PreTokenizer((_LLAMA3,))),
    ("chatglm-bpe", True, PreTokenizer((_LLAMA3,), default_bos=None)),
    ("glm4 glm5", True, PreTokenizer((_LLAMA3,), ignore_merges=True, default_bos=None)),
    ("jais-2", True, PreTokenizer((_JAIS2,))),
    ("minicpm5", True, PreTokenizer((_UP_TO_3_DIGITS, _MINICPM5), ignore_merges=True)),
    ("qwen2 deepseek-r1-qwen kormo f2llmv2 hunyuan solar-open grok-2", False, PreTokenizer((_QWEN2,))),
    ("stablelm2 megrez", True, PreTokenizer((_QWEN2,))),
    ("qwen35", False, PreTokenizer((_QWEN35,))),
    ("laguna", False, PreTokenizer((r"[^\n]+|[\n]+", _QWEN2))),
    ("ufakzeka", False, PreTokenizer((_UFAKZEKA,))),
    ("seed-coder", False, PreTokenizer((_SEED_CODER,))),
    ("bailingmoe bailingmoe2 llada-moe", False, PreTokenizer((_BAILING,))),
    ("exaone-moe", True, PreTokenizer((_EXAONE_MOE,))),
    ("gpt-4o llama4 kanana2 talkie minimax-m2", False, PreTokenizer((_O200K,))),
    ("granite-embed-multi-97m", False, PreTokenizer((_O200K,), ignore_merges=True)),
    ("tiny_aya cohere2moe", False, PreTokenizer((r"\d{1,3}(?=(?:\d{3})*\b)", _O200K))),
    ("tekken", False, PreTokenizer((_TEKKEN,), ignore_merges=True, add_bos=True)),
    ("youtu", False, PreTokenizer((_YOUTU_SCRIPTS, _YOUTU), ignore_merges=True)),
    ("kimi-k2", False, PreTokenizer((_KIMI,))),
    ("superbpe", False, PreTokenizer((r"\p{N}+", r"(?=(\d{3})+(?!\d))"))),
    (
        "deepseek-llm",
        False,
        PreTokenizer((r"[\r\n]", _DEEPSEEK_LETTERS, _DEEPSEEK_MARKS, r"\s+$", _DEEPSEEK_HAN, r"\p{N}+")),
    ),
    ("deepseek-coder", False, PreTokenizer((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _DEEPSEEK_HAN, r"\p{N}"))),
    ("deepseek-v3 hunyuan-dense joyai-llm hy_v4", False, PreTokenizer((_UP_TO_3_DIGITS, _CJK, _DEEPSEEK3))),
    ("spark2_5", False, PreTokenizer((_UP_TO_3_DIGITS, _CJK, _SPARK, _DIGIT))),
    ("afmoe", False, PreTokenizer((_THREES_FROM_THE_RIGHT, _ASIAN, _DEEPSEEK3))),
    ("poro-chat", False, PreTokenizer((_BLOOM,))),
    ("bloom gpt3-finnish", True, PreTokenizer((_BLOOM,))),
    ("viking", False, PreTokenizer((_BLOOM, _DIGIT))),
    (
        "chameleon",
        False,
        PreTokenizer(
            (
                "<sentinel:[0-9]+>",
                "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
                r"([\t\n]|    |  )",
                _DIGIT,
                r"[\p{P}!-/:-@\[-`{-~]",
                GPT2,
            ),
            add_bos=True,
        ),
    ),
    (
        "gemma4 granite-embed-multi-311m",
        True,
        PreTokenizer((r"[^\n]+|[\n]+",), spaces_escaped=True, lines_whole=True),
    ),
    ("sarvam-moe", False, PreTokenizer((r"[^\n]+|[\n]+",), spaces_escaped=True)),
)

PRE_TOKENIZERS = {
    name: meaning._replace(clean_spaces=clean) for names, clean, meaning in _GROUPS for name in names.split()
}

# Pre-tokenizers of llama.cpp that no tokenizer.json can express.
_NOT_EXPRESSED = {"whitespace": "BPE that drops white space and what its vocabulary lacks"}


def pre_tokenizer(name: str) -> PreTokenizer:
    """The settings of a pre-tokenizer name. The empty name stands for old files, which state no name."""
    known = PRE_TOKENIZERS.get(name or "default")
    if known is not None:
        return known
    if name in _NOT_EXPRESSED:
        raise UnsupportedError(f"pre-tokenizer {name} ({_NOT_EXPRESSED[name]})")
    raise UnsupportedError(
        f"pre-tokenizer {name[:80]!r} of a GGUF file; supported: {', '.join(sorted(PRE_TOKENIZERS))}"
    )
