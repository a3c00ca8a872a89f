# SPDX-License-Identifier: MIT
# figures.py - medians, ratios of one round, their intervals, and the tables made of them.
import math

from workloads import GROUPS, WORKLOADS


def median(numbers):
    ordered = sorted(numbers)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2


def interval(numbers):
    """(low, high, confidence) of the median by order statistics: no assumption on the distribution.

    The narrowest pair of them that covers the median with 95 %; with less than six numbers no pair
    does, and it is the range with the confidence it has."""
    ordered, n = sorted(numbers), len(numbers)
    best = 0
    for k in range(n // 2):
        outside = 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2 ** n
        if 1 - outside >= 0.95:
            best = k
    confidence = 1 - 2 * sum(math.comb(n, i) for i in range(best + 1)) / 2 ** n
    return ordered[best], ordered[n - 1 - best], max(0.0, confidence)


def geometric_mean(numbers):
    return math.exp(sum(math.log(n) for n in numbers) / len(numbers))


class Runs:
    """All single runs: one dictionary each, with workload, allocator, round and figures."""

    def __init__(self, runs):
        self.runs = [r for r in runs if not r.get("failed")]
        self.failed = [r for r in runs if r.get("failed")]
        self.allocators = []
        for r in runs:
            if r["allocator"] not in self.allocators:
                self.allocators.append(r["allocator"])

    def workloads(self):
        there = {r["workload"] for r in self.runs + self.failed}
        return [name for name in WORKLOADS if name in there]

    def by_round(self, workload, allocator, key):
        return {(r["set"], r["round"]): r[key] for r in self.runs
                if r["workload"] == workload and r["allocator"] == allocator and key in r}

    def values(self, workload, allocator, key):
        return list(self.by_round(workload, allocator, key).values())

    def ratios(self, workload, allocator, base, key, better):
        """Of the rounds both have; above 1 is better than the base."""
        mine = self.by_round(workload, allocator, key)
        theirs = self.by_round(workload, base, key)
        found = []
        for r, value in mine.items():
            if r in theirs and value > 0 and theirs[r] > 0:
                ratio = value / theirs[r]
                found.append(ratio if better == "more" else 1 / ratio)
        return found


def short(number):
    if number == 0:
        return "0"
    if abs(number) >= 1000:
        return "%.0f" % number
    return "%.3g" % number


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def speed_table(runs, base, key="value", intervals=False):
    """Ratios to base, per workload; the last line is their geometric mean."""
    shown = [a for a in runs.allocators if a != base]
    rows, means = [], {a: [] for a in shown}
    for name in runs.workloads():
        workload = WORKLOADS[name]
        if workload.unit == "MiB" and key == "value":
            continue
        better = workload.better if key == "value" else "less"
        base_values = runs.values(name, base, key)
        unit = workload.unit if key == "value" else ""
        row = [name, (short(median(base_values)) + " " + unit).strip() if base_values else "-"]
        for allocator in shown:
            ratios = runs.ratios(name, allocator, base, key, better)
            if not ratios:
                row.append("-")
                continue
            cell = "%.2f" % median(ratios)
            if intervals and len(ratios) > 1:
                cell += " (%.2f-%.2f)" % interval(ratios)[:2]
            row.append(cell)
            if workload.group != "s":
                means[allocator].append(median(ratios))
        if any(cell != "-" for cell in row[1:]):
            rows.append(row)
    mean_row = ["**geometric mean**", ""]
    for allocator in shown:
        mean_row.append("**%.2f**" % geometric_mean(means[allocator]) if means[allocator] else "-")
    return table(["workload", base] + shown, rows + [mean_row])


def plain_table(runs, key, names=None):
    """Medians as they are."""
    rows = []
    for name in names or runs.workloads():
        row = [name]
        for allocator in runs.allocators:
            values = runs.values(name, allocator, key)
            row.append(short(median(values)) if values else "-")
        if any(cell != "-" for cell in row[1:]):
            rows.append(row)
    return table(["workload"] + runs.allocators, rows) if rows else ""


def extra_tables(runs):
    """A table for each workload that prints more than one figure of interest."""
    text = []
    for name in runs.workloads():
        workload = WORKLOADS[name]
        if not workload.extra:
            continue
        rows = []
        for allocator in runs.allocators:
            cells = []
            for key in workload.extra:
                values = runs.values(name, allocator, key)
                cells.append(short(median(values)) if values else "-")
            if any(cell != "-" for cell in cells):
                rows.append([allocator] + cells)
        text.append("### %s: %s\n\n" % (name, workload.does) +
                    table(["allocator"] + list(workload.extra), rows))
    return "\n".join(text)


def limit_table(runs):
    """Workloads that are another one under a limit: how much slower each allocator is than without."""
    rows = []
    for name in runs.workloads():
        base = WORKLOADS[name].base
        row = [name]
        for allocator in runs.allocators if base else ():
            mine, free = runs.values(name, allocator, "value"), runs.values(base, allocator, "value")
            row.append("%.2f" % (median(free) / median(mine)) if mine and free else "-")
        if any(cell != "-" for cell in row[1:]):
            rows.append(row)
    if not rows:
        return ""
    return "### Times slower than the same allocator without the limit\n\n" + table(
        ["workload"] + runs.allocators, rows)


COUNTERS = ("core.slow_calls", "core.samples", "core.remote_frees", "core.batched_frees", "core.adopted_heaps",
            "core.purge_calls", "core.purged_bytes", "core.purge_longest_ns", "core.populate_calls")


def counter_table(runs):
    """Medians of the library's own counters, for the runs that kept them; slow calls per operation."""
    rows = []
    for name in runs.workloads():
        kept = [r for r in runs.runs if r["workload"] == name and r.get("counters")]
        if not kept:
            continue
        row = [name]
        for key in COUNTERS:
            found = [r["counters"][key] for r in kept if key in r["counters"]]
            row.append(short(median(found)) if found else "-")
        found = [r["counters"]["core.slow_calls"] / r["ops"] for r in kept
                 if r.get("ops") and "core.slow_calls" in r["counters"]]
        row.append("%.2f %%" % (100 * median(found)) if found else "-")
        rows.append(row)
    if not rows:
        return ""
    return "### Counters of the library\n\n" + table(
        ["workload"] + [key.split(".")[1] for key in COUNTERS] + ["slow calls / operation"], rows)


def best_peer(runs, name, peers, key="value"):
    """The peer whose median is best, or None."""
    better = WORKLOADS[name].better if key == "value" else "less"
    found = [(median(v), p) for p in peers for v in [runs.values(name, p, key)] if v]
    if not found:
        return None
    return (max(found) if better == "more" else min(found))[1]


def against_table(runs, ours, peers, chosen_in, key="value"):
    """Ours against the best peer of each workload, which is chosen in other runs where given."""
    rows, means = [], []
    for name in runs.workloads():
        workload = WORKLOADS[name]
        if workload.unit == "MiB" or workload.group in ("s", "f"):
            continue
        peer = best_peer(chosen_in, name, peers, key)
        better = workload.better if key == "value" else "less"
        ratios = runs.ratios(name, ours, peer, key, better) if peer else []
        if not ratios:
            rows.append([name, peer or "-", "-", "-", "no figure"])
            continue
        low, high, confidence = interval(ratios)
        means.append(median(ratios))
        verdict = "ahead" if low > 1 else "level" if high >= 1 else "**behind**"
        rows.append([name, peer, "%.2f" % median(ratios), "%.2f-%.2f" % (low, high), verdict])
    text = table(["workload", "best peer", ours + " / best", "interval", ""], rows)
    if means:
        text += "\nGeometric mean over these: %.2f.\n" % geometric_mean(means)
    singles = []
    for peer in peers:
        found = []
        for name in runs.workloads():
            if WORKLOADS[name].unit == "MiB" or WORKLOADS[name].group in ("s", "f"):
                continue
            better = WORKLOADS[name].better if key == "value" else "less"
            ratios = runs.ratios(name, ours, peer, key, better)
            if ratios:
                found.append(median(ratios))
        if found:
            singles.append((geometric_mean(found), peer))
    if singles:
        worst, peer = min(singles)
        text += "Geometric mean against the best single peer (%s): %.2f.\n" % (peer, worst)
    return text


def confidence_note(runs):
    rounds = {}
    for r in runs.runs:
        key = (r["workload"], r["allocator"])
        rounds[key] = rounds.get(key, 0) + 1
    if not rounds:
        return ""
    least, most = min(rounds.values()), max(rounds.values())
    n = "%d" % least if least == most else "%d to %d" % (least, most)
    return ("%s rounds; a ratio is taken within a round, shown is their median; the interval is of order "
            "statistics (95 %%; with less than 6 rounds the range: %.0f %% for 5, 75 %% for 3).\n"
            % (n, 93.75))


def groups_text():
    lines = []
    for group, title in GROUPS.items():
        lines.append("%s: %s" % (group, title))
        for w in WORKLOADS.values():
            if w.group == group:
                lines.append("    %-18s %-11s %s" % (w.name, w.unit, w.does))
    return "\n".join(lines)
