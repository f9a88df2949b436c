"""The reader in a browser."""

from __future__ import annotations

from plausible.web.serving import serve

__all__ = ["serve"]
