"""The engine's regular expressions match as Oniguruma, which ``tokenizers`` (the reference) uses."""

# ruff: noqa: RUF001  (the tests need letters that fold to, or look like, others)

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex
from tokenizers.normalizers import Replace
from tokenizers.pre_tokenizers import Split

from crayon_hf import UnsupportedError, _core

Range = tuple[int, int]

MARK = "\ue000"

PUBLISHED = {
    **{family: _core.canonical_pattern(family) for family in ("gpt2", "qwen2", "o200k")},
    "possessive": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
    r"|\s*[\r\n]|\s+(?!\S)|\s",
    "deepseek": r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "deepseek_llm": r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫ]+",
    "digit_groups": r"\p{N}{1,3}(?=(?:\p{N}{3})*(?:\P{N}|$))",
    "bloom": r" ?[^(\s|[.,!?…。，、।۔،])]+",
    "punctuation": r"[\p{P}\$\+<=>\^~\|`]+",
    "repeats": r"[\(\)\[\]\{\}]|([!\"\#\$%\&'\*\+,\-\./:;<=>\?\\\^_`\|\~])\1*",
    "words_without_han": r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    "spaces": r"(?<=\S)\s+|\s+(?=\S)| {2,}",
    "clip": r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
}

# Patterns, each with texts that distinguish its meaning from other possible ones.
CASES: list[tuple[str, list[str]]] = [
    (r"a{2}+", ["aaaaa"]),
    (r"\p{N}{1,3}+", ["1234567"]),
    (r"a{3,1}a|b", ["aaaa", "b"]),
    (r"a{2}?", ["aaaaa"]),
    (r"a{,2}", ["aaaaa", "a{,2}"]),
    (r"a{,}|x{1, 2}|{|}|]", ["a{,}", "x{1, 2}", "{}]", "aax"]),
    (r"a?+a|b++c|c*+", ["aa", "a", "bbc", "ccc"]),
    (r"(?:a+?)*|(?:b??)*|(?:c+)??c", ["aaabbccc"]),
    (r"(?:a|b|)*c", ["abac", "ababab"]),
    (r"(?:a*|b)*", ["aabba", "cab"]),
    (r"(?:|a)*", ["aa"]),
    (r"(?:|a)+b", ["aab"]),
    (r"(?:ab){2,3}?c|(?:ab){40,}", ["ababc", "ab" * 41, "ab" * 39]),
    (r"(?:a|bc|){30,70}d", ["abc" * 20 + "d", "d"]),
    (r"(?>a+)b|(?>a|ab)c", ["aab", "abc", "ac"]),
    (r"(?i)straße|(?i:ss)|ß", ["STRASSE straße STRAẞE ß ss SS ſs sS"]),
    (r"(?i)sss", ["sßs ßs ßß sß"]),
    (r"(?i)ffi", ["ffi ﬃ ﬀi fﬁ FFI ﬀ ﬁ"]),
    (r"(?i)ﬀi", ["ffi ﬃ ﬀi fﬁ FFI ﬀ ﬁ"]),
    (r"(?i)[ﬀﬃ]+", ["ffi ﬃ ﬀi fﬁ FFI ﬀ ﬁ"]),
    (r"(?i)s(?:s)|(t)t|k{2}", ["ß ss tt kk Kk \u212ak"]),
    (r"(?i)[^ß]|(?i)[[:lower:]]", ["ßẞs", "aA"]),
    (r"(?i)\p{Lu}", ["aA"]),
    (r"(?i)(?<=ss)x|(?<=[ß])y", ["ßx ssx Sſx ßy ssy ẞy"]),
    (r"(?i:'s|'t|'re)", ["'s'S'ſ'T'Re'rE"]),
    (r"a(?i)b|c", ["aBC", "ab", "C", "aC"]),
    (r"(?:(?i)a|b)c(?-i:d)", ["Acd", "BcD", "bcd"]),
    (r"(?m:.)x|.y|\Nz|\Ow", ["\nx\ny\nz\nw"]),
    (r"(?x) a b # comment" + "\n c | \\  d [ x]", ["abc", " d d x"]),
    (r"a(?#comment)b", ["ab"]),
    (r"^a|b$|\Ac|d\z|e\Z", ["a\na\n", "b\nb", "c\nc", "d\nd\n", "e\ne\n"]),
    (r"\A(?:ab|\[c)x?", ["abxab", "xab", "[c[c", "", "a"]),
    (r"\A|\Aa", ["", "aa", "é"]),
    (r"\Aa|b", ["aab", "ba"]),
    (r"(?:\Aa)+", ["aa", "ba"]),
    (r"^|$", ["a\nb\n", "\n\n"]),
    (r"\Ga", ["aaba"]),
    (r"\b|\Bx", ["ab, cd x xx é² 1"]),
    (r"\w+", ["a²³¹¼_\u0301é-\u200d日"]),
    (r"[\w]+", ["a²³¹¼_\u0301é-\u200d日"]),
    (r"[^\w]+|[\p{word}]", ["a²³¹¼_\u0301é-\u200d日"]),
    (r"\s+", [" \t\n\x0b\x0c\r\x1c\x85\xa0\u180e\u2028\u200b\u3000"]),
    (r"\R|\h+", ["\r\n\n\r\u2028\x85", "afg09"]),
    (r"[a-c-e]+|[--a]|[]x]|[a&&[^b]]", ["a-d]e0x", "b"]),
    (r"[^a&&b]|[a-z&&[^aeiou]]+", ["abcdef"]),
    (r"[[:alpha:]\d]+|[[:^space:]]|[:x:]", ["ab1 -:"]),
    (r"[\b\e\q\x41\101\u0042\-]", ["\x08\x1bqAB-"]),
    (r"\p{ L-u_}|\p{^Greek}|\P{^Nd}|\pL", ["AαΑ1pL"]),
    (r"\p{Han}+|\p{Emoji}|\p{InGreek_and_Coptic}", ["漢字α😀1"]),
    (r"\0|\012|\a|\x{1F600}|\q\"", ['\0\n\a😀q"']),
    (r"(?<=a|bc)x|(?<!a+)y", ["axbcxcx", "ayaayby"]),
    (r"(?<=(?>a+)).|(?<=^a)b", ["aaab", "ab"]),
    (r"(?<=(?<=a)b)c|(?<!\Ga)d", ["abcbc", "adad"]),
    (r"(?=.*c)a|(?!b)b|(?!a)[ab]", ["abc", "ba"]),
    (r"|a", ["ba"]),
    (r"b|(?=c)", ["b xc bc"]),
    (r"", ["", "aé😀"]),
    (r"[()]|([!-/é日])\1*", ["(((---..-é日日日é!!", "--", "日"]),
    (r"([ab])\1\1|(c)\2+c|(.)\3{2,3}?d|(?:(e)\4?)+", ["aaabbbabb", "ccc", "cc", "xxxxdzzzd", "eeeee"]),
    (r"((f)\2)*|(g)(h)\4*\4|(i)\5*+i|(j)\6{0}k", ["ffff", "fff", "ghhhgh", "iii", "jk"]),
    (r"(?=(a)\1)a|(?>(b)\2*)b|(?i:x)(y)\3", ["aaa", "bbb", "Xyyxyy"]),
    ("\U0001f600|é+|[日-本]|[^\x00-\uffff]", ["😀éé日本\U0001f601"]),
    ("a\x7f|a\x80|a\u07ff|a\u0800|a\uffff|a\U00010000", ["a\x7fa\x80a\u07ffa\u0800a\uffffa\U00010000"]),
    # Literals that a match needs, of every kind: the search looks for them first.
    (r"a(?=b)", ["", "a", "ab", "ba", "aab b"]),
    (r"a(?!b)c?", ["", "a", "ab", "ac", "ba"]),
    (r"(?<=b)a", ["ba", "a", "ab", "bab"]),
    (r"(?=b)", ["", "ab", "b"]),
    (r"(?:(?=b)|c)a*", ["", "ab", "ca", "a"]),
    (r"(?:ab|c)?d", ["d", "ab", "abd", "cd c"]),
    (r"(?:ab|cd|é)x", ["abx", "x", "ab", "éx cdx", "ax bx"]),
    (r"(?:b{0}a|b{2})", ["a", "b", "bb"]),
    (r"(?:ab){0,2}c", ["c", "abc", "ab"]),
    (r"(?:a|b|)c", ["c", "a", "bc"]),
    (r"(?i)ß+a", ["ssa", "SSA", "ẞa", "ſsa", "sa"]),
    (r"(?i)k.*ﬁ", ["K fi", "\u212a FI", "k f", "kﬁ fi"]),
    (r"a*(?=.*z)", ["aaz aa", "aa", "z", "aza"]),
    (r"\w+(?=[bé])", ["aab", "aé é", "é", "bbb"]),
    (r"[ab]+?(?=c|$)", ["abc", "ab", "abd", "abdac"]),
    (r"\s+(?=\S)|\s", ["  a ", "   ", " "]),
    # Plain backtracking would take forever on these. The reference answers, so we must.
    (r"(a*)*b", ["a" * 40, "b" + "a" * 40, "a" * 40 + "b"]),
    (r"(?:[^\s]+\s*)+\.", ["word " * 30]),
    (r"(\w+\s?)*;", ["word " * 30]),
    (r"(.+)+(.+)+(.+)+X", ["a" * 40 + "!"]),
    (r"(?:\w+\s?)+(?:foo|bar!)", ["word " * 30]),
    (r"(?:\w+\s?)+(?=é)", ["word " * 30]),
    (r"(?i:(?:k+)+é)", ["k" * 40]),
    (r"(?:a+)+(?>(?:bc){2,3}|bd)", ["a" * 40 + "c"]),
    (r"\d+(?=,)", ["1" * 20_000, "1" * 4_000 + "x,"]),
    (PUBLISHED["digit_groups"], ["1" * 4_000]),
]

