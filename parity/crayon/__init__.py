"""``python -m parity.crayon [FILE...]``: our ids and texts against those of CRAYON, the package ``xerv-crayon``.

Compared fields: ``ids`` and ``decoded`` text of ``CrayonVocab(compat="xerv")`` and of CRAYON's ``CrayonVocab`` on its
CPU engine, release 5.3.8 (the one that its papers describe). A target is a version 2 ``.dat``; without one, all that
the installed package ships. A file without its ``.json`` has no decoded text. Needs ``pip install xerv-crayon==5.3.8``,
here or in the environment of ``--python``.

``--other-python PATH`` names an environment with another release, such as 5.7.16. It adds a table of that release's
tokens, its round trips, and the number of documents that get the same ids. ``python -m parity.bench crayon-lite``
measures all of them.
"""
