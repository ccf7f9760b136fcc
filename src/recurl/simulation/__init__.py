"""Simulation: compiled rollouts, step-by-step walks, traces."""
