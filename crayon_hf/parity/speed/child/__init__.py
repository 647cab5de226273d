"""The code of processes that measure one engine. They import only the standard library, that engine, and this package.

A process may run in an environment without crayon_hf, such as that of the pre-release of tokenizers. Also, an engine's
memory can only be measured in a process that has imported nothing else. So this package imports nothing of its parent
packages, and ``..processes`` loads it by path.
"""
