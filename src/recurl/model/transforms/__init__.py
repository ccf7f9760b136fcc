"""From models to models: discounting, unravelling, flattening."""
