"""Recursive Python functions with open choices: compiled to models, completed, or learned live."""
