"""Learning with a guarantee: answers that hold with probability 1 - delta."""