REFUSED = ["(", ")", "(?", "(?:a", "[a", "[]", "[^]", "*", "a|*", "^*", "(?=a)+", "\\", "[\\", "[z-a]", "[a-\\d]"]
_REFUSED = r"[\w-a] [[:foo:]] \u12 (?s)a (?P<a>x) (?<=(?=a)b) (?<!(a)) (?<=a\z) {1} (?:^|a)* a{100001} a{,100001}"
REFUSED += _REFUSED.split()

_FOREIGN = r"""(ab)\1 (a)b\1 (a)*\1 (?i)(a)\1 (?<=(a)\1)b (?<n>a)(b)\1 (a)(b)\2(?<n>c) (a)\10 (?:(a)|b)\1 (?<n>a)\k<n>
\X (?~a) a\Kb (?(a)b|c) (?W)\w \xc3\xa9 (a)\g<1> (*FAIL) \cA"""
FOREIGN = [*_FOREIGN.split(), r"[\x{61 62}]"]
# A look-ahead over the rest of the text: the reference tries it only at the start of the search.
FOREIGN += [r"(?=c)\O*", r"\b(?=c)(?m:.+)", r"(?=c)(?>\O*)", r"(?:a|(?=c|d)\O*b)"]

# Limits of patterns, each with a function that makes a pattern of a size.
LIMITS = {
    "bytes": (1 << 16, lambda size: "a" * size),
    "groups": (200, lambda size: "(?:" * size + "a" + ")" * size),
    "captures": (200, lambda size: "(" * size + "a" + ")" * size),
    "options": (200, lambda size: "(?i)" * size + "a"),
    "look-ahead": (200, lambda size: "(?=" * size + "a" + ")" * size + "a"),
    "classes": (100, lambda size: "[" * size + "a" + "]" * size),
    "repeats of repeats": (100_000, lambda size: next(f"a{{{size // n}}}{{{n}}}" for n in (10, 11) if size % n == 0)),
    "instructions": (50_000, lambda size: "." * (size - 1)),
}


