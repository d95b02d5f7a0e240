"""`python -m drive_env` runs the command `drive-env`."""

from .cli import main

if __name__ == "__main__":
    main()
