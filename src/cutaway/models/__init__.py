"""Embedding models and cross-encoders, each behind one small protocol."""
