"""Self-contained HTML pages for reports."""
