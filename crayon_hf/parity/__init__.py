"""Compares crayon_hf with reference libraries, such as ``tokenizers``, for ``crayon-hf parity`` and ``publish``.

`compare` chooses the reference of each vocabulary, and finds and minimises differences. `inputs` makes hostile strings,
`report` writes a whole comparison as files, and `speed` times both sides. More suites, which run only from a clone,
are the folders of the top-level `parity`.
"""
