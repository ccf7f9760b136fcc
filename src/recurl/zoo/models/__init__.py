"""The models of the zoo, one file each: a file that is put here is a model.

A file defines a function of its own name, whose parameters all have defaults and whose first line
of documentation is the summary. It may also define:

- ``STEP_LIMIT = 200``: the steps after which Gymnasium truncates an episode.
- ``def vertices(**parameters) -> float``: about how many vertices the model has, so that too large
  ones are refused before they are built; and ``LARGEST``, the most that are allowed.
"""
