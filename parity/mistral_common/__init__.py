"""``python -m parity.mistral_common [FILE...]``: our ids and texts against those of Mistral's ``mistral-common``.

Compared fields: ``ids`` without special tokens, and the ``decoded`` text of them. A target is a ``tekken.json``;
without one, those that the installed ``mistral-common`` ships are compared. Needs ``pip install mistral-common``.
"""
