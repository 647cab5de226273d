"""What the `lite` profile is trained on: which files of which Debian packages, how they are read, and how much of each.

Left out on purpose, because benchmark texts come from them: the kernel's and Debian's handbooks, the dictionary of
1913, the Rust toolchain's sources, CUDA and OpenSSL headers, NumPy, and office help in any language.
"""

from __future__ import annotations

from dataclasses import dataclass

MB = 1_000_000
KB = 1_000

# The caps below say how sources weigh against others of their kind; these bring the three kinds to 42, 31 and 26 MB.
SCALE = {"prose": 0.87, "code": 0.68, "language": 0.78}


@dataclass(frozen=True)
class Source:
    """Files of one package that are read the same way and share one cap."""

    package: str
    kind: str  # "prose" (English), "code" or "language" (any other human language)
    group: str  # the language, human or programming
    form: str  # how to read a file: a key of clean.READERS
    cap: int  # bytes of cleaned text at most
    paths: tuple[str, ...]  # shell patterns; "ARCHIVE!MEMBER" looks into a tar or zip file
    script: str = ""  # a regex class: long lines without one such letter are untranslated, and dropped
    encoding: str = "utf-8"


def prose(package: str, form: str, cap: float, *paths: str, encoding: str = "utf-8") -> Source:
    return Source(package, "prose", "English", form, int(cap * MB * SCALE["prose"]), paths, "", encoding)


def code(package: str, group: str, cap: float, *paths: str) -> Source:
    return Source(package, "code", group, "code", int(cap * MB * SCALE["code"]), paths)


PROSE = [
    prose("anarchism", "text", 4, "*/markdown/*.md.gz"),
    prose("dict-foldoc", "dict", 2.4, "*.dict.dz"),
    prose("dict-jargon", "dict", 1.2, "*.dict.dz"),
    prose("dict-devil", "dict", 0.4, "*.dict.dz"),
    prose("dict-wn", "dict", 3, "*.dict.dz"),
    prose("fortunes", "fortune", 2.2, "usr/share/games/fortunes/[a-z]*"),
    prose("debian-policy", "html", 1, "*/policy.html/*.html"),
    prose("developers-reference", "html", 0.6, "*/developers-reference/*.html"),
    prose("debmake-doc", "html", 0.5, "*/html/ch*.en.html"),
    prose("debian-faq", "html", 0.3, "*/FAQ/*.en.html"),
    prose("harden-doc", "html", 1, "*/html/en-US/*.html"),
    prose("aptitude-doc-en", "html", 0.5, "*/html/en/*.html"),
    prose("python3.11-doc", "text", 3.5, "*/html/_sources/*.rst.txt"),
    prose("postgresql-doc-15", "html", 3, "*/html/*.html"),
    prose("git-doc", "text", 2, "*/git-doc/*.txt"),
    prose("perl-doc", "pod", 3, "*/pod/perl[a-z]*.pod"),
    prose("gnome-user-docs", "xml", 0.9, "usr/share/help/C/*.page"),
    prose("r-doc-html", "html", 1.5, "*.html"),
    prose("maxima-doc", "html", 1, "*/html/maxima_[0-9]*.html"),
    prose("sqlite3-doc", "html", 3, "*.html"),
    prose("apache2-doc", "html", 2, "*/manual/en/*.html"),
    prose("exim4-doc-html", "html", 1.5, "*.html"),
    prose("manpages", "roff", 1.2, "usr/share/man/man[1-8]/*.gz"),
    prose("manpages-dev", "roff", 1.6, "usr/share/man/man[1-8]/*.gz"),
    prose("installation-guide-amd64", "html", 0.5, "*/en/*.html"),
    prose("debian-history", "html", 0.3, "*/docs/*.en.html"),
    prose("debian-edu-doc-en", "html", 0.3, "*bookworm*.html"),
    prose("c++-annotations-html", "html", 1.6, "*/html/cplusplus*.html"),
    prose("live-manual-html", "html", 0.3, "*/live-manual/*.en.html"),
    prose("python-django-doc", "html", 2.2, "*/html/*.html"),
    prose("python-sqlalchemy-doc", "text", 1.2, "*.rst", "*.rst.txt"),
    prose("gnu-standards", "html", 0.5, "*/standards.html", "*/maintain.html"),
    prose("crawl-common", "text", 0.9, "*/dat/descript/[a-z]*.txt", "*/dat/database/[a-z]*.txt"),
    prose("nethack-common", "text", 0.1, "*/Guidebook.txt.gz"),
    prose("vim-runtime", "text", 2.5, "usr/share/vim/vim90/doc/*.txt"),
    prose("cmake-data", "text", 1, "*/Help/*.rst"),
    prose("haskell98-report", "html", 0.5, "*.html"),
]

