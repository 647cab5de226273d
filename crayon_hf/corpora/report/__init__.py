"""Reports of finished token files as text, JSON and HTML: counts, lengths, scripts, frequent and unused tokens."""