class Reference:
    """Finds the matches of a pattern in ``tokenizers``, by replacing them and by splitting at them."""

    def __init__(self, pattern: str) -> None:
        regex = Regex(pattern)
        self.replace = Replace(regex, MARK)
        self.split = Split(regex, "isolated")

    def check(self, pattern: str, text: str) -> None:
        ranges = matches(pattern, text)
        marked, pieces, last = "", [], 0
        for start, end in ranges:
            marked += text[last:start] + MARK
            pieces += [piece for piece in ((last, start), (start, end)) if piece[0] < piece[1]]
            last = end
        pieces += [(last, len(text))] if last < len(text) else []
        if text:
            assert (pattern, text, marked + text[last:]) == (pattern, text, self.replace.normalize_str(text))
        assert (pattern, text, pieces) == (pattern, text, [place for _, place in self.split.pre_tokenize_str(text)])


def matches(pattern: str, text: str) -> list[Range]:
    """The engine's matches, as ranges of characters."""
    characters, size = {}, 0
    for number, char in enumerate(text):
        characters[size] = number
        size += len(char.encode())
    characters[size] = len(text)
    return [(characters[start], characters[end]) for start, end in _core._testing.regex_find_all(pattern, text)]


def hostile_texts() -> Iterator[str]:
    yield from ("", "\n", "\0", "''ſ'S", "   \n\n  x \r\n", "\u0301\u0301a\u0301", "½¾² ⅷ 一二三 ٣٤")
    yield "Don't we'LL they'Re 12345 x=1; // ok…\t\tif (a[0]) { }\r\n\r\n  日本語。テキスト、 ǅ ʰ ª İi̇ \u3000\xa0\u2028"
    rng = random.Random(3)
    pools = [
        "ab 1\n",
        "'sStTrReEvVmMlLdDſK ",
        " \t\r\n\x0b\x85\xa0",
        "aAǅʰªß\u0301\u0903日ア한1²Ⅷ!$+_-\u200d\U0001d7ce😀\ue000\u0378",
    ]
    for _ in range(60):
        pool = rng.choice(pools)
        yield "".join(rng.choice(pool) for _ in range(rng.randrange(1, 40)))
    for _ in range(20):
        yield "".join(chr(c) for c in (rng.randrange(0x110000) for _ in range(40)) if not 0xD800 <= c < 0xE000)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_patterns(name: str) -> None:
    pattern = PUBLISHED[name]
    reference = Reference(pattern)
    for text in hostile_texts():
        reference.check(pattern, text.replace(MARK, "."))


