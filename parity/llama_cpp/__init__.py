"""``python -m parity.llama_cpp [FILE...]``: our ids against those of llama.cpp, for GGUF files.

Compared field: ``ids``, with special tokens found in the text and none added. The expected ids come from two sources,
of which one is needed. One source is the vectors that llama.cpp publishes for its vocabularies, beside the file:
``FILE.inp`` has the texts, ``FILE.out`` the ids. The second is the library, if installed (``pip install
llama-cpp-python``). Without a target, every file of ``$CRAYON_SHARED/vocab/gguf`` is compared.

``--random N`` compares N random files of each model that GGUF files can hold, with a plain model of llama.cpp
(`plain`). The files have every type of token and option; ids with and without special tokens, and decoded ids, are
compared.
"""
