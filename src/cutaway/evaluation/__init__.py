"""Evaluation: how good the results are, by queries with known answers."""
