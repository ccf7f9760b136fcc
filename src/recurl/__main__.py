"""``python -m recurl``: the same as the command ``recurl``."""

from recurl.cli import main

if __name__ == "__main__":
    main()
