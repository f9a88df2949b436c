"""The command that opens the reader."""

from __future__ import annotations

import os
import sys

import click

from plausible.cli.options import keep_apart
from plausible.errors import CallError
from plausible.wording import quantity


@click.command(short_help="News that learns what you find interesting, in the browser.")
@click.option("--store", type=click.Path(), metavar="FILE", help="The file that holds everything. [one of your own]")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="Where to listen. [the first free from 8765]")
@click.option(
    "--host", default="127.0.0.1", metavar="ADDRESS", help="Where to listen. [127.0.0.1: for this machine only]"
)
@click.option("--no-browser", is_flag=True, help="Don't show the page.")
@click.option(
    "--export",
    "export_to",
    type=click.Path(),
    metavar="FILE",
    help="Write everything as JSON lines (- for standard output), and end.",
)
@click.option(
    "--import",
    "import_from",
    type=click.Path(),
    metavar="FILE",
    help="Take in an export, a list of feeds (OPML) or another reader's model, and end.",
)
@click.option(
    "--model", "model_to", type=click.Path(), metavar="FILE", help="Write what was learned as a model, and end."
)
@click.option("--compare", is_flag=True, help="Compare the counts with the ratings that they come from, and end.")
@click.option("--rebuild", is_flag=True, help="Make the counts anew from the ratings, and end.")
def reader(
    store: str | None,
    port: int | None,
    host: str,
    no_browser: bool,
    export_to: str | None,
    import_from: str | None,
    model_to: str | None,
    compare: bool,
    rebuild: bool,
) -> None:
    """Read news that learns what you find interesting.

    \b
      plausible reader                               opens the page in the browser
      plausible reader --store news.db --no-browser
      plausible reader --export mine.jsonl           everything, as JSON lines
      plausible reader --model mine.plausible        what was learned, for `plausible classify`

    Exit status 3: --compare has found a difference.
    """
    acts = {
        "--export": export_to,
        "--import": import_from,
        "--model": model_to,
        "--compare": compare,
        "--rebuild": rebuild,
    }
    chosen = [name for name, given in acts.items() if given]
    if len(chosen) > 1:
        raise CallError(f"{' and '.join(chosen)} can't be done at once; choose one")
    path = store or _own_store()
    keep_apart([path], export_to, model_to)
    if not chosen:
        from plausible.web import serve

        serve(path, host=host, port=port, open_browser=not no_browser)
    elif import_from is not None:
        _take_in(path, import_from)
    else:
        if not os.path.exists(path):
            raise CallError(f"there is no store {path!r}; `plausible reader --store {path}` makes one")
        if export_to is not None or model_to is not None:
            _give(path, export_to, model_to)
        else:
            _check(path, rebuild=rebuild)


def _own_store() -> str:
    """The store of whoever names none."""
    folder = click.get_app_dir("plausible")
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, "reader.db")


def _give(path: str, export_to: str | None, model_to: str | None) -> None:
    from plausible.files.atomic import replacing
    from plausible.reader.reading import Reader

    with Reader(path) as open_reader:
        if export_to == "-":
            open_reader.export(sys.stdout.buffer)
        elif export_to is not None:
            with replacing(export_to) as file:
                open_reader.export(file)
        elif model_to is not None:
            data = open_reader.model_bytes()
            with replacing(model_to) as file:
                file.write(data)


def _take_in(path: str, import_from: str) -> None:
    from plausible.collecting.imports import bring_in
    from plausible.reader.reading import Reader

    try:
        file = open(import_from, "rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise CallError(f"{import_from} can't be read: {error.strerror}") from None
    with file, Reader(path) as open_reader:
        click.echo(f"{import_from}: {bring_in(open_reader, file)}", err=True)


def _check(path: str, *, rebuild: bool) -> None:
    from plausible.reader.counted import compare_counts, rebuild_counts
    from plausible.reader.store import Store

    store = Store(path)
    try:
        if rebuild:
            click.echo(f"{path}: counts made anew from {quantity(rebuild_counts(store), 'rating')}", err=True)
            return
        found = compare_counts(store)
    finally:
        store.close()
    for difference in found:
        click.echo(difference)
    if found:
        click.echo(f"{path}: {quantity(len(found), 'difference')}; --rebuild makes the counts anew", err=True)
        click.get_current_context().exit(3)
    click.echo(f"{path}: the counts are those of the ratings", err=True)
