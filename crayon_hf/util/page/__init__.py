"""One HTML page that holds all it needs: what reports for people are made of."""