CODE = [
    code("python3-django", "Python", 1.2, "*.py"),
    code("python3-sympy", "Python", 0.9, "*.py"),
    code("python3-scipy", "Python", 1, "*.py"),
    code("python3-matplotlib", "Python", 1, "*.py"),
    code("python3-twisted", "Python", 1, "*.py"),
    code("python3-sqlalchemy", "Python", 0.8, "*.py"),
    code("python3-pandas", "Python", 1.2, "*.py"),
    code("ansible-core", "Python", 0.8, "*.py"),
    code("glibc-source", "C and C++", 2, "*.tar.xz!*.c"),
    code(
        "binutils-source",
        "C and C++",
        2.2,
        "*.tar.xz!*/bfd/*.[ch]",
        "*.tar.xz!*/gold/*.cc",
        "*.tar.xz!*/g*prof*/*.[ch]*",
    ),
    code("libboost1.74-dev", "C and C++", 1.2, "*.hpp", "*.ipp"),
    code("libeigen3-dev", "C and C++", 0.6, "*.h"),
    code("libgtk-3-dev", "C and C++", 0.5, "*.h"),
    code("libglib2.0-dev", "C and C++", 0.5, "*.h"),
    code("libcgal-dev", "C and C++", 0.6, "*.h"),
    code("libabsl-dev", "C and C++", 0.8, "*.h", "*.inc"),
    code("libtorch-dev", "C and C++", 0.8, "*.h", "*.cuh"),
    code("rapidjson-dev", "C and C++", 0.2, "*.h"),
    code("libfmt-dev", "C and C++", 0.3, "*.h"),
    code("qtbase5-dev", "C and C++", 0.7, "*.h"),
    code("libpcl-dev", "C and C++", 0.6, "*.h", "*.hpp"),
    code("libgsl-dev", "C and C++", 0.3, "*.h"),
    code("node-typescript", "JavaScript", 0.7, "*/lib/lib.*.d.ts"),
    code("node-lodash", "JavaScript", 0.4, "*.js"),
    code("libjs-three", "JavaScript", 1, "*.js", "*.d.ts"),
    code("node-d3", "JavaScript", 0.3, "*.js"),
    code("node-babel7", "JavaScript", 0.7, "*.js", "*.ts"),
    code("node-undici", "JavaScript", 0.4, "*.js", "*.ts"),
    code("libjs-leaflet", "JavaScript", 0.3, "*.js"),
    code("libjs-bootstrap5", "JavaScript", 0.3, "*.js", "*.css"),
    code("node-react", "JavaScript", 0.3, "*.js"),
    code("eslint", "JavaScript", 0.9, "*.js"),
    code("npm", "JavaScript", 0.6, "*.js"),
    code(
        "openjdk-17-source",
        "Java",
        3.5,
        "*/src.zip!java.base/*.java",
        "*/src.zip!java.desktop/*.java",
        "*/src.zip!jdk.compiler/*.java",
        "*/src.zip!java.net.http/*.java",
    ),
    code("librust-tokio-dev", "Rust", 1, "*.rs"),
    code("librust-regex-dev", "Rust", 0.4, "*.rs"),
    code("librust-serde-dev", "Rust", 0.3, "*.rs"),
    code("librust-syn-dev", "Rust", 0.4, "*.rs"),
    code("librust-hyper-dev", "Rust", 0.5, "*.rs"),
    code("librust-clap-dev", "Rust", 0.5, "*.rs"),
    code("librust-image-dev", "Rust", 0.5, "*.rs"),
    code("librust-rustls-dev", "Rust", 0.5, "*.rs"),
    code("librust-chrono-dev", "Rust", 0.4, "*.rs"),
    code("librust-bindgen-dev", "Rust", 0.4, "*.rs"),
    code("librust-gtk-dev", "Rust", 0.3, "*.rs"),
    code("librust-h2-dev", "Rust", 0.4, "*.rs"),
    code("golang-1.19-src", "Go", 2.2, "*/src/*.go"),
    code("golang-golang-x-tools-dev", "Go", 0.8, "*.go"),
    code("golang-golang-x-net-dev", "Go", 0.6, "*.go"),
    code("bash-completion", "Shell", 0.8, "usr/share/bash-completion/completions/*", "*.sh"),
    code("dracut-core", "Shell", 0.5, "*.sh"),
    code("git", "Shell", 0.3, "usr/lib/git-core/git-*[a-z]", "*.sample"),
    code("perl-modules-5.36", "Perl", 1.2, "*.pm"),
    code("ruby-activesupport", "Ruby", 0.5, "*.rb"),
    code("ruby-activerecord", "Ruby", 0.7, "*.rb"),
    code("wordpress", "PHP, CSS, JavaScript", 1.8, "*.php", "*/css/*.css", "*/js/dist/*.js"),
    code("emacs-el", "Lisp", 1, "*.el.gz"),
    code("erlang-src", "Erlang", 0.5, "*.erl"),
    code("fpc-source-3.2.2", "Pascal", 0.5, "*/packages/*.pas", "*/rtl/*.pp"),
    code("texlive-latex-base", "TeX", 0.5, "*/tex/latex/*.sty", "*/tex/latex/*.ltx"),
    code("cmake-data", "CMake", 0.5, "*.cmake"),
    code("vim-runtime", "Vim script", 0.5, "*.vim"),
]

