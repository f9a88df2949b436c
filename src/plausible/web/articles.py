"""The ranking, an article and why it stands where it does; rating, skipping, undoing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast, get_args
from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from plausible.errors import CallError, unknown
from plausible.reader.reading import Reader
from plausible.reader.store import Event, Item, Place
from plausible.reader.views import View
from plausible.web.cleaning import Body, clean_body, clean_text
from plausible.web.forms import change_at, own_address, page_at, text, to
from plausible.web.rendering import page, reader_of

REASONS = 10
"""Reasons beside an article before "show all"."""

PRESETS = [
    ("Last day", View()),
    ("Last week", View(period="week")),
    ("All unread", View(period="all")),
    ("Everything", View(period="all", show="all")),
    ("Rated", View(period="all", show="rated", order="newest")),
]


@dataclass(frozen=True, slots=True)
class Act:
    """What was done last, for the line that says so and offers to undo it.

    `undone` is whether it was taken back just now, `more` whether there is something to undo.
    """

    event: Event
    item: Item
    undone: bool
    more: bool


def address(path: str, view: View, **more: object) -> str:
    """The address of a page in a view."""
    query = "&".join(part for part in (view.query(), urlencode(more)) if part)
    return f"{path}?{query}" if query else path


def _ranking(request: Request) -> Response:
    reader = reader_of(request)
    view = View.of(request.query_params)
    shown = reader.page(view)
    first = replace(view, page=1)
    sources = reader.store.sources()
    return page(
        request,
        "ranking.html",
        view=view,
        shown=shown,
        sources=sources,
        titles={source.id: source.title or source.address for source in sources},
        presets=[(name, address("/", preset), _same(preset, view)) for name, preset in PRESETS],
        by_source=[(source, address("/", replace(first, source=source.id, below=False))) for source in sources],
        every_source=address("/", replace(first, source=None, below=False)),
        no_search=address("/", replace(first, search="", order="interest")),
        other_side=address("/", replace(first, below=not view.below)),
        at=lambda item: address(f"/item/{item}", view),
        turn=lambda number: address("/", replace(view, page=number)),
        last=_last(reader, request),
        query=view.query(),
    )


def _article(request: Request) -> Response:
    reader = reader_of(request)
    view = View.of(request.query_params)
    number = request.path_params["item"]
    entry = reader.entry(number, view)
    item, reasons = entry.item, reader.why(number)
    images = request.query_params.get("images") == "load"
    every = request.query_params.get("why") == "all"
    shown = reasons.reasons if every else reasons.reasons[:REASONS]
    rest = reasons.reasons[len(shown) :]
    before, after = reader.before(number, view), reader.after(number, view)
    return page(
        request,
        "article.html",
        images=images,
        view=view,
        entry=entry,
        item=item,
        body=_body(item, images),
        source=next((s for s in reader.store.sources() if s.id == item.source), None),
        reasons=reasons,
        shown=shown,
        rest=len(rest),
        rest_weight=sum(reason.weight for reason in rest),
        scale=max([abs(reason.weight) for reason in reasons.reasons] + [abs(reasons.score), 1e-9]),
        previous=before and address(f"/item/{before}", view),
        following=after and address(f"/item/{after}", view),
        ranking=address("/", view),
        all_reasons=address(f"/item/{number}", view, why="all") + "#why",
        with_images=address(f"/item/{number}", view, images="load"),
        now=reader.now_ranked(number) if item.rating is not None else None,
        copies=reader.store.items(entry.copies),
        at=lambda other: address(f"/item/{other}", view),
        settings=reader.settings,
        last=_last(reader, request),
        query=view.query(),
    )


def _changes(request: Request) -> Response:
    reader = reader_of(request)
    return page(
        request,
        "changes.html",
        change=reader.last_change(),
        titles={source.address: source.title or source.address for source in reader.store.sources()},
        last=_last(reader, request),
        query="",
    )


def _rate(request: Request, form: FormData) -> Response:
    level = text(form, "rating")
    if level not in ("1", "2", "3", "4", "5"):
        raise CallError(f"a rating is a number from 1 to 5, and {level!r} is not")
    number = request.path_params["item"]
    onward = _onward(request, form)
    reader_of(request).rate(number, int(level), _place(form))
    return to(onward)


def _skip(request: Request, form: FormData) -> Response:
    number = request.path_params["item"]
    onward = _onward(request, form)
    reader_of(request).skip(number, _place(form))
    return to(onward)


def _clear(request: Request, form: FormData) -> Response:
    number = request.path_params["item"]
    reader_of(request).clear(number)
    return to(address(f"/item/{number}", View.of(request.query_params)))


def _undo(request: Request, form: FormData) -> Response:
    reader = reader_of(request)
    view = View.of(request.query_params)
    event = reader.undo()
    if event is None:
        return to(address("/", view))
    if text(form, "then") == "article":
        return to(address(f"/item/{event.item}", view, undone=event.id))
    return to(address("/", view, undone=event.id) + f"#item-{event.item}")


def _word(request: Request, form: FormData) -> Response:
    reader = reader_of(request)
    word, list_name = text(form, "word").casefold(), text(form, "list")
    if list_name not in ("boost", "veto"):
        raise CallError(unknown("list", list_name, ["boost", "veto"]))
    if not word:
        raise CallError("no word was given; type one and press the button again")
    settings = reader.settings
    lists = {name: [w for w in getattr(settings, name) if w != word] for name in ("boost", "veto")}
    if text(form, "remove") != "yes":
        lists[list_name].append(word)
    reader.set(replace(settings, boost=tuple(lists["boost"]), veto=tuple(lists["veto"])))
    return to(own_address(text(form, "back")))


def _onward(request: Request, form: FormData) -> str:
    """Where a rating leads: back to the ranking, or from an article to the one that follows."""
    view = View.of(request.query_params)
    if text(form, "then") != "article":
        return address("/", view)
    following = reader_of(request).after(request.path_params["item"], view)
    return address("/", view) if following is None else address(f"/item/{following}", view)


def _place(form: FormData) -> Place:
    place = text(form, "place") or "search"
    if place not in get_args(Place):
        raise CallError(unknown("place", place, get_args(Place)))
    return cast(Place, place)


def _last(reader: Reader, request: Request) -> Act | None:
    """What was done last; right after an undo, what was taken back."""
    last = reader.store.last_event()
    undone = request.query_params.get("undone", "")
    if undone.isdecimal() and len(undone) < 19:
        for event in reader.store.events(after=int(undone) - 1, limit=1):
            return Act(event, reader.store.item(event.item), undone=True, more=last is not None)
    return Act(last, reader.store.item(last.item), undone=False, more=True) if last is not None else None


def _body(item: Item, images: bool) -> Body:
    article = item.article
    if article.html:
        return clean_body(article.html, base=article.url or "", images=images)
    return clean_text(article.text)


def _same(preset: View, view: View) -> bool:
    return replace(preset, below=view.below, page=view.page) == view


ROUTES: list[BaseRoute] = [
    page_at("/", _ranking),
    page_at("/item/{item:int}", _article),
    page_at("/changes", _changes),
    change_at("/item/{item:int}/rate", _rate),
    change_at("/item/{item:int}/skip", _skip),
    change_at("/item/{item:int}/clear", _clear),
    change_at("/undo", _undo),
    change_at("/words", _word),
]
