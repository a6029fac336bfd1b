"""The read path: plan, gather, rank, cut. Its stages record themselves; the records are the trace."""
