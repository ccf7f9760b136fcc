"""Boolean programs: the small language of software model checkers, with choices and coins."""
