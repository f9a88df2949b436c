"""Write unicode_tables.hpp: what each character is to the tokeniser, from one pinned Unicode version.

Folding is Unicode's full case folding, then full-width letters and digits to their plain forms. The iota that can
stand below Greek vowels stays a mark until marks are in order (`compose` makes it a letter), since folding may not
depend on that order. Only characters that the pinned version knows are folded, so the tables are the same whatever
Python builds them.
"""

import sys

import unicodedata2 as ucd

LAST = 0x110000
BLOCK = 128
SEPARATOR, WORD, MARK, UNSPACED, IGNORED, APOSTROPHE = range(6)
UNSPACED_NAMES = (
    "CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA",
    "HALFWIDTH HIRAGANA", "IDEOGRAPHIC ITERATION", "IDEOGRAPHIC NUMBER ZERO", "THAI ", "LAO ", "KHMER ", "MYANMAR ",
    "TAI THAM ", "NEW TAI LUE ", "TAI LE ", "TAI VIET ", "JAVANESE ", "BALINESE ", "TANGUT ", "NUSHU ",
)  # fmt: skip
IGNORED_RANGES = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x180B, 0x180F), (0x200C, 0x200F), (0x202A, 0x202E),
    (0x2060, 0x2064), (0x2066, 0x2069), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xE0100, 0xE01EF),
)  # fmt: skip
APOSTROPHES = {0x27, 0x2019, 0x02BC, 0xFF07}
APOSTROPHE_N = 0x0149  # folds to an apostrophe and n; an apostrophe before a word is no part of it
IOTA_BELOW = "\u0345"


def kind(code: int) -> int:
    if code in APOSTROPHES:
        return APOSTROPHE
    if any(low <= code <= high for low, high in IGNORED_RANGES):
        return IGNORED
    char = chr(code)
    category = ucd.category(char)
    if category[0] == "M":
        return MARK
    if category[0] == "L" or category == "Nl":
        unspaced = ucd.name(char, "").startswith(UNSPACED_NAMES)
        return UNSPACED if unspaced else WORD
    return WORD if category[0] == "N" else SEPARATOR


def fold(code: int) -> str:
    char = chr(code)
    if ucd.category(char) in ("Cn", "Cs"):
        return char
    if code == APOSTROPHE_N:
        return "n"
    parts = ucd.normalize("NFD", char)
    folded = parts.replace(IOTA_BELOW, "").casefold() + IOTA_BELOW if IOTA_BELOW in parts else char.casefold()
    return "".join(chr(ord(c) - 0xFEE0) if 0xFF10 <= ord(c) <= 0xFF5A else c for c in folded)


def array(name: str, ctype: str, values: list[int]) -> str:
    rows = [",".join(str(value) for value in values[i : i + 32]) for i in range(0, len(values), 32)]
    return f"inline constexpr {ctype} {name}[] = {{\n" + ",\n".join(rows) + "};\n"


def longest_run(values: list[int], wanted: int) -> list[int]:
    """The first and last place of the longest run of a value among characters of three bytes."""
    best, first = [0, -1], 0x800
    for place in range(0x800, 0x10000):
        if values[place] != wanted:
            first = place + 1
        elif place - first > best[1] - best[0]:
            best = [first, place]
    return best


def main(path: str) -> None:
    decompositions: dict[int, str] = {}
    compositions: dict[tuple[int, int], int] = {}
    for code in range(LAST):
        if 0xAC00 <= code <= 0xD7A3 or 0xD800 <= code <= 0xDFFF:
            continue
        char = chr(code)
        full = ucd.normalize("NFD", char)
        if full != char:
            decompositions[code] = full
            parts = ucd.decomposition(char).split()
            if len(parts) == 2 and ucd.normalize("NFC", full) == char:
                compositions[int(parts[0], 16), int(parts[1], 16)] = code
    seconds = {second for _, second in compositions} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))

    def unstable(char: str) -> int:
        return int(ord(char) in seconds or ucd.normalize("NFC", char) != char)

    folds: list[int] = []
    records: dict[tuple[int, int, int, int, int], int] = {}
    indices = []
    for code in range(LAST):
        char = chr(code)
        if 0xD800 <= code <= 0xDFFF:
            record = (0, SEPARATOR, 0, 0, 0)
        else:
            folded = fold(code)
            many = int(len(folded) > 1)
            shift = len(folds) if many else ord(folded) - code
            if many:
                folds += [len(folded), *map(ord, folded)]
            record = (shift, kind(code), ucd.combining(char), 0 if many else unstable(folded), many)
        indices.append(records.setdefault(record, len(records)))

    ideographs = longest_run(indices, records[0, UNSPACED, 0, 0, 0])

    blocks: dict[tuple[int, ...], int] = {}
    stage1 = [blocks.setdefault(tuple(indices[i : i + BLOCK]), len(blocks)) for i in range(0, LAST, BLOCK)]
    stage2 = [index for block in blocks for index in block]
    pairs = sorted((first << 32 | second, code) for (first, second), code in compositions.items())
    spans, sequence = [], []
    for code, full in sorted(decompositions.items()):
        spans += [code, len(sequence), len(full)]
        sequence += [ord(c) for c in full]
    rows = ",\n".join("{{{},Kind({}),{},{},{}}}".format(*record) for record in records)
    with open(path, "w", encoding="ascii") as out:
        out.write(
            f"// Made by unicode_tables.py from Unicode {ucd.unidata_version}.\n#pragma once\n#include <cstdint>\n"
        )
        out.write(f'namespace unicode {{\ninline constexpr char version[] = "{ucd.unidata_version}";\n')
        out.write(array("block_of", "std::uint16_t", stage1))
        out.write(array("record_of", "std::uint16_t", stage2))
        out.write(f"inline constexpr Record records[] = {{\n{rows}}};\n")
        out.write(array("ideographs", "char32_t", ideographs))
        out.write(array("folded", "std::uint32_t", folds))
        out.write(array("composed_pairs", "std::uint64_t", [pair for pair, _ in pairs]))
        out.write(array("composed", "std::uint32_t", [code for _, code in pairs]))
        out.write(array("decomposed_spans", "std::uint32_t", spans))
        out.write(array("decomposed", "std::uint32_t", sequence))
        out.write("}\n")


if __name__ == "__main__":
    main(sys.argv[1])
