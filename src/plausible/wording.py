"""How a number is said with its noun."""

from __future__ import annotations


def quantity(number: float, noun: str) -> str:
    """A number and its noun, which is given for one of them.

    >>> quantity(1, "row"), quantity(1204, "class"), quantity(0, "near copy"), quantity(2.5, "day")
    ('1 row', '1,204 classes', '0 near copies', '2.5 days')
    """
    said = f"{int(number):,}" if number == int(number) else f"{number:,g}"
    return f"{said} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """
    >>> [plural(noun) for noun in ("match", "index", "entry", "array")]
    ['matches', 'indexes', 'entries', 'arrays']
    """
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"
