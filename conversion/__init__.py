"""Scripts that compile published vocabularies into cartridges: ``python -m conversion`` lists them."""
