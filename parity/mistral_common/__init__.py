"""``python -m parity.mistral_common [FILE...]``: our ids and texts against those of Mistral's ``mistral-common``.

Compared fields: ``ids`` without special tokens, and their ``decoded`` text. A target is a ``tekken.json``; by default,
all files that the installed ``mistral-common`` ships are compared. Needs ``pip install mistral-common``.
"""
