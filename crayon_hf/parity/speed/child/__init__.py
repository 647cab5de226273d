"""The code of the measuring processes: the standard library, one engine, and nothing else of ours.

A process may run in an environment without crayon_hf, such as that of the pre-release of tokenizers. Also, an engine's
memory can only be measured in a process that has imported nothing else. So this package imports nothing of its parent
packages, and ``..processes`` loads it by path.
"""
