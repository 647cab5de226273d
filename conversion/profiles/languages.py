"""Text in other languages than English: documents, as far as they exist, and messages of programs and games."""

from __future__ import annotations

from typing import NamedTuple

from conversion.profiles.sources import MB, Source


class Language(NamedTuple):
    """A language: its name, its weight, the letters that identify a translated line, and its codes."""

    name: str
    weight: float
    script: str
    codes: tuple[str, ...]


CYRILLIC = "\u0400-\u04ff"
ARABIC = "\u0600-\u06ff"
DEVANAGARI = "\u0900-\u097f"
HAN = "\u3400-\u9fff"
TABLE = [
    Language("Japanese", 1.6, "\u3040-\u30ff" + HAN, ("ja", "ja_JP")),
    Language("Chinese", 1, HAN, ("zh_CN", "zh_Hans", "zh_TW", "zh_HK", "zh_Hant", "zh")),
    Language("Korean", 1.6, "\uac00-\ud7a3", ("ko", "ko_KR")),
    Language("Russian", 1.4, CYRILLIC, ("ru", "ru_RU")),
    Language("German", 1.2, "", ("de", "de_DE")),
    Language("French", 1.2, "", ("fr", "fr_FR")),
    Language("Spanish", 1.2, "", ("es", "es_ES")),
    Language("Portuguese", 0.7, "", ("pt_BR", "pt", "pt_PT")),
    Language("Italian", 1.2, "", ("it", "it_IT")),
    Language("Hindi", 2, DEVANAGARI, ("hi", "hi_IN")),
    Language("Arabic", 1.6, ARABIC, ("ar",)),
    Language("Greek", 1.4, "\u0370-\u03ff\u1f00-\u1fff", ("el", "el_GR")),
    Language("Polish", 1.2, "", ("pl", "pl_PL")),
    Language("Dutch", 1.2, "", ("nl", "nl_NL")),
    Language("Turkish", 1.3, "", ("tr", "tr_TR")),
    Language("Czech", 1.1, "", ("cs", "cs_CZ")),
    Language("Swedish", 1.1, "", ("sv", "sv_SE")),
    Language("Vietnamese", 1.5, "", ("vi",)),
    Language("Hungarian", 1.1, "", ("hu", "hu_HU")),
    Language("Ukrainian", 1.1, CYRILLIC, ("uk", "uk_UA")),
    Language("Danish", 1, "", ("da", "da_DK")),
    Language("Finnish", 1.1, "", ("fi", "fi_FI")),
    Language("Norwegian", 0.7, "", ("nb", "nb_NO", "nn", "no")),
    Language("Romanian", 1.1, "", ("ro", "ro_RO")),
    Language("Indonesian", 1.3, "", ("id", "id_ID")),
    Language("Malay", 1, "", ("ms", "ms_MY")),
    Language("Catalan", 0.9, "", ("ca",)),
    Language("Galician", 0.7, "", ("gl", "gl_ES")),
    Language("Basque", 0.7, "", ("eu",)),
    Language("Hebrew", 1.3, "\u0590-\u05ff", ("he", "he_IL", "iw")),
    Language("Persian", 1.3, ARABIC, ("fa", "fa_IR")),
    Language("Urdu", 1, ARABIC, ("ur",)),
    Language("Thai", 1.5, "\u0e00-\u0e7f", ("th", "th_TH")),
    Language("Bengali", 1.3, "\u0980-\u09ff", ("bn", "bn_BD", "bn_IN")),
    Language("Tamil", 1.2, "\u0b80-\u0bff", ("ta", "ta_IN")),
    Language("Telugu", 1.1, "\u0c00-\u0c7f", ("te",)),
    Language("Kannada", 1, "\u0c80-\u0cff", ("kn",)),
    Language("Malayalam", 1, "\u0d00-\u0d7f", ("ml",)),
    Language("Gujarati", 1, "\u0a80-\u0aff", ("gu",)),
    Language("Punjabi", 1, "\u0a00-\u0a7f", ("pa", "pa_IN")),
    Language("Marathi", 1, DEVANAGARI, ("mr",)),
    Language("Nepali", 1, DEVANAGARI, ("ne",)),
    Language("Sinhala", 0.8, "\u0d80-\u0dff", ("si",)),
    Language("Burmese", 0.8, "\u1000-\u109f", ("my",)),
    Language("Khmer", 0.8, "\u1780-\u17ff", ("km",)),
    Language("Bulgarian", 1.1, CYRILLIC, ("bg", "bg_BG")),
    Language("Serbian", 0.8, "", ("sr", "sr@latin")),
    Language("Croatian", 1, "", ("hr", "hr_HR")),
    Language("Bosnian", 0.5, "", ("bs",)),
    Language("Slovak", 1, "", ("sk", "sk_SK")),
    Language("Slovenian", 1, "", ("sl", "sl_SI")),
    Language("Macedonian", 0.8, CYRILLIC, ("mk",)),
    Language("Belarusian", 0.8, CYRILLIC, ("be",)),
    Language("Kazakh", 0.8, CYRILLIC, ("kk",)),
    Language("Mongolian", 0.6, CYRILLIC, ("mn",)),
    Language("Lithuanian", 1, "", ("lt", "lt_LT")),
    Language("Latvian", 1, "", ("lv",)),
    Language("Estonian", 1, "", ("et",)),
    Language("Georgian", 1, "\u10a0-\u10ff", ("ka",)),
    Language("Armenian", 0.9, "\u0530-\u058f", ("hy",)),
    Language("Azerbaijani", 0.6, "", ("az",)),
    Language("Uzbek", 0.6, "", ("uz", "uz@Latn")),
    Language("Icelandic", 0.8, "", ("is",)),
    Language("Irish", 0.7, "", ("ga",)),
    Language("Welsh", 0.7, "", ("cy",)),
    Language("Albanian", 0.8, "", ("sq",)),
    Language("Afrikaans", 0.6, "", ("af",)),
    Language("Swahili", 0.8, "", ("sw",)),
    Language("Filipino", 0.7, "", ("tl", "fil")),
    Language("Amharic", 0.6, "\u1200-\u137f", ("am",)),
    Language("Esperanto", 0.7, "", ("eo",)),
    Language("Latin", 0.5, "", ("la",)),
]
BY_CODE = {code: language for language in TABLE for code in language.codes}
BY_CODE.update({code.lower().replace("_", "-"): language for code, language in list(BY_CODE.items())})
BY_CODE.update({"hi-in": BY_CODE["hi"], "ga-ie": BY_CODE["ga"], "hy-am": BY_CODE["hy"], "ne-np": BY_CODE["ne"],
                "gu-in": BY_CODE["gu"], "pa-in": BY_CODE["pa"], "es-es": BY_CODE["es"],
                "nb-no": BY_CODE["nb"]})  # fmt: skip