@pytest.mark.parametrize(("pattern", "texts"), CASES, ids=[pattern for pattern, _ in CASES])
def test_each_construct(pattern: str, texts: list[str]) -> None:
    reference = Reference(pattern)
    for text in texts:
        reference.check(pattern, text)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Ll", "M", "P", "Han", "Alphabetic", "Emoji", "word"])
def test_properties_over_every_character(name: str) -> None:
    text = "".join(chr(c) for c in range(0x32000) if not 0xD800 <= c < 0xE000)
    split = Split(Regex(rf"\p{{{name}}}+"), behavior="removed", invert=True)
    assert matches(rf"\p{{{name}}}+", text) == [place for _, place in split.pre_tokenize_str(text)]


@pytest.mark.parametrize("pattern", [*REFUSED, *FOREIGN], ids=range(len(REFUSED) + len(FOREIGN)))
def test_what_is_refused(pattern: str) -> None:
    """A pattern in REFUSED is refused by Oniguruma, too. Others are refused by the engine alone, as unsupported."""
    if pattern in REFUSED:
        with pytest.raises(Exception, match=r"."):
            Regex(pattern)
    with pytest.raises(ValueError, match="not supported" if pattern in FOREIGN else "regular expression"):
        _core._testing.regex_find_all(pattern, "a")


