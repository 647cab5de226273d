"""Parity: the reference of each vocabulary, hostile strings, the comparison, and the benchmark.

``references`` says what is right for a vocabulary, ``strings`` and ``texts`` make the inputs, ``compare`` finds and
minimises differences, ``run`` is the command over all of it, ``bench`` times what was first compared.
"""
