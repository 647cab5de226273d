"""Texts that no profile is trained on: the packages and files that they come from, their formats, and their sizes.

No package here may be a source of training text. The English texts, the code and most other languages also come from
other kinds of projects than the training text: novels, an encyclopedia, game stories, newspapers.
"""

from __future__ import annotations

from dataclasses import dataclass

MB = 1_000_000

# Letters that identify a translated line, for scripts that English text does not use.
SCRIPTS = {
    "ar": "\u0600-\u06ff", "bn": "\u0980-\u09ff", "el": "\u0370-\u03ff\u1f00-\u1fff", "fa": "\u0600-\u06ff",
    "ja": "\u3040-\u30ff\u3400-\u9fff", "ko": "\uac00-\ud7a3", "ru": "\u0400-\u04ff", "uk": "\u0400-\u04ff",
    "zh-CN": "\u3400-\u9fff",
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """Files of one package that are read the same way."""

    package: str
    form: str  # a key of clean.READERS or of evaluation_readers.READERS
    paths: tuple[str, ...]  # shell patterns; "ARCHIVE!MEMBER" looks into a zip file
    english: tuple[str, ...] = ()  # the files with the same text in English: a line that is in both is untranslated


@dataclass(frozen=True)
class Text:
    """One evaluation text: its parts in equal shares as far as possible, `size` bytes at most."""

    name: str
    group: str  # "English prose", "code" or "other languages"
    parts: tuple[Part, ...]
    script: str = ""  # a regex class: a line without one such letter is not of this language
    size: int = int(1.5 * MB)


def _plain(package: str, *paths: str, form: str = "code") -> Part:
    return Part(package, form, paths)


# Stories in the translators' own words: every campaign of a game, and its help.
CAMPAIGNS = ("data", "did", "dm", "dw", "ei", "httt", "l", "low", "nr", "sof", "sota", "sotbe", "thot", "trow", "tsg",
             "ttb", "utbs")  # fmt: skip


def _language(name: str, code: str, *also: str) -> Text:
    """Return the text of a language, by its code in Debian's handbook. `also` adds "news" of dasher-data, "sky" of
    stellarium, "stories" of a game."""
    parts: list[Part] = []
    for kind in also:
        if kind == "stories":
            locale = code.replace("-", "_")
            pattern = f"*/locale/{locale}/LC_MESSAGES/*.mo"
            parts += [Part(f"wesnoth-1.16-{c}", "mo", (pattern,)) for c in CAMPAIGNS]
        elif kind == "sky":
            locale = code.replace("-", "_")
            parts.append(Part("stellarium-data", "html", (f"*description.{locale}.utf8",), ("*description.en.utf8",)))
        elif kind == "handbook":
            folder = code if "-" in code else f"{code}-*"
            parts.append(Part("debian-handbook", "html", (f"*/html/{folder}/*.html",), ("*/html/en-US/*.html",)))
        else:
            parts.append(Part("dasher-data", "text", (f"*/training_{kind}.txt",)))
    return Text(name, "other languages", tuple(parts), SCRIPTS.get(code, ""))


TEXTS = [
    Text("novels", "English prose", (Part("r-cran-janeaustenr", "r-data", ("*/data/Rdata.rdb",)),)),
    Text("encyclopedia", "English prose", (Part("gensim", "wiki", ("*/test_data/enwiki-latest-pages*.bz2",)),)),
    Text(
        "manuals",
        "English prose",
        (
            Part("kicad-doc-en", "html", ("*/help/en/*.html",)),
            Part("debian-handbook", "html", ("*/html/en-US/*.html",)),
        ),
    ),
    Text("Python", "code", (_plain("mercurial-common", "*.py"), _plain("python3-nltk", "*.py"))),
    Text("C++", "code", (_plain("libdlib-dev", "*.h"),)),
    Text("JavaScript", "code", (_plain("webpack", "*/lib/*.js"),)),
    Text("Java", "code", (_plain("openjfx-source", "*/src.zip!*.java"),)),
    Text("Go", "code", (_plain("golang-github-docker-docker-dev", "*.go"),)),
    _language("Arabic", "ar", "stories", "sky", "handbook"),
    _language("Bengali", "bn", "sky"),
    _language("Chinese", "zh-CN", "stories", "sky", "handbook"),
    _language("Czech", "cs", "czech_CS", "stories"),
    _language("Dutch", "nl", "dutch_NL", "stories", "sky"),
    _language("Finnish", "fi", "finnish_FI", "stories"),
    _language("French", "fr", "french_FR", "stories", "handbook"),
    _language("German", "de", "german_DE", "stories", "handbook"),
    _language("Greek", "el", "greek_GR", "stories", "handbook"),
    _language("Hungarian", "hu", "hungarian_HU", "stories"),
    _language("Indonesian", "id", "stories", "handbook"),
    _language("Italian", "it", "italian_IT", "stories", "handbook"),
    _language("Japanese", "ja", "stories", "sky", "handbook"),
    _language("Korean", "ko", "stories", "handbook"),
    _language("Persian", "fa", "persian_IR"),
    _language("Polish", "pl", "polish_PL", "stories"),
    _language("Portuguese", "pt-BR", "portuguese_BR", "stories", "handbook"),
    _language("Russian", "ru", "stories", "sky", "handbook"),
    _language("Spanish", "es", "spanish_ES", "stories", "sky"),
    _language("Swedish", "sv", "swedish_SE", "stories"),
    _language("Turkish", "tr", "turkish_TR", "stories", "handbook"),
    _language("Ukrainian", "uk", "stories", "sky"),
    _language("Vietnamese", "vi", "stories", "handbook"),
]

DEBIAN = {
    "dasher-data": "5.0.0~beta~repack2-4",
    "debian-handbook": "11.20220922",
    "golang-github-docker-docker-dev": "20.10.24+dfsg1-1+deb12u1",
    "kicad-doc-en": "6.0.11+dfsg-1",
    "libdlib-dev": "19.24+dfsg-1",
    "mercurial-common": "6.3.2-1+deb12u1",
    "openjfx-source": "11.0.11+1-3",
    "python3-nltk": "3.8-1",
    "r-cran-janeaustenr": "1.0.0-1",
    "stellarium-data": "0.22.2-1",
    "webpack": "5.75.0+dfsg+~cs17.16.14-1+deb12u1",
    **{f"wesnoth-1.16-{campaign}": "1:1.16.9-1" for campaign in CAMPAIGNS},
}

# Wheels of the Python registry for CPython 3.11 on Linux, x86-64: version and SHA-256.
WHEELS = {
    "gensim": ("4.3.3", "d662bf96e3d741b6ab61a54be842a7cbf5e45193008b2f4225c758cafd7f9cdc"),
}
