"""Text splitters for other libraries, which call `split_text`. A module can be imported if its library is installed."""
