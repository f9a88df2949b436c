"""The tables of a store, version by version: a store of an older version is brought up to date step by step."""

from __future__ import annotations

import sqlite3

from plausible.errors import DataError

APPLICATION = 0x706C6175
"""What the head of the file says it is (`PRAGMA application_id`): "plau"."""

VERSIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE sources (
            id INTEGER PRIMARY KEY, kind TEXT NOT NULL, address TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
            first_address TEXT NOT NULL, interval INTEGER NOT NULL, etag TEXT, modified TEXT, cursor TEXT,
            next_visit REAL, error TEXT, allow_private INTEGER NOT NULL, removed INTEGER NOT NULL DEFAULT 0
        )""",
        # What every ranking reads, apart from the long texts.
        """CREATE TABLE items (
            id INTEGER PRIMARY KEY AUTOINCREMENT, source INTEGER NOT NULL REFERENCES sources, key TEXT NOT NULL,
            published REAL NOT NULL, collected REAL NOT NULL, author TEXT NOT NULL, words INTEGER NOT NULL,
            first INTEGER NOT NULL, rating INTEGER, skipped INTEGER NOT NULL DEFAULT 0, UNIQUE (source, key)
        )""",
        """CREATE TABLE articles (
            id INTEGER PRIMARY KEY REFERENCES items, title TEXT NOT NULL, url TEXT, language TEXT,
            text TEXT NOT NULL, html TEXT
        )""",
        """CREATE TABLE bands (
            hash INTEGER NOT NULL, item INTEGER NOT NULL, PRIMARY KEY (hash, item)
        ) WITHOUT ROWID""",
        """CREATE VIRTUAL TABLE words USING fts5 (
            title, text, content = '',
            tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co M*' tokenchars ''''"
        )""",
        """CREATE TABLE events (
            id INTEGER PRIMARY KEY AUTOINCREMENT, item INTEGER NOT NULL REFERENCES items,
            action TEXT NOT NULL CHECK (action IN ('rate', 'clear', 'skip', 'unskip')),
            rating INTEGER CHECK ((action = 'rate') = (rating BETWEEN 1 AND 5)), at REAL NOT NULL, place TEXT NOT NULL,
            probability REAL, expected REAL, undoes INTEGER UNIQUE REFERENCES events
        )""",
        "CREATE INDEX events_of_item ON events (item)",
        """CREATE TRIGGER events_stay BEFORE DELETE ON events
            BEGIN SELECT RAISE (ABORT, 'events are only ever added'); END""",
        """CREATE TRIGGER events_are_final BEFORE UPDATE ON events
            BEGIN SELECT RAISE (ABORT, 'events are only ever added'); END""",
        # The counts after so many events; the events that follow are learned when the store is opened.
        "CREATE TABLE learned (only INTEGER PRIMARY KEY CHECK (only = 1), event INTEGER NOT NULL, model BLOB NOT NULL)",
        "CREATE TABLE elsewhere (digest TEXT PRIMARY KEY, at REAL NOT NULL, model BLOB NOT NULL)",
        "CREATE TABLE scores (only INTEGER PRIMARY KEY CHECK (only = 1), held BLOB NOT NULL)",
        "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    ),
)


def bring_up_to_date(db: sqlite3.Connection, name: str) -> None:
    """Make the tables of the newest version; each step is done whole or not at all.

    Raises
    ------
    DataError
        If the file belongs to something else, or is of a newer version.
    """
    (application,), (version,) = (
        db.execute(f"PRAGMA {what}").fetchone() for what in ("application_id", "user_version")
    )
    if application != APPLICATION and (application or version or db.execute("SELECT 1 FROM sqlite_master").fetchone()):
        raise DataError(f"{name} is an SQLite file of something else; name another file with --store")
    if version > len(VERSIONS):
        raise DataError(
            f"{name} has version {version}, and this plausible reads up to {len(VERSIONS)}; upgrade plausible"
        )
    for number, steps in enumerate(VERSIONS[version:], version + 1):
        db.execute("BEGIN IMMEDIATE")
        try:
            for step in steps:
                db.execute(step)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {number}")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
