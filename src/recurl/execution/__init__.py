"""Many independent pieces of work on one engine: in this process, on local processes, on Ray."""
