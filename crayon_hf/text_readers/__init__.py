"""Reading a corpus: find its files, and read their documents."""
