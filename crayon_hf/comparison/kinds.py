"""The kind of text in a file, inferred from its name."""

from __future__ import annotations

from crayon_hf.text_readers.documents import format_of

PROSE, CODE, DATA, COLUMN, OTHER = "prose", "code", "data and markup", "texts of a column", "other"

_ENDINGS = {
    PROSE: "txt text md markdown mdx rst adoc asciidoc org tex ltx textile wiki",
    # prose: long sentence
    CODE: """\
        py pyi pyx js mjs cjs jsx ts tsx c h cc cpp cxx hh hpp hxx inc cu cuh m mm java kt kts scala groovy gradle go
        rs swift cs fs vb rb php pl pm lua r jl dart d nim zig v sv vhd vhdl hs ml mli ex exs erl hrl clj cljs lisp el
        scm rkt sql sh bash zsh fish ps1 bat cmd vim asm s f f90 f95 pas pp ada adb ads cob cmake mk proto thrift css
        scss sass less vue svelte sol wat
    """,
    # prose: long sentence
    DATA: """\
        json jsonl ndjson geojson ipynb yaml yml toml ini cfg conf properties env xml html htm xhtml svg xsd xsl csv tsv
        psv po pot lock log srt vtt bib rtf plist
    """,
}
_NAMES = {
    PROSE: "readme license licence copying authors contributors changelog changes news notice todo",
    CODE: "makefile gnumakefile dockerfile containerfile rakefile gemfile vagrantfile jenkinsfile",
}
_OF_ENDING = {ending: kind for kind, endings in _ENDINGS.items() for ending in endings.split()}
_OF_NAME = {name: kind for kind, names in _NAMES.items() for name in names.split()}


def kind_of(name: str) -> str:
    """Return the kind of text in a file, inferred from its name. A suffix such as ``.gz`` is ignored.

    >>> kind_of("a/b.py"), kind_of("notes.TXT.gz"), kind_of("Makefile"), kind_of("x")
    ('code', 'prose', 'code', 'other')
    """
    base = name.replace("\\", "/").rsplit("/", 1)[-1].lower()
    base = base[: len(base) - len(format_of(name)[1])]
    stem, _, ending = base.rpartition(".")
    return _OF_ENDING.get(ending, OTHER) if stem else _OF_NAME.get(base, OTHER)
