"""What a reader can set: what is interesting, what is mixed in, words, keys."""

from __future__ import annotations

from dataclasses import replace

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from plausible.errors import CallError
from plausible.web.forms import change_at, page_at, text, to
from plausible.web.keys import ACTIONS, USUAL, Keys
from plausible.web.rendering import page, reader_of

SHARES = {
    "top": ("Recommended", "the part of a view that stands above the line", 1, 100),
    "uncertain": ("Of these, uncertain ones", "mixed in because your rating would teach most", 0, 50),
    "random": ("Of these, at random", "mixed in so that nothing is shut out, and to measure fairly", 0, 50),
}


def _settings(request: Request) -> Response:
    return _shown(request)


def _shown(request: Request, *, problem: str = "", place: str = "", status: int = 200) -> Response:
    return page(
        request,
        "settings.html",
        status=status,
        settings=reader_of(request).settings,
        shares=SHARES,
        saved=request.query_params.get("saved", ""),
        problem=problem,
        place=place,
    )


def _learning(request: Request, form: FormData) -> Response:
    reader = reader_of(request)
    try:
        chosen = replace(
            reader.settings,
            interesting_from=int(_number(form, "interesting_from", "Interesting from", 2, 5)),
            top=_share(form, "top"),
            uncertain=_share(form, "uncertain"),
            random=_share(form, "random"),
        )
        reader.set(chosen)
    except CallError as error:
        return _shown(request, problem=str(error), place="learning", status=400)
    return to("/settings?saved=learning")


def _keys(request: Request, form: FormData) -> Response:
    typed = USUAL if text(form, "usual") else {action: text(form, action) for action in ACTIONS}
    try:
        keys = Keys.chosen(bool(text(form, "usual")) or text(form, "on") == "yes", typed)
    except CallError as error:
        return _shown(request, problem=str(error), place="keys", status=400)
    reader_of(request).store.keep("keys", keys.kept())
    return to("/settings?saved=keys#keys-chosen")


def _share(form: FormData, name: str) -> float:
    label, _, low, high = SHARES[name]
    return _number(form, name, label, low, high) / 100


def _number(form: FormData, name: str, label: str, low: float, high: float) -> float:
    given = text(form, name)
    try:
        value = float(given)
    except ValueError:
        raise CallError(f"{label}: {given!r} is no number") from None
    if not low <= value <= high:
        raise CallError(f"{label}: {given} is not between {low} and {high}")
    return value


ROUTES: list[BaseRoute] = [
    page_at("/settings", _settings),
    change_at("/settings/learning", _learning),
    change_at("/settings/keys", _keys),
]
