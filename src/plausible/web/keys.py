"""What a key does. Keys can be changed or turned off; each action is a button or a link, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from plausible.errors import CallError

ACTIONS = {
    "rate1": "rate 1",
    "rate2": "rate 2",
    "rate3": "rate 3",
    "rate4": "rate 4",
    "rate5": "rate 5",
    "skip": "skip, without a rating",
    "undo": "undo the last rating",
    "next": "next article",
    "previous": "previous article",
    "open": "open the original",
    "search": "search",
    "help": "show the keys",
}
USUAL = {
    **{f"rate{level}": str(level) for level in range(1, 6)},
    "skip": "s",
    "undo": "u",
    "next": "j",
    "previous": "k",
    "open": "o",
    "search": "/",
    "help": "?",
}


@dataclass(frozen=True, slots=True)
class Keys:
    """The key of each action; an action without a key has none."""

    on: bool = True
    keys: Mapping[str, str] = field(default_factory=lambda: dict(USUAL))

    @classmethod
    def of(cls, kept: object) -> Keys:
        """From what `kept` gave; the usual keys where nothing was kept."""
        if not isinstance(kept, Mapping):
            return cls()
        keys = kept.get("keys", {})
        return cls(bool(kept.get("on", True)), {action: str(keys.get(action, "")) for action in ACTIONS})

    @classmethod
    def chosen(cls, on: bool, keys: Mapping[str, str]) -> Keys:
        """Keys as a user typed them; CallError if one is no single character or stands for two actions."""
        chosen = {action: keys.get(action, "").strip() for action in ACTIONS}
        taken: dict[str, str] = {}
        for action, key in chosen.items():
            if len(key) > 1 or not key.isprintable():
                raise CallError(f"a key is one character, and {key!r} is not (for: {ACTIONS[action]})")
            if key and key in taken:
                raise CallError(
                    f"the key {key!r} can't mean both {ACTIONS[taken[key]]!r} and {ACTIONS[action]!r}; change one"
                )
            taken[key] = action
        return cls(on, chosen)

    def kept(self) -> dict[str, object]:
        """As plain values, for the store."""
        return {"on": self.on, "keys": dict(self.keys)}

    def by_key(self) -> dict[str, str]:
        """The action of each key, for the script; none where keys are turned off."""
        return {key: action for action, key in self.keys.items() if key} if self.on else {}
