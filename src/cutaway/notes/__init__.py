"""Markdown files into notes, rows and chunks. Reads the user's files; never writes them."""
