"""What is a path and no name? Any os.PathLike, even one whose text is the name of a generator."""


class TownPath:
    """A path that is neither a str nor a pathlib.Path."""

    def __fspath__(self):
        return "town"


class TownText(TownPath, str):
    """Both a str and an os.PathLike: any os.PathLike is a path."""
