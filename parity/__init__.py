"""Comparisons of crayon-hf with the libraries that it stands in for, run from a clone: ``python -m parity``.

Each folder with a ``__main__.py`` is a suite. The first line of its docstring is its line in the list, without a
``python -m parity.NAME`` in front; its `GROUP`, "references" by default, chooses the heading. ``main(argv)`` returns
0 when all agrees, 1 when something differs, 2 for wrong usage. The comparison itself is `crayon_hf.parity`, which
``crayon-hf parity`` and ``publish`` use, too.
"""
