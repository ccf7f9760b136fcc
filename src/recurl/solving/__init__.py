"""Exact and certified solving: what is the best possible, and how sure are we."""
