"""Scripts that make cartridges of published vocabularies."""
