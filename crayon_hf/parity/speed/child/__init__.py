"""What runs in the measuring processes: the standard library, one engine, and nothing else of ours.

The processes may belong to an environment without crayon_hf (the pre-release of tokenizers has one of its own), and
what an engine occupies is only its own when nothing else was imported. So this package imports nothing above itself;
``..processes`` loads it by its path.
"""