def one(package: str, code: str, form: str, cap: float, *paths: str) -> Source:
    """Return a package with text in one language as a source. `cap` is in megabytes."""
    language = BY_CODE[code]
    return Source(package, "language", language.name, form, int(cap * MB), paths, language.script)


def each(package: str, form: str, cap: float, *paths: str, hyphens: bool = False) -> list[Source]:
    """Return a package with text in many languages as a source for each. The language's code replaces {} in the
    paths."""
    found = []
    for language in TABLE:
        codes = [c.replace("_", "-") for c in language.codes] if hyphens else list(language.codes)
        codes += [c.lower() for c in codes if hyphens and c.lower() != c]
        patterns = tuple(path.format(code) for path in paths for code in codes)
        size = int(cap * language.weight * MB)
        found.append(Source(package, "language", language.name, form, size, patterns, language.script))
    return found


def _named(prefix: str, codes: str, form: str, cap: float, *paths: str) -> list[Source]:
    """Return the packages whose names are `prefix` and a language's code, each as a source in this language."""
    return [one(prefix + code, code, form, cap, *paths) for code in codes.split()]


DOCUMENTS = [
    *_named("manpages-", "de fr ja ru pl es it nl pt-br uk ro cs sv tr da fi el hu id vi", "roff", 2.5,
            "usr/share/man/*/man[1-8]/*.gz"),
    one("manpages-zh", "zh", "roff", 3, "usr/share/man/zh*/man[1-8]/*.gz"),
    *[one(f"manpages-{c}-dev", c, "roff", 1.5, "usr/share/man/*/man[1-8]/*.gz") for c in ("de", "fr", "ja", "ru")],
    *_named("libreoffice-help-", "ca cs da es et eu fi gl hu id it nl pl pt pt-br sk sl sv tr vi km", "html", 2.6,
            "*/help/*/text/*.html"),
    *_named("gimp-help-", "de es fr it ja ko ru zh-cn", "html", 1.6,
            "usr/share/gimp/*/help/*/*.html"),
    *_named("aptitude-doc-", "cs es fi fr it ja nl ru", "html", 0.7, "*.html"),
    *_named("debian-reference-", "ja zh-cn zh-tw de fr es it pt", "html", 0.8, "*/ch*.html"),
    *_named("debian-faq-", "de fr it ja ko nl pt ru zh-cn", "html", 0.4, "*.html"),
    *_named("developers-reference-", "de fr it ja ru", "html", 0.8, "*.html"),
    *_named("maint-guide-", "ca de es fr it ja ru zh-cn", "html", 0.5, "*.html"),
    *_named("debian-edu-doc-", "ja de fr nl es it nb-no da", "html", 0.5, "*.html"),
    one("debian-policy-ja", "ja", "html", 1, "*.html"),
    one("sword-text-sparv", "es", "sword", 4, "*/ztext/*z"),
    one("stardict-xmlittre", "fr", "dict", 5, "*.dict.dz"),
    *[one(f"fortunes-{c}", c, "fortune", 1.5, "usr/share/games/fortunes/*") for c in ("bg", "cs", "de", "eo", "es",
      "ga", "it", "pl", "ru", "zh")],
    one("fortunes-br", "pt", "fortune", 1, "usr/share/games/fortunes/*"),
    one("fortunes-it-off", "it", "fortune", 1, "usr/share/games/fortunes/*"),
    one("fortunes-es-off", "es", "fortune", 1, "usr/share/games/fortunes/*"),
    one("dict-freedict-eng-hin", "hi", "dict", 1.5, "*.dict.dz"),
    one("dict-freedict-ell-eng", "el", "dict", 0.3, "*.dict.dz"),
    *each("installation-guide-amd64", "html", 0.4, "*/{}/*.html"),
    *each("gnome-user-docs", "xml", 0.9, "usr/share/help/{}/*.page"),
    *each("gnome-devel-docs", "xml", 0.5, "usr/share/help/{}/*.page", "usr/share/help/{}/*.docbook"),
    *each("mate-user-guide", "xml", 0.4, "usr/share/help/{}/*"),
    *each("aisleriot", "xml", 0.3, "usr/share/help/{}/*"),
    *each("evince-common", "xml", 0.2, "usr/share/help/{}/*"),
    *each("gedit-common", "xml", 0.2, "usr/share/help/{}/*"),
    *each("mplayer-doc", "html", 0.7, "*/HTML/{}/*.html"),
    *each("omegat", "html", 0.6, "*/html/{}/*.html"),
    *each("groonga-doc", "html", 1.5, "*/{}/html/*.html"),
    *each("eyes17", "html", 0.6, "*/helpFiles/{}/*.html"),
    *each("tuxpaint-data", "html", 0.4, "*/{}.UTF-8/html/*.html"),
    *each("live-manual-html", "html", 0.3, "*/live-manual/*.{}.html"),
    *each("apache2-doc", "html", 0.8, "*/manual/{}/*.html"),
    *[one("harden-doc", code, "html", 0.6, f"*/html/{folder}/*.html") for code, folder in (("es", "es-ES"),
      ("it", "it-IT"), ("pt", "pt-BR"), ("ja", "ja-JP"))],
    *each("klavaro", "text", 0.1, "usr/share/klavaro/{}*.paragraphs"),
]  # fmt: skip