@pytest.mark.parametrize("what", LIMITS)
def test_how_large_a_pattern_may_be(what: str) -> None:
    """A pattern at a limit of the engine runs natively and matches right; a larger one is refused. The reference takes
    both."""
    most, of_size = LIMITS[what]
    text = "ba" * 2 + "a" * 3
    reference = Reference(of_size(most))
    reference.check(of_size(most), text)
    Regex(of_size(most + 1))
    with pytest.raises(UnsupportedError, match="not supported"):
        _core._testing.regex_find_all(of_size(most + 1), text)


_ATOMS = r"a b ab c \n 1 é \w \s \d . [ab] [^a] [^\s\w] \p{L} [a-c&&[^b]]"
ATOMS = [*_ATOMS.split(), " "]
_FOLDED_ATOMS = r"s ss ß ſ S f ff ﬀ ﬃ fi k \u212a ς Σ [s] [ßa] [^s] \p{Lu}".replace(r"\u212a", "\u212a")
FOLDED_ATOMS = _FOLDED_ATOMS.split()
_REPEATS = "* + ? *? +? ?? *+ ++ ?+ {2} {1,2} {,2} {2,} {1,3}? {2}? {1,2}+"
REPEATS = _REPEATS.split()


def patterns() -> st.SearchStrategy[str]:
    """A strategy for random patterns with every construct. The reference accepts most of them."""
    plain = st.sampled_from(ATOMS)
    folded = st.lists(st.sampled_from(FOLDED_ATOMS), min_size=1, max_size=3).map(lambda parts: f"(?i:{''.join(parts)})")
    anchors = st.sampled_from([r"\b", r"\B", "^", "$", r"\A", r"\z", r"\Z", r"\G"])
    leaves = st.one_of(plain, plain, folded, anchors)

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        kinds = st.sampled_from(["(?:{})", "({})", "(?>{})", "(?={})", "(?!{})", "(?<={})", "(?<!{})", "(?i:{})"])
        return st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map("|".join).map("(?:{})".format),
            st.tuples(inner, st.sampled_from(REPEATS)).map(lambda x: f"(?:{x[0]}){x[1]}"),
            st.tuples(kinds, inner).map(lambda x: x[0].format(x[1])),
        )

    return st.recursive(leaves, larger, max_leaves=8)


@given(patterns(), st.lists(st.text(st.sampled_from("abc 1\néßsSſfiﬀΣςkK'"), max_size=14), max_size=5))
def test_random_patterns(pattern: str, texts: list[str]) -> None:
    try:
        reference = Reference(pattern)
    except Exception:  # the library raises plain Exception
        with pytest.raises(ValueError, match="regular expression"):
            _core._testing.regex_find_all(pattern, "")
        return
    try:
        _core._testing.regex_find_all(pattern, "")
    except UnsupportedError as error:
        known = "look-behind that may be empty or not", "look-behind of varying or no length in look-behind"
        if not any(reason in str(error) for reason in known):
            raise
        return
    for text in texts:
        reference.check(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?:a|b)*c", "ab" * 10_000),
        (r"(?:a*)*b", "a" * 10_000),
        (r"(?:(?:a+)+)+b", "a" * 40),
        (r"\s+$", " " * 10_000 + "x"),
        (r"(?:a?){80}a{80}", "a" * 80),
        (r"(?:(?:(?:a{50}){50}){50}){50}", "a" * 1000),
        (r"(?<=a+)b", "a" * 10_000 + "c"),
        (r"(?:(?:a|b)|(?:c|d)){0,100000}e", "abcd" * 1000),
    ],
)
def test_hostile_patterns_end(pattern: str, text: str) -> None:
    """A search with a hostile pattern ends soon, with matches or with an error."""
    with contextlib.suppress(ValueError):
        assert _core._testing.regex_find_all(pattern, text) is not None