# Letters by which a translated line is known, for scripts that English text does not use.
SCRIPTS = {
    "ja": "\u3040-\u30ff\u3400-\u9fff", "zh_CN": "\u3400-\u9fff", "zh_TW": "\u3400-\u9fff", "ko": "\uac00-\ud7a3",
    "ru": "\u0400-\u04ff", "uk": "\u0400-\u04ff", "bg": "\u0400-\u04ff", "sr": "\u0400-\u04ff",
    "el": "\u0370-\u03ff\u1f00-\u1fff", "hi": "\u0900-\u097f", "mr": "\u0900-\u097f", "bn": "\u0980-\u09ff",
    "ta": "\u0b80-\u0bff", "te": "\u0c00-\u0c7f", "th": "\u0e00-\u0e7f", "he": "\u0590-\u05ff",
    "ar": "\u0600-\u06ff", "fa": "\u0600-\u06ff", "ka": "\u10a0-\u10ff",
}  # fmt: skip

NAMES = {
    "ja": "Japanese", "zh_CN": "Chinese", "zh_TW": "Chinese", "ko": "Korean", "ru": "Russian", "de": "German",
    "fr": "French", "hi": "Hindi", "el": "Greek", "es": "Spanish", "it": "Italian",
    "pt": "Portuguese", "pt_BR": "Portuguese",
    "pl": "Polish", "nl": "Dutch", "tr": "Turkish", "cs": "Czech", "sv": "Swedish", "vi": "Vietnamese",
    "hu": "Hungarian", "uk": "Ukrainian", "da": "Danish", "fi": "Finnish", "ro": "Romanian", "id": "Indonesian",
    "ca": "Catalan", "ar": "Arabic", "he": "Hebrew", "fa": "Persian", "th": "Thai", "bn": "Bengali", "ta": "Tamil",
    "te": "Telugu", "mr": "Marathi", "bg": "Bulgarian", "sr": "Serbian", "ka": "Georgian",
}  # fmt: skip


def language(package: str, lang: str, form: str, cap: int, *paths: str) -> Source:
    scaled = int(cap * KB * SCALE["language"])
    return Source(package, "language", NAMES[lang], form, scaled, paths, SCRIPTS.get(lang, ""))


def _man(lang: str, cap: int, *packages: str) -> list[Source]:
    return [language(p, lang, "roff", cap, "usr/share/man/*/man[1-8]/*.gz") for p in packages]


