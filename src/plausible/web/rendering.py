"""Pages from templates: the environment, how values read, and the page that says what went wrong."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from plausible.reader.reading import Reader
from plausible.web.cleaning import is_web, language
from plausible.web.keys import ACTIONS, Keys
from plausible.wording import quantity

HERE = Path(__file__).parent
RATINGS = {1: "dull", 2: "rather dull", 3: "fair", 4: "interesting", 5: "very interesting"}
MINUTE, HOUR, DAY = 60, 3600, 86400


def reader_of(request: Request) -> Reader:
    """The reader that this server shows."""
    reader: Reader = request.app.state.reader
    return reader


def page(request: Request, template: str, *, status: int = 200, images: bool = False, **values: Any) -> HTMLResponse:
    """A page from a template; `images` lets it load images of other sites."""
    request.state.images = images
    keys = Keys.of(reader_of(request).store.setting("keys"))
    html = (
        _environment()
        .get_template(template)
        .render(
            token=request.state.token,
            path=request.url.path,
            here=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
            keys=keys,
            keys_json=json.dumps(keys.by_key()),
            images=images,
            **values,
        )
    )
    return HTMLResponse(html, status)


def wrong(request: Request, what: str, *, status: int, next_step: str = "") -> Response:
    """The page that says what is wrong and what to do next."""
    return page(request, "wrong.html", status=status, title=HTTPStatus(status).phrase, what=what, next_step=next_step)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "ago": ago,
        "date": date,
        "is_web": is_web,
        "language": language,
        "percent": percent,
        "quantity": quantity,
        "sentence": sentence,
        "signed": signed,
        "soon": soon,
    }
    environment.globals |= {"ACTIONS": ACTIONS, "RATINGS": RATINGS}
    return environment


def percent(share: float) -> str:
    """A share as a person says it.

    >>> percent(.724), percent(.0001), percent(.9999), percent(0), percent(1)
    ('72\\xa0%', '<1\\xa0%', '>99\\xa0%', '0\\xa0%', '100\\xa0%')
    """
    if 0 < share < 0.005:
        return "<1\xa0%"
    if 0.995 <= share < 1:
        return ">99\xa0%"
    return f"{share:.0%}".replace("%", "\xa0%")


def sentence(message: str) -> str:
    """A message of an error as a sentence.

    >>> sentence("there is no item 7"), sentence("Is it whole?")
    ('There is no item 7.', 'Is it whole?')
    """
    whole = message[:1].upper() + message[1:]
    return whole if whole.endswith((".", "?", "!")) else whole + "."


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign, and a real minus.

    >>> signed(.5), signed(-1.234), signed(0)
    ('+0.50', '−1.23', '0.00')
    """
    text = f"{value:+.{digits}f}"
    return text.lstrip("+-") if not float(text) else text.replace("-", "−")


def ago(when: datetime, now: datetime | None = None) -> str:
    """How long ago, as a person says it.

    >>> now = datetime(2026, 3, 4, 12, tzinfo=UTC)
    >>> ago(datetime(2026, 3, 4, 11, 20, tzinfo=UTC), now), ago(datetime(2026, 3, 2, 11, tzinfo=UTC), now)
    ('40 minutes ago', '2 days ago')
    """
    seconds = ((now or datetime.now(UTC)) - when).total_seconds()
    if seconds < -MINUTE:
        return date(when)
    if seconds < MINUTE:
        return "just now"
    if seconds < HOUR:
        return quantity(int(seconds // MINUTE), "minute") + " ago"
    if seconds < DAY:
        return quantity(int(seconds // HOUR), "hour") + " ago"
    if seconds < 7 * DAY:
        return quantity(int(seconds // DAY), "day") + " ago"
    return date(when)


def soon(when: datetime, now: datetime | None = None) -> str:
    """How far ahead, as a person says it.

    >>> now = datetime(2026, 3, 4, 12, tzinfo=UTC)
    >>> soon(datetime(2026, 3, 4, 12, 20, tzinfo=UTC), now), soon(datetime(2026, 3, 4, 11, tzinfo=UTC), now)
    ('in 20 minutes', 'now')
    """
    seconds = (when - (now or datetime.now(UTC))).total_seconds()
    if seconds < MINUTE:
        return "now"
    if seconds < HOUR:
        return "in " + quantity(int(seconds // MINUTE), "minute")
    if seconds < DAY:
        return "in " + quantity(int(seconds // HOUR), "hour")
    return "in " + quantity(int(seconds // DAY), "day")


def date(when: datetime) -> str:
    """A day, in the time zone of this machine.

    >>> date(datetime(2026, 3, 4, 12, tzinfo=UTC))
    '4 March 2026'
    """
    local = when.astimezone()
    return f"{local.day} {local:%B %Y}"
