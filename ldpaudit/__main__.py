"""``python -m ldpaudit``."""

from ldpaudit.commands import main

if __name__ == "__main__":
    main()