LANGUAGES = [
    *_man("ja", 600, "manpages-ja", "manpages-ja-dev"),
    *_man("zh_CN", 900, "manpages-zh"),
    *_man("ru", 400, "manpages-ru", "manpages-ru-dev"),
    *_man("de", 400, "manpages-de", "manpages-de-dev"),
    *_man("fr", 400, "manpages-fr", "manpages-fr-dev"),
    *_man("el", 200, "manpages-el"),
    *_man("es", 500, "manpages-es"),
    *_man("it", 300, "manpages-it"),
    *_man("pt_BR", 300, "manpages-pt-br"),
    *_man("pl", 400, "manpages-pl"),
    *_man("nl", 200, "manpages-nl"),
    *_man("tr", 200, "manpages-tr"),
    *_man("cs", 200, "manpages-cs"),
    *_man("sv", 200, "manpages-sv"),
    *_man("vi", 200, "manpages-vi"),
    *_man("hu", 200, "manpages-hu"),
    *_man("uk", 400, "manpages-uk"),
    *_man("da", 150, "manpages-da"),
    *_man("fi", 150, "manpages-fi"),
    *_man("ro", 150, "manpages-ro"),
    *_man("id", 150, "manpages-id"),
    language("debian-reference-ja", "ja", "html", 400, "*/ch*.ja.html"),
    language("debian-reference-zh-cn", "zh_CN", "html", 400, "*/ch*.zh-cn.html"),
    language("debian-reference-de", "de", "html", 300, "*/ch*.de.html"),
    language("debian-reference-fr", "fr", "html", 300, "*/ch*.fr.html"),
    language("fortunes-zh", "zh_CN", "fortune", 800, "*/fortunes/[a-z]*"),
    language("fortunes-ru", "ru", "fortune", 600, "*/fortunes/ru/*"),
    language("fortunes-de", "de", "fortune", 500, "*/fortunes/de/*"),
    language("fortunes-es", "es", "fortune", 400, "*/fortunes/es/*"),
    language("fortunes-it", "it", "fortune", 400, "*/fortunes/*"),
    language("fortunes-pl", "pl", "fortune", 300, "*/fortunes/*"),
    language("dict-freedict-eng-hin", "hi", "dict", 500, "*.dict.dz"),
    language("dict-freedict-ell-eng", "el", "dict", 200, "*.dict.dz"),
    *[
        language("harden-doc", lang, "html", cap, f"*/html/{folder}/*.html")
        for lang, folder, cap in (
            ("es", "es-ES", 350),
            ("it", "it-IT", 350),
            ("pt_BR", "pt-BR", 300),
            ("ja", "ja-JP", 200),
        )
    ],
    *[
        language("live-manual-html", lang, "html", 150, f"*/live-manual/*.{lang}.html")
        for lang in ("es", "it", "pl", "pt_BR", "ro", "ca")
    ],
    # Packages with many languages: a share for each of them.
    *[
        language("installation-guide-amd64", lang, "html", cap, f"*/{lang}/*.html")
        for lang, cap in {"ja": 300, "zh_CN": 250, "ko": 450, "ru": 300, "de": 250, "fr": 250, "el": 400, "es": 300,
                          "it": 300, "pt": 300, "nl": 300, "sv": 150, "cs": 250, "da": 100, "ca": 150,
                          "vi": 150}.items()
    ],
    *[
        language("gnome-user-docs", lang, "xml", cap, f"usr/share/help/{lang}/*.page")
        for lang, cap in {"ja": 400, "zh_CN": 350, "ko": 600, "ru": 500, "de": 250, "fr": 250, "el": 600, "hi": 400,
                          "es": 450, "it": 400, "pt_BR": 450, "pl": 400, "sv": 250, "cs": 350, "hu": 400, "uk": 300,
                          "da": 100, "ro": 100, "fi": 100, "id": 150, "ca": 100, "fa": 150, "he": 150, "ta": 150,
                          "te": 150, "mr": 150, "tr": 400, "sr": 100}.items()
    ],
    *[
        language(package, lang, "mo", cap, f"*/locale/{lang}/LC_MESSAGES/*.mo")
        for package in ("evolution-common", "gnucash-common", "gimp-data", "digikam-data")
        for lang, cap in {"ja": 150, "zh_CN": 100, "zh_TW": 150, "ko": 250, "ru": 100, "de": 75, "fr": 75, "el": 150,
                          "hi": 400, "es": 120, "it": 120, "pt_BR": 120, "pl": 80, "nl": 100, "tr": 90, "cs": 80,
                          "uk": 60, "da": 40, "fi": 60, "ro": 40, "id": 40, "vi": 60, "ar": 80, "he": 60, "fa": 60,
                          "th": 60, "bn": 60, "ta": 60, "bg": 60, "sr": 40, "ca": 40, "ka": 40}.items()
    ],
]  # fmt: skip

