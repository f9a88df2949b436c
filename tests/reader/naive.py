"""A slow plain twin of the line-up of a view."""

from __future__ import annotations

import math
from collections import defaultdict


def line_up(items, score, vetoed, recommended, settings, slots_mixed, tells=True):
    """The ids above and below the line, the first ones first.

    Parameters
    ----------
    items : list of Item
        Those of the view.
    recommended : set of int
        Items that were read while they were recommended.
    slots_mixed : (int, int)
        The uncertain and the random.
    """
    groups = defaultdict(list)
    for item in items:
        groups[item.first].append(item)
    read = {item.id for item in items if item.rating or item.skipped}
    order = lambda item: (-score[item.id], -item.article.published.timestamp())  # noqa: E731
    ones = sorted(
        (min(group, key=lambda item: (item.id not in read, *order(item))) for group in groups.values()), key=order
    )
    slots = math.ceil(settings.top * len(ones) - 1e-9)
    left = slots - sum(1 for item in ones if item.id in read and item.id in recommended)
    unread = [item for item in ones if item.id not in read and item.id not in vetoed]
    above = {item.id for item in unread[: max(left, 0)]}
    return (
        [item.id for item in ones if item.id in above],
        [item.id for item in ones if item.id not in above and item.id not in read],
    )
