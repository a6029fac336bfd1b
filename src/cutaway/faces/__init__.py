"""Faces parse, call and present. They show what the engine recorded and add nothing."""
