"""What a corpus of token files is like: counts, lengths, scripts, the tokens it uses, as text, JSON and one page."""
