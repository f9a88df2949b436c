"""`python -m plausible`, the same as the command."""

from plausible.cli import main

if __name__ == "__main__":
    main()
