"""Parity: the comparison with the references that ``crayon-hf parity`` and ``publish`` need.

`compare` says what is right for a vocabulary, and finds and minimises differences; `inputs` makes hostile strings;
`report` is a whole comparison as files; `speed` times both sides. The suites that a person runs from a clone are the
folders of the top-level `parity`.
"""
