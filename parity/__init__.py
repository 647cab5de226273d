"""Comparisons of crayon-hf with the libraries that it replaces, run from a clone: ``python -m parity``.

Each folder with a ``__main__.py`` is a suite. The first line of its docstring is its entry in the list, without a
leading ``python -m parity.NAME``; its `GROUP`, "references" by default, chooses the heading. ``main(argv)`` returns
0 when all agrees, 1 when something differs, 2 for wrong usage. The comparison itself is in `crayon_hf.parity`, for
``crayon-hf parity`` and ``publish``, too.
"""
