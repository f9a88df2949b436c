"""A network as a picture (SVG): layers from top to bottom, belief bars in the nodes, evidence marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, exp
from unicodedata import combining, east_asian_width

import numpy as np

from plausible.cpds import Array
from plausible.infer.approximate import Estimate, Method, estimate
from plausible.infer.evidence import Evidence, Likelihood, Not
from plausible.layout import Box, Point, layered
from plausible.network import Network
from plausible.schema import Variable
from plausible.wording import quantity

MOST_STATES = 7
"""Rows in a node; of more states the most probable are shown and the rest are summed up."""

MARGIN, TITLE, ROW, PAD = 28.0, 30.0, 19.0, 12.0
BAR, NUMBER = 72.0, 46.0
LONGEST_NAME, LONGEST_STATE = 210.0, 110.0

NARROW, WIDE = set("iljtfrI.,:;|!'()[]/ -"), set("mwMW@%◆✕≈")

STYLE = """
text { font-family: Inter, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif; font-size: 12px; fill: #1f2933; }
.name { font-size: 13px; font-weight: 600; fill: #10181f; }
.number { text-anchor: end; font-variant-numeric: tabular-nums; fill: #3e4c59; }
.small { font-size: 11px; fill: #52606d; }
.seen { font-weight: 700; fill: #10181f; }
.box { fill: #ffffff; stroke: #b8c2cc; }
.given .box { stroke: #10181f; stroke-width: 2.5; }
.rule { stroke: #e4e9ee; }
.track { fill: #eef2f5; }
.bar { fill: #4a7fb5; }
.before { stroke: #ffffff; stroke-width: 4; }
.before + .before { stroke: #10181f; stroke-width: 1.6; }
.arc { fill: none; stroke: #8694a3; stroke-width: 1.3; }
.head { fill: #8694a3; }
g.node:focus { outline: 2px solid #1d5fa8; outline-offset: 3px; }
"""


@dataclass(frozen=True, slots=True)
class _Line:
    """A row of a node: a state, or all that are folded away."""

    label: str
    now: float | None
    before: float | None
    mark: str = ""

    @property
    def shown(self) -> str:
        return f"{self.mark} {self.label}" if self.mark else self.label


@dataclass(frozen=True, slots=True)
class _Node:
    """What a node shows."""

    name: str
    lines: list[_Line]
    finding: str

    @property
    def height(self) -> float:
        return TITLE + (PAD / 2 + ROW * len(self.lines) + PAD / 2 if self.lines else 0.0)

    def described(self) -> str:
        """The node in words, for a pointer that rests on it and for screen readers."""
        said = [f"{self.name}{f' ({self.finding})' if self.finding else ''}"]
        for line in self.lines:
            if line.now is None:
                said.append(line.label)
            else:
                was = f", {_percent(line.before)} before" if line.before is not None else ""
                said.append(f"{line.label}: {_percent(line.now)}{was}")
        return "\n".join(said)


def draw(
    network: Network,
    given: Evidence | None = None,
    *,
    method: Method | None = "auto",
    memory: float | None = None,
) -> str:
    """The network as an SVG picture.

    Parameters
    ----------
    network : Network
    given : mapping of str to finding
        Evidence; each node then shows what is believed with it, and a mark where belief was before.
    method : "auto", "exact", "weighting", "gibbs", "loopy" or None
        How beliefs are found; None leaves the bars out.
    memory : float, optional
        Bytes that inference may take.

    Returns
    -------
    str

    Examples
    --------
    >>> wet = Network(
    ...     {"rain": [], "wet": ["rain"]}, {"rain": [0.2, 0.8], "wet": [[0.9, 0.1], [0.3, 0.7]]}, states=("yes", "no")
    ... )
    >>> picture = draw(wet, {"wet": "yes"})
    >>> picture[:4], "rain\\nyes: 42.9%, 20.0% before" in picture
    ('<svg', True)
    """
    discrete = all(variable.kind != "continuous" for variable in network.variables)
    now: Mapping[str, Array] = {}
    before: Mapping[str, Array] = {}
    caption = []
    if method is not None and discrete and len(network):
        answer = estimate(network, given, method, memory=memory)
        now = answer.posteriors
        if given:
            before = estimate(network, None, method, memory=memory).posteriors
            caption = _legend(answer)
    nodes = {
        variable.name: _node(variable, now.get(variable.name), before.get(variable.name), given or {})
        for variable in network.variables
    }
    lines = [line for node in nodes.values() for line in node.lines]
    label = max((min(_width(line.shown, bold=bool(line.mark)), LONGEST_STATE) for line in lines), default=0)
    title = max((min(_width(name, 13, bold=True), LONGEST_NAME) for name in nodes), default=0)
    wide = ceil(max(2 * PAD + title, 2 * PAD + label + (8 + BAR + NUMBER if now else 0), 96))
    page = layered(network.graph, {name: (wide, node.height) for name, node in nodes.items()})
    arcs = [_arc(f"{a} → {b}", route) for (a, b), route in page.routes.items()]
    boxes = [_group(nodes[name], page.boxes[name], label) for name in network.graph.order]
    empty = [] if nodes else ['<text class="small">This network has no variables.</text>']
    width, tall = max(page.width, 500 if caption else 200), page.height + (56 if caption else 0)
    foot = [f'<g transform="translate(0 {_n(page.height + 30)})">', *caption, "</g>"] if caption else []
    name = escape(network.name or "Belief network")
    words = f"{quantity(len(network), 'variable')}, {quantity(len(network.graph.arcs), 'arc')}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width + 2 * MARGIN)}" '
            f'height="{_n(tall + 2 * MARGIN)}" viewBox="{_n(-MARGIN)} {_n(-MARGIN)} '
            f'{_n(width + 2 * MARGIN)} {_n(tall + 2 * MARGIN)}" role="img" aria-labelledby="title words">',
            f'<title id="title">{name}</title>',
            f'<desc id="words">{words}</desc>',
            f"<style>{STYLE}</style>",
            f'<rect x="{_n(-MARGIN)}" y="{_n(-MARGIN)}" width="100%" height="100%" fill="#ffffff"/>',
            *arcs,
            *boxes,
            *empty,
            *foot,
            "</svg>",
            "",
        ]
    )


def _node(variable: Variable, now: Array | None, before: Array | None, given: Evidence) -> _Node:
    finding, marks = _finding(variable, given)
    states = list(range(len(variable.states)))
    if len(states) > MOST_STATES:
        key = {i: (not marks[i], -(0.0 if now is None else now[i]), i) for i in states}
        states = sorted(sorted(states, key=key.__getitem__)[: MOST_STATES - 1])

    def line(label: str, at: Sequence[int], mark: str = "") -> _Line:
        shares = [None if beliefs is None else float(beliefs[at].sum()) for beliefs in (now, before)]
        return _Line(label, shares[0], shares[1], mark)

    lines = [line(variable.states[i], [i], marks[i]) for i in states]
    if rest := [i for i in range(len(variable.states)) if i not in states]:
        lines.append(line(f"… {len(rest)} more", rest))
    return _Node(variable.name, lines, finding)


def _finding(variable: Variable, given: Evidence) -> tuple[str, list[str]]:
    """What is known of a variable in a word, and a sign for each state that it is about."""
    marks = [""] * len(variable.states)
    finding = given.get(variable.name)
    if finding is None:
        return "", marks
    if variable.kind == "text":
        return "given", marks
    if isinstance(finding, (str, int, np.integer)):
        marks[variable.index(finding) if isinstance(finding, str) else int(finding)] = "◆"
        return "observed", marks
    if isinstance(finding, Not):
        for state in finding.states:
            marks[variable.index(state) if isinstance(state, str) else state] = "✕"
        return "ruled out", marks
    return ("likelihood" if isinstance(finding, Likelihood) else "expected"), ["≈"] * len(marks)


def _group(node: _Node, box: Box, label: float) -> str:
    """A node: frame, name, and a row a state with its bar."""
    kind = "node given" if node.finding else "node"
    room = box.width - 2 * PAD - (_width(node.finding, 11) + 10 if node.finding else 0.0)
    parts = [
        f'<g class="{kind}" transform="translate({_n(box.x)} {_n(box.y)})" tabindex="0" role="img">',
        f"<title>{escape(node.described())}</title>",
        f'<rect class="box" width="{_n(box.width)}" height="{_n(box.height)}" rx="7"/>',
        f'<text class="name" x="{_n(PAD)}" y="20">{_fitted(node.name, room, 13, bold=True)}</text>',
    ]
    if node.finding:
        tag = f'<text class="small number" x="{_n(box.width - PAD)}" y="20">{node.finding}</text>'
        parts.append(tag)
    if node.lines:
        parts.append(f'<line class="rule" x1="0" x2="{_n(box.width)}" y1="{_n(TITLE)}" y2="{_n(TITLE)}"/>')
    for i, line in enumerate(node.lines):
        parts += _row(line, TITLE + PAD / 2 + ROW * i, box.width, label)
    return "\n".join([*parts, "</g>"])


def _row(line: _Line, top: float, width: float, label: float) -> list[str]:
    middle = top + ROW / 2
    seen = ' class="seen"' if line.mark else ""
    parts = [f'<text{seen} x="{_n(PAD)}" y="{_n(middle + 4)}">{_fitted(line.shown, label + 2, bold=bool(seen))}</text>']
    if line.now is None:
        return parts
    x, long = PAD + label + 8, width - 2 * PAD - label - 8 - NUMBER
    parts.append(f'<rect class="track" x="{_n(x)}" y="{_n(middle - 5)}" width="{_n(long)}" height="10" rx="2"/>')
    if (filled := long * line.now) >= 0.05:
        bar = f'x="{_n(x)}" y="{_n(middle - 5)}" width="{_n(filled)}" height="10" rx="2"'
        parts.append(f'<rect class="bar" {bar}/>')
    if line.before is not None:
        at = x + long * line.before
        mark = f'x1="{_n(at)}" x2="{_n(at)}" y1="{_n(middle - 7)}" y2="{_n(middle + 7)}"'
        parts += [f'<line class="before" {mark}/>'] * 2
    number = f'class="number{" seen" if line.mark else ""}" x="{_n(width - PAD)}" y="{_n(middle + 4)}"'
    return [*parts, f"<text {number}>{escape(_percent(line.now))}</text>"]


def _legend(answer: Estimate) -> list[str]:
    facts = [] if answer.method == "exact" else [f"by {answer.method}"]
    if answer.log_probability is not None:
        chance = exp(answer.log_probability)
        said = f"{chance:.4g}" if chance > 1e-300 else f"e^{answer.log_probability:.1f}"
        facts.insert(0, f"probability of the evidence: {said}")
    return [
        '<rect class="bar" x="0" y="-9" width="26" height="10" rx="2"/>',
        '<text class="small" x="34" y="0">now</text>',
        '<line x1="76" x2="76" y1="-11" y2="3" stroke="#10181f" stroke-width="1.6"/>',
        '<text class="small" x="84" y="0">before the evidence</text>',
        '<rect class="box" style="stroke:#10181f;stroke-width:2.5" x="212" y="-10" width="22" height="12" rx="3"/>',
        '<text class="small" x="242" y="0">evidence: ◆ observed, ✕ ruled out, ≈ weighed</text>',
        f'<text class="small" x="0" y="22">{", ".join(facts)}</text>',
    ]


def _arc(said: str, route: Sequence[Point]) -> str:
    """A line that runs straight through the layers and swings between them, with its head."""
    (x, y), *rest = route
    path = [f"M{_n(x)} {_n(y)}"]
    ex, ey = rest.pop()
    for i, (nx, ny) in enumerate([*rest, (ex, ey - 6)]):
        if i % 2 == 0 or nx == x:
            path.append(f"L{_n(nx)} {_n(ny)}")
        else:
            bend = (ny - y) * 0.55
            path.append(f"C{_n(x)} {_n(y + bend)} {_n(nx)} {_n(ny - bend)} {_n(nx)} {_n(ny)}")
        x, y = nx, ny
    head = f"M{_n(ex)} {_n(ey)}l-4 -8h8z"
    title = f"<title>{escape(said)}</title>"
    return f'<g>{title}<path class="arc" d="{"".join(path)}"/><path class="head" d="{head}"/></g>'


def _percent(share: float | None) -> str:
    if share is None:
        return ""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    return "<0.1%" if share < 0.0005 else ">99.9%" if share > 0.9995 else f"{share:.1%}"


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _width(text: str, size: float = 12, *, bold: bool = False) -> float:
    """About how wide a text is set, in pixels; the font is not known here."""
    ems = sum(
        0.0 if combining(c) else 1.0 if east_asian_width(c) in "WF" else 0.32 if c in NARROW else
        0.9 if c in WIDE else 0.68 if c.isupper() else 0.57
        for c in text
    )  # fmt: skip
    return ems * size * (1.2 if bold else 1.0)


def _fitted(text: str, width: float, size: float = 12, *, bold: bool = False) -> str:
    """The text, or as much of its beginning as fits."""
    shown = text
    while len(shown) > 1 and _width(shown, size, bold=bold) > width:
        shown = shown.removesuffix("…")[:-1] + "…"
    return escape(shown)
