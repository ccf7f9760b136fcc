"""The models of the zoo, one file each: a file that is put here is a model.

A file defines a function that is named like it. Its parameters all have defaults, and the first
line of its documentation is the summary. A file may also define:

- ``STEP_LIMIT = 200``: the steps after which Gymnasium truncates an episode.
- ``def vertices(**parameters) -> float``: about how many vertices the model has, so that too large
  ones are refused before they are built; and ``LARGEST``, the most that are allowed.
"""
