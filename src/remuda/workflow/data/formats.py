"""Format strings: `Hello, {0}!`, in the way of Java's MessageFormat.

`''` is an apostrophe, and text between apostrophes stands as it is: `'{'` is a brace. A number
that has no argument stays as it is written. Arguments are not styled: `{0}` and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from remuda.workflow.errors import BadValue

LENGTH_MAX = 4 * 1024 * 1024


def formatted(pattern: str, arguments: Sequence[str]) -> str:
    out: list[str] = []
    length = 0
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "'":
            text, position = _quoted(pattern, position)
            out.append(text)
        elif character == "{":
            end = pattern.find("}", position)
            if end < 0:
                raise BadValue(f"format string {pattern!r} has a brace that is not closed")
            out.append(_argument(pattern[position + 1 : end], arguments, pattern))
            position = end + 1
        else:
            out.append(character)
            position += 1
        length += len(out[-1])
        if length > LENGTH_MAX:
            raise BadValue(
                f"format string {pattern[:40]!r} makes more than {LENGTH_MAX} characters"
            )
    return "".join(out)


def _quoted(pattern: str, position: int) -> tuple[str, int]:
    """What the apostrophe at `position` opens, and where it ends."""
    if pattern.startswith("''", position):
        return "'", position + 2
    end = pattern.find("'", position + 1)
    if end < 0:
        return pattern[position + 1 :], len(pattern)
    return pattern[position + 1 : end], end + 1


def _argument(inside: str, arguments: Sequence[str], pattern: str) -> str:
    number = inside.strip()
    if not number.isascii() or not number.isdigit():
        raise BadValue(f"format string {pattern!r}: {{{inside}}} is not the number of an argument")
    index = int(number)
    return arguments[index] if index < len(arguments) else f"{{{number}}}"
