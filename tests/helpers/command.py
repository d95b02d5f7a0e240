"""How do tests run the command `drive-env`, and read what it shows?"""

import re
import sys

from typer.testing import CliRunner

from drive_env.cli import main
from drive_env.cli.app import app


def run(*arguments):
    """The command in this process: its stdout. Errors of the package come out as they are raised."""
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def exit_of(monkeypatch, capsys, *arguments):
    """The exit code, stdout and stderr of the whole command in this process, which has made its imports."""
    monkeypatch.setattr(sys, "argv", ["drive-env", *arguments])
    try:
        main()
        code = 0
    except SystemExit as error:
        code = error.code
    printed = capsys.readouterr()
    # Python prints a text to stderr, and exits with 1.
    return (1, printed.out, f"{printed.err}{code}\n") if isinstance(code, str) else (code, printed.out, printed.err)


def cells(output, name):
    """The cells of the table row or fact of that name."""
    found = re.findall(rf"^\s*{re.escape(name)}\s{{2,}}(.*\S)\s*$", output, re.MULTILINE)
    assert found, f"{name!r} is not in\n{output}"
    return re.split(r"\s{2,}", found[0])
