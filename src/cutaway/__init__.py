"""Cutaway: hybrid search for Markdown notes that shows its work."""

__version__ = "0.1.0"
