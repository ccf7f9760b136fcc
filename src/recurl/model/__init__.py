"""Models: recursive Markov decision processes, however they are made."""