MESSAGES = [
    *_named("libreoffice-l10n-", "ar bg bn fa he hr lt lv ro sr th uk ta te ml mr kn gu pa-in ka kk nb is cy ga be mk "
            "ne si eo uz mn am km", "mo", 2.6, "*.mo"),
    *_named("firefox-esr-l10n-", "ja zh-cn zh-tw ko hi-in ar he fa th el bn ta te mr gu-in kn pa-in ka hy-am kk my km "
            "ne-np si ur be mk sq is cy ga-ie lt lv et eu hr sr bg ro nb-no ms tl uz az uk", "keyed", 0.6,
            "*.xpi!*.ftl", "*.xpi!*.properties"),
    *each("mediawiki", "json", 1.3, "*/i18n/{}.json", "*/i18n/*/{}.json", hyphens=True),
    *each("cataclysm-dda-data", "mo", 2.5, "*/{}/LC_MESSAGES/*.mo"),
    *each("wordpress-l10n", "mo", 0.7, "*/languages/{}.mo", "*/languages/*-{}.mo"),
    *each("chromium-l10n", "pak", 0.4, "*/locales/{}.pak", hyphens=True),
    *each("gnucash-common", "mo", 0.3, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("gimp-data", "mo", 0.3, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("evolution-common", "mo", 0.3, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("digikam-data", "mo", 0.3, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("plasma-workspace-data", "mo", 0.2, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("plasma-desktop-data", "mo", 0.2, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("kdevelop-l10n", "mo", 0.2, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("kate5-data", "mo", 0.2, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("calligra-data", "mo", 0.2, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("krita-l10n", "mo", 0.3, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("kmymoney-common", "mo", 0.2, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("gramps", "mo", 0.3, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("vlc-l10n", "mo", 0.3, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("audacity-data", "mo", 0.3, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("freeciv-data", "mo", 0.4, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("phpmyadmin", "mo", 0.3, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("zabbix-frontend-php", "mo", 0.3, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("blender-data", "mo", 0.6, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("python3-django", "mo", 0.2, "*/locale/{}/LC_MESSAGES/*.mo"),
    *each("kodi-data", "po", 0.3, "*resource.language.{}/*.po", "*resource.language.{}_*/*.po"),
    *each("dokuwiki", "text", 0.3, "*/lang/{}/*.txt", hyphens=True),
    *each("dokuwiki", "strings", 0.2, "*/lang/{}/lang.php", hyphens=True),
    *each("redmine", "keyed", 0.2, "*/locales/{}.yml", hyphens=True),
    *each("freeorion-data", "keyed", 0.8, "*/stringtables/{}.txt"),
    *each("calibre", "mo", 0.6, "*.zip!{}/*.mo", "*.zip!{}.mo"),
    *each("ruby-faker", "keyed", 0.1, "*/locales/{}.yml", hyphens=True),
    *[one("openttd-data", code, "keyed", 0.15, f"*/lang/{name}.lng") for code, name in (
        ("ja", "japanese"), ("zh", "simplified_chinese"), ("ko", "korean"), ("ru", "russian"), ("de", "german"),
        ("fr", "french"), ("es", "spanish"), ("pt", "brazilian_portuguese"), ("it", "italian"), ("el", "greek"),
        ("pl", "polish"), ("nl", "dutch"), ("tr", "turkish"), ("cs", "czech"), ("sv", "swedish"), ("vi", "vietnamese"),
        ("hu", "hungarian"), ("uk", "ukrainian"), ("da", "danish"), ("fi", "finnish"), ("nb", "norwegian_bokmal"),
        ("ro", "romanian"), ("id", "indonesian"), ("ca", "catalan"), ("he", "hebrew"), ("th", "thai"),
        ("bg", "bulgarian"), ("hr", "croatian"), ("sk", "slovak"), ("sl", "slovenian"), ("lt", "lithuanian"),
        ("lv", "latvian"), ("et", "estonian"), ("is", "icelandic"), ("ga", "irish"), ("cy", "welsh"))],
]  # fmt: skip

LANGUAGES = DOCUMENTS + MESSAGES
