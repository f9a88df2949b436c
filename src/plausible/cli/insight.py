"""What lies behind a network's answers: reasons, sensitivity, what to observe next, facts and cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from plausible.cli import show
from plausible.cli.evidence import asked
from plausible.wording import quantity

if TYPE_CHECKING:
    from plausible.cpds import CPD
    from plausible.infer.evidence import Evidence
    from plausible.network import Network


def network_reasons(
    network_file: str,
    variable: str,
    given: tuple[str, ...],
    do: tuple[str, ...],
    label: str | None,
    against: str | None,
    top: int,
    bits: bool,
    format_: show.Format | None,
) -> None:
    """Print what each finding says for a state of a variable and against another."""
    from plausible.infer.attribution import reasons
    from plausible.infer.exact import conflict

    network, evidence = asked(network_file, given, do)
    why = reasons(network, variable, evidence, label, against)
    why = why.in_bits() if bits else why
    record = {**asdict(why), "conflict": conflict(network, evidence)}
    show.one(record, format_, lambda: _reasons_table(record, top, "bits" if bits else "nats"))


def _reasons_table(record: dict[str, Any], top: int, unit: str) -> str:
    shown, rest = record["reasons"][:top], record["reasons"][top:]
    most = max((abs(one["weight"]) for one in shown), default=0.0)
    entries = [
        {
            "finding": one["finding"],
            "for": one["weight"],
            "±": one["error"],
            "without it": one["without"],
            "": ("+" if one["weight"] > 0 else "−") + show.bar(one["weight"], most) if one["weight"] else "",
        }
        for one in shown
    ]
    names = ["finding", "for", *(["±"] if any(one["error"] for one in shown) else []), "without it", ""]
    out = (
        f"{record['variable']}: {record['label']} rather than {record['against']}: {record['score']:+.3f} {unit} "
        f"(probability {record['probability']:.3f})\n\n{show.table(entries, names)}\nprior {record['prior']:+.3f}"
    )
    if rest:
        out += f", {len(rest):,} more {sum(one['weight'] for one in rest):+.3f}"
    if record["conflict"] > 0:
        out += f"; the findings speak against each other: conflict {record['conflict']:.3f} nats"
    return out + "\n"


def next_observations(
    network: Network, variable: str, evidence: Evidence, top: int, format_: show.Format | None
) -> None:
    """Print how much each other variable would tell of one, in nats."""
    from plausible.infer.analysis import value_of_observing

    ranked = value_of_observing(network, variable, evidence)[:top]
    columns = ["variable", "nats"]
    records: list[dict[str, Any]] = [{"variable": name, "nats": value} for name, value in ranked]
    if show.chosen(format_) == "table":
        columns.append("bar")
        for record in records:
            record["bar"] = show.bar(record["nats"], ranked[0][1])
    show.rows(records, format_, columns)


def sensitivities(
    network: Network, variable: str, state: str, evidence: Evidence, top: int, format_: show.Format | None
) -> None:
    """Print the parameters on which P(variable = state) hangs most."""
    from plausible.infer.analysis import parameter_sensitivity, steepest

    slopes = steepest(network, parameter_sensitivity(network, variable, state, evidence), top)
    columns = ["parameter", "value", "slope"]
    records: list[dict[str, Any]] = [asdict(slope) for slope in slopes]
    if show.chosen(format_) == "table":
        columns.append("bar")
        for record in records:
            sign = "+" if record["slope"] > 0 else "−"
            record["bar"] = sign + show.bar(record["slope"], abs(records[0]["slope"]))
    show.rows(records, format_, columns)


def network_info(network_file: str, given: tuple[str, ...], do: tuple[str, ...], format_: show.Format | None) -> None:
    """Print the facts of a network file, the cost of an exact query with this evidence included."""
    network, evidence = asked(network_file, given, do)
    record = {"network": network_file, **network_facts(network, evidence)}

    def as_table() -> str:
        def rows() -> Iterator[dict[str, str]]:
            for key, value in record.items():
                if isinstance(value, list):
                    value = quantity(len(value), "variable") if key == "largest_table" else " and ".join(value)
                yield {"fact": key.replace("_", " "), "value": show.display(value)}

        return show.table(list(rows()), ["fact", "value"])

    show.one(record, format_, as_table)


def network_facts(network: Network, evidence: Evidence) -> dict[str, Any]:
    """What `info` says of a network."""
    from math import inf

    from plausible.infer.engine import engine
    from plausible.infer.gaussian import ask_mixed

    facts: dict[str, Any] = {
        "name": network.name or None,
        "variables": len(network),
        "arcs": len(network.graph.arcs),
        "parameters": sum(_parameters(network[name]) for name in network.names),
        "most_states": max((len(v.states) for v in network.variables), default=0),
        "most_parents": max((len(p) for p in network.graph.parents.values()), default=0),
    }
    if any(variable.kind == "continuous" for variable in network.variables):
        return facts | ({"log_density_of_evidence": ask_mixed(network, evidence).log_density} if evidence else {})
    tree = engine(network)
    found = tree.findings(evidence)
    schedule = tree.schedule(found.seen, {**found.weighed, **found.soft}, memory=inf)
    cost = tree.cost(schedule)
    facts |= {
        "exact_entries": round(cost.entries),
        "exact_megabytes": cost.bytes / 2**20,
        "largest_table": list(cost.widest),
        "largest_table_entries": round(cost.largest),
        "exact_is_affordable": tree.affordable(schedule, None),
    }
    return facts | (_evidence_facts(network, evidence) if evidence and facts["exact_is_affordable"] else {})


def _evidence_facts(network: Network, evidence: Evidence) -> dict[str, Any]:
    """How probable the evidence is, how much its findings speak against each other, and which can't be together."""
    from plausible.infer.engine import Impossible
    from plausible.infer.exact import ask, conflict, log_probability

    facts = {
        "log_probability_of_evidence": log_probability(network, evidence),
        "conflict_in_nats": conflict(network, evidence),
    }
    try:
        ask(network, evidence, [])
    except Impossible as error:
        return {**facts, "impossible_together": list(error.conflict)}
    return facts


def _parameters(cpd: CPD) -> int:
    """How many numbers are free: a row of k probabilities has k - 1."""
    from plausible.cpds import LinearGaussian, NoisyMax, Table, Words

    if isinstance(cpd, LinearGaussian):
        return cpd.intercept.size + cpd.weights.size + cpd.variance.size
    if isinstance(cpd, Words):
        return cpd.values.size - (len(cpd.values) if cpd.events == "multinomial" else 0)
    width = len(cpd.child.states)
    if isinstance(cpd, NoisyMax):
        return (width - 1) * (1 + sum(len(push) - 1 for push in cpd.pushes))
    return cpd.values.size // width * (width - 1) if isinstance(cpd, Table) else 0
