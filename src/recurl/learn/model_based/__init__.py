"""Model-based recursive learning: counts of outcomes, and plans in the model that they make."""
