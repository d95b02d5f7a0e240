"""How does an option take several values? `--scenes town highway` stands for `--scenes town --scenes highway`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from typer.core import TyperCommand

IsValue = Callable[[str, str], bool]
"""Takes an option and a word; whether the word can only be a value of the option."""


class SeveralValues(TyperCommand):
    """A command whose repeatable options also take several values at once, up to the next option.

    If the command's argument is at no other place, it is the last of such values, as in `--scenes town lane`, unless
    that word can only be a value.
    """

    @staticmethod
    def is_value(option: str, word: str) -> bool:
        """Whether a word can only be a value of an option."""
        return False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words of the command line in the form that typer reads."""
        options = [one for one in self.params if one.param_type_name == "option"]
        names = lambda chosen: {name for one in chosen for name in (*one.opts, *one.secondary_opts)}
        flags = names(one for one in options if getattr(one, "is_flag", False)) | set(ctx.help_option_names)
        repeatable = names(one for one in options if getattr(one, "multiple", False))
        needs_argument = len(options) < len(self.params)
        return super().parse_args(ctx, expanded(args, flags, repeatable, needs_argument, self.is_value))


def expanded(words: Sequence[str], flags: set[str], repeatable: set[str], needs_argument: bool,
             is_value: IsValue) -> list[str]:
    """The words with each repeatable option before each of its values.

    Args:
        words: of the command line. flags: options without a value. repeatable: options that may occur several times.
        needs_argument: whether the command has an argument. is_value: see `SeveralValues`.
    """
    found: list[str] = []
    option, has_value = "", False
    last: int | None = None
    for index, word in enumerate(words):
        if word == "--":
            return [*found, *words[index:]]
        if word.startswith("-") and len(word) > 1:
            name, is_set, _ = word.partition("=")
            option, has_value = name if name not in flags else "", bool(is_set)
            found.append(word)
        elif option and not has_value:
            has_value = True
            found.append(word)
        elif option in repeatable:
            last = last if is_value(option, word) else len(found)
            found += [option, word]
        else:
            option, needs_argument = "", False
            found.append(word)
    # The argument of the command, where nothing else is it.
    if needs_argument and last is not None:
        found.pop(last)
    return found
