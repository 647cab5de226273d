"""Reading a corpus: which files there are, and what documents are in them."""
