"""Gymnasium environments: the recursive protocol, and models as environments."""
