# SPDX-License-Identifier: MIT
# bars.py - the promises about memory, limits and start-up, each against the figures of the runs.
from figures import interval, median, short, table
from workloads import WORKLOADS


class Bars:
    """Rows of (what, figure, bar, verdict) for one allocator; what was not measured has no row."""

    def __init__(self, runs, ours, peers, lean):
        self.runs, self.ours, self.peers = runs, ours, peers
        self.lean = [p for p in peers if p.startswith(tuple(lean))]
        self.rows = []

    def figure(self, workload, key, allocator=None):
        values = self.runs.values(workload, allocator or self.ours, key)
        return median(values) if values else None

    def least(self, workload, key, peers):
        found = [(self.figure(workload, key, p), p) for p in peers]
        found = [f for f in found if f[0] is not None]
        return min(found) if found else (None, None)

    def judge(self, what, figure, bar, unit, remark=""):
        if figure is None or bar is None:
            return
        self.rows.append([what, "%s %s" % (short(figure), unit), "%s %s%s" % (short(bar), unit, remark),
                          "holds" if figure <= bar else "**missed**"])

    def memory_comes_back(self):
        for how in ("main", "threads", "idle", "producer"):
            name = "giveback-" + how
            self.judge(name + ": above start after 1 s", self.figure(name, "soon_mib"), 8, "MiB")

    def peaks(self):
        for name in self.runs.workloads():
            key = "heap_peak_mib" if name == "server" else "peak_mib"
            if WORKLOADS[name].group == "s":
                continue
            least, peer = self.least(name, key, self.lean)
            if least is not None:
                self.judge(name + ": peak RSS", self.figure(name, key), 1.1 * least + 2, "MiB", " (%s)" % peer)

    def server_in_the_evening(self):
        least, peer = self.least("server", "rss_per_live", self.peers)
        self.judge("server: RSS per live byte", self.figure("server", "rss_per_live"), least, "", " (%s)" % peer)
        pages = self.figure("server", "live_pages_mib")
        if pages is not None:
            self.judge("server: RSS", self.figure("server", "end_mib"), 1.15 * pages + 4, "MiB")

    def limits(self):
        for name, bar in (("limit0", 2.0), ("limit1", 1.5)):
            free, limited = self.figure("churn4", "value"), self.figure(name, "value")
            if free and limited:
                self.judge(name + ": slower than without", free / limited, bar, "x")

    def requests(self):
        least, peer = self.least("requests", "p999_us", self.peers)
        ratios = self.runs.ratios("requests", self.ours, peer, "p999_us", "less") if peer else []
        if ratios:
            low, high, _ = interval(ratios)
            self.rows.append(["requests: p99.9 of %s / ours" % peer, "%.2f (%.2f-%.2f)" % (median(ratios), low, high),
                              "1", "holds" if high >= 1 else "**missed**"])
        for run in self.runs.runs:
            if run["workload"] == "requests" and run["allocator"] == self.ours and run.get("counters"):
                longest = run["counters"].get("core.purge_longest_ns")
                self.judge("requests: longest purge, round %d" % run["round"],
                           None if longest is None else longest / 1000, 200, "us")

    def start(self, plain):
        with_us, without = self.figure("true", "value"), self.figure("true", "value", plain)
        if with_us is not None and without is not None:
            self.judge("true: more than " + plain, with_us - without, 1, "ms")
        with_us, without = self.figure("forks", "value"), self.figure("forks", "value", plain)
        if with_us is not None and without is not None:
            self.judge("forks: more than " + plain, 100 * (with_us / without - 1), 5, "%")

    def text(self, plain):
        self.memory_comes_back()
        self.server_in_the_evening()
        self.limits()
        self.requests()
        self.start(plain)
        self.peaks()
        return table(["what", self.ours, "bar", ""], self.rows) if self.rows else ""
