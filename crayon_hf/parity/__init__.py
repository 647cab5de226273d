"""Parity: the comparison with the references that ``crayon-hf parity`` and ``publish`` need.

`compare` defines the reference of each vocabulary, and finds and minimises differences. `inputs` makes hostile strings,
`report` writes a whole comparison as files, and `speed` times both sides. The suites for runs from a clone are the
folders of the top-level `parity`.
"""