SOURCES = PROSE + CODE + LANGUAGES

# The versions `lite` was trained on.
VERSIONS = {
    "anarchism": "15.3-3",
    "ansible-core": "2.14.18-0+deb12u2",
    "apache2-doc": "2.4.68-1~deb12u1",
    "aptitude-doc-en": "0.8.13-5",
    "bash-completion": "1:2.11-6",
    "binutils-source": "2.40-2",
    "c++-annotations-html": "12.2.0-2",
    "cmake-data": "3.25.1-1",
    "crawl-common": "2:0.28.0-1.1",
    "debian-edu-doc-en": "2.12.23~deb12u1",
    "debian-faq": "11.1",
    "debian-history": "2.28",
    "debian-policy": "4.6.2.0",
    "debian-reference-de": "2.100",
    "debian-reference-fr": "2.100",
    "debian-reference-ja": "2.100",
    "debian-reference-zh-cn": "2.100",
    "debmake-doc": "1.17-7",
    "developers-reference": "12.18",
    "dict-devil": "1.0-13.1",
    "dict-foldoc": "20230119-1",
    "dict-freedict-ell-eng": "2022.12.07-2",
    "dict-freedict-eng-hin": "2022.04.21-1",
    "dict-jargon": "4.4.7-3.1",
    "dict-wn": "1:3.0-37",
    "digikam-data": "4:7.9.0-1",
    "dracut-core": "059-4",
    "emacs-el": "1:28.2+1-15+deb12u4",
    "erlang-src": "1:25.2.3+dfsg-1+deb12u4",
    "eslint": "6.4.0~dfsg+~6.1.9-7",
    "evolution-common": "3.46.4-2+deb12u1",
    "exim4-doc-html": "4.96-1",
    "fortunes": "1:1.99.1-7.3",
    "fortunes-de": "0.35-1",
    "fortunes-es": "1.36",
    "fortunes-it": "1.99-4.1",
    "fortunes-pl": "0.0.20130525-3",
    "fortunes-ru": "1.52-3.1",
    "fortunes-zh": "2.98",
    "fpc-source-3.2.2": "3.2.2+dfsg-20",
    "gimp-data": "2.10.34-1+deb12u10",
    "git": "1:2.39.5-0+deb12u3",
    "git-doc": "1:2.39.5-0+deb12u3",
    "glibc-source": "2.36-9+deb12u14",
    "gnome-user-docs": "43.0-2",
    "gnu-standards": "2022.03.23-0.1",
    "gnucash-common": "1:4.13-1",
    "golang-1.19-src": "1.19.8-2",
    "golang-golang-x-net-dev": "1:0.7.0+dfsg-1",
    "golang-golang-x-tools-dev": "1:0.5.0+ds-1",
    "harden-doc": "3.19+nmu1",
    "haskell98-report": "20080907-10",
    "installation-guide-amd64": "20230508+deb12u1",
    "libabsl-dev": "20220623.1-1+deb12u2",
    "libboost1.74-dev": "1.74.0+ds1-21",
    "libcgal-dev": "5.5.1-2",
    "libeigen3-dev": "3.4.0-4",
    "libfmt-dev": "9.1.0+ds1-2",
    "libglib2.0-dev": "2.74.6-2+deb12u9",
    "libgsl-dev": "2.7.1+dfsg-5+deb12u1",
    "libgtk-3-dev": "3.24.38-2~deb12u3",
    "libjs-bootstrap5": "5.2.3+dfsg-8",
    "libjs-leaflet": "1.7.1~dfsg-7",
    "libjs-three": "111+dfsg1-3",
    "libpcl-dev": "1.13.0+dfsg-3",
    "librust-bindgen-dev": "0.60.1-2+b2",
    "librust-chrono-dev": "0.4.23-2",
    "librust-clap-dev": "4.0.32-1",
    "librust-gtk-dev": "0.14.3-1",
    "librust-h2-dev": "0.3.13-2",
    "librust-hyper-dev": "0.14.19-1",
    "librust-image-dev": "0.24.3-1",
    "librust-regex-dev": "1.7.1-1",
    "librust-rustls-dev": "0.20.8-4",
    "librust-serde-dev": "1.0.152-2",
    "librust-syn-dev": "1.0.107-1",
    "librust-tokio-dev": "1.24.2-1",
    "libtorch-dev": "1.13.1+dfsg-4",
    "live-manual-html": "2:20151217.2",
    "manpages": "6.03-2",
    "manpages-cs": "4.18.1-1",
    "manpages-da": "4.18.1-1",
    "manpages-de": "4.18.1-1",
    "manpages-de-dev": "4.18.1-1",
    "manpages-dev": "6.03-2",
    "manpages-el": "4.18.1-1",
    "manpages-es": "4.18.1-1",
    "manpages-fi": "4.18.1-1",
    "manpages-fr": "4.18.1-1",
    "manpages-fr-dev": "4.18.1-1",
    "manpages-hu": "1:4.18.1-1",
    "manpages-id": "4.18.1-1",
    "manpages-it": "4.18.1-1",
    "manpages-ja": "0.5.0.0.20221215+dfsg-1",
    "manpages-ja-dev": "0.5.0.0.20221215+dfsg-1",
    "manpages-nl": "4.18.1-1",
    "manpages-pl": "1:4.18.1-1",
    "manpages-pt-br": "4.18.1-1",
    "manpages-ro": "4.18.1-1",
    "manpages-ru": "4.18.1-1",
    "manpages-ru-dev": "4.18.1-1",
    "manpages-sv": "4.18.1-1",
    "manpages-tr": "2.0.6-2",
    "manpages-uk": "4.18.1-1",
    "manpages-vi": "4.18.1-1",
    "manpages-zh": "1.6.4.0-1",
    "maxima-doc": "5.46.0-11",
    "nethack-common": "3.6.6-3+b2",
    "node-babel7": "7.20.15+ds1+~cs214.269.168-3+deb12u2",
    "node-d3": "5.16.0-10",
    "node-lodash": "4.17.21+dfsg+~cs8.31.198.20210220-9",
    "node-react": "18.2.0+dfsg+~cs87.31.26-4",
    "node-typescript": "4.8.4+ds1-2",
    "node-undici": "5.15.0+dfsg1+~cs20.10.9.3-1+deb12u4",
    "npm": "9.2.0~ds1-1",
    "openjdk-17-source": "17.0.19+10-1~deb12u2",
    "perl-doc": "5.36.0-7+deb12u3",
    "perl-modules-5.36": "5.36.0-7+deb12u3",
    "postgresql-doc-15": "15.18-0+deb12u1",
    "python-django-doc": "3:3.2.25-0+deb12u3",
    "python-sqlalchemy-doc": "1.4.46+ds1-1",
    "python3-django": "3:3.2.25-0+deb12u3",
    "python3-matplotlib": "3.6.3-1+b1",
    "python3-pandas": "1.5.3+dfsg-2",
    "python3-scipy": "1.10.1-2",
    "python3-sqlalchemy": "1.4.46+ds1-1",
    "python3-sympy": "1.11.1-1",
    "python3-twisted": "22.4.0-4+deb12u1",
    "python3.11-doc": "3.11.2-6+deb12u8",
    "qtbase5-dev": "5.15.8+dfsg-11+deb12u3",
    "r-doc-html": "4.2.2.20221110-2",
    "rapidjson-dev": "1.1.0+dfsg2-7.1",
    "ruby-activerecord": "2:6.1.7.10+dfsg-1~deb12u2",
    "ruby-activesupport": "2:6.1.7.10+dfsg-1~deb12u2",
    "sqlite3-doc": "3.40.1-2+deb12u2",
    "texlive-latex-base": "2022.20230122-3",
    "vim-runtime": "2:9.0.1378-2+deb12u2",
    "wordpress": "6.1.9+dfsg1-0+deb12u1",
}
