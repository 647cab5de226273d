"""``python -m parity.llama_cpp [FILE...]``: our ids against those of llama.cpp, for GGUF files.

Compared field: ``ids``, with special tokens found in the text and none added. They come from the vectors that llama.cpp
publishes for its vocabularies, if they are beside the file (``FILE.inp`` has the texts, ``FILE.out`` the ids), and from
llama.cpp itself, if it is installed (``pip install llama-cpp-python``). One of the two is needed. Without a target,
every file of ``$CRAYON_SHARED/vocab/gguf`` is compared.

``--random N`` compares N random files of each model that GGUF files can hold instead, with a plain model of llama.cpp
(`plain`): every type of token and option, ids with and without special tokens, and decoded ids.
"""
