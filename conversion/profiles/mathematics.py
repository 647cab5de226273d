"""Mathematics as it is typed: proofs, computer algebra, and TeX."""

from __future__ import annotations

from conversion.profiles.sources import maths

MATHEMATICS = [
    maths("acl2-books-source", 4, "*.lisp"),
    maths("libcoq-stdlib", 1.5, "*.v"),
    maths("libcoq-corn", 1.5, "*.v"),
    maths("libcoq-mathcomp-algebra", 1.5, "*.v"),
    maths("libcoq-mathcomp-analysis", 1.5, "*.v"),
    maths("libcoq-iris", 1.5, "*.v"),
    maths("libcoq-hott", 1.5, "*.v"),
    maths("hol-light", 3, "*.ml"),
    maths("gap-libs", 1.2, "*.g", "*.gi", "*.gd", "*.tex", "*.xml"),
    maths("gap-hap", 1.2, "*.g", "*.gi", "*.gd", "*.tex", "*.xml"),
    maths("gap-polycyclic", 1.2, "*.g", "*.gi", "*.gd", "*.tex", "*.xml"),
    maths("gap-guava", 1.2, "*.g", "*.gi", "*.gd", "*.tex", "*.xml"),
    maths("maxima-share", 1.5, "*.mac", "*.lisp", "*.tex"),
    maths("macaulay2-common", 2, "*.m2"),
    maths("singular-data", 1.5, "*.lib"),
    maths("metamath-databases", 4, "*.mm"),
    maths("texlive-latex-recommended-doc", 2.5, "*.tex", "*.ltx"),
    maths("liggghts-doc", 1.5, "*.tex", "*.txt"),
    maths("pari-doc", 1.5, "*.tex", "*.txt"),
]
