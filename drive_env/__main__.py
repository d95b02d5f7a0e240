"""What does `python -m drive_env` run? The command `drive-env`."""

from .cli import main

if __name__ == "__main__":
    main()
