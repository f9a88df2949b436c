"""The reader: news that learns what you find interesting (after Lang 1995, NewsWeeder)."""
