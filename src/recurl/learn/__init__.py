"""Learning in models and environments: tabular kernels, schedules, curves, checkpoints."""
