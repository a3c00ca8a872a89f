# SPDX-License-Identifier: MIT
# workloads.py - the table of workloads: how each is run, and where in its output the figure stands.
import os
import re
import shutil

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Missing(Exception):
    """The workload cannot run here; the text says what is not there."""


class Workload:
    """One row of the tables.

    command(place) is the list of words to run, for a Place. unit and better say what the value is;
    the value is the second word of the printed line (ours), what `pattern` finds in the output, or
    the wall time. extra: further keys of the printed line that get a table of their own."""

    def __init__(self, name, group, command, unit, better, does, **more):
        self.name, self.group, self.unit, self.better, self.does = name, group, unit, better, does
        self.make_command = command
        self.pattern = more.get("pattern")
        self.is_ours = more.get("is_ours", False)
        self.env = more.get("env", {})
        self.extra = more.get("extra", ())
        self.limit_s = more.get("limit_s", 60)
        self.base = more.get("base")

    def command(self, place):
        return self.make_command(place)

    def value(self, output, errors, wall):
        """The figure, and the keys beside it; ValueError when there is none."""
        if self.is_ours:
            words = output.splitlines()[-1].split() if output.strip() else []
            if len(words) < 3:
                raise ValueError("no line")
            keys = dict(w.split("=", 1) for w in words[3:])
            return float(words[1]), {k: float(v) for k, v in keys.items()}
        if self.pattern:
            found = re.findall(self.pattern, output + errors)
            if not found:
                raise ValueError("no figure in its output")
            return float(found[-1].replace(",", "")), {}
        return wall, {}


class Place:
    """Where things are: our programs, the fetched ones, a scratch folder; how long to run."""

    def __init__(self, programs, fetched, scratch, seconds):
        self.programs, self.fetched, self.scratch, self.seconds = programs, fetched, scratch, seconds

    def ours(self, name):
        path = os.path.join(self.programs, "bench_" + name)
        if not os.path.exists(path):
            raise Missing("no " + path + " (build it, or --build FOLDER)")
        return path

    def from_suite(self, name):
        if not self.fetched:
            raise Missing("its programs are given by --suite FOLDER or XPROF_BENCH_SUITE")
        for folder, _, files in sorted(os.walk(self.fetched)):
            if name in files:
                return os.path.join(folder, name)
        raise Missing("no %s below %s" % (name, self.fetched))

    def tool(self, name):
        path = shutil.which(name)
        if not path:
            raise Missing("no " + name)
        return path

    def scratch_file(self, name, write):
        """The path of a generated input, made when it is not there yet."""
        path = os.path.join(self.scratch, name)
        if not os.path.exists(path):
            with open(path, "w", encoding="ascii") as out:
                write(out)
        return path


WORKLOADS = {}


def _add(workload):
    WORKLOADS[workload.name] = workload


def _ours(name, group, words, unit, does, better="more", **more):
    program, *arguments = words.split()
    short = more.pop("short", "").split()

    def command(place):
        # Memory that must be filled takes its time: a short look fills less.
        return ([place.ours(program), "%g" % place.seconds] + arguments +
                (short if place.seconds < 0.2 else []))

    _add(Workload(name, group, command, unit, better, does, is_ours=True, **more))


_MIB = 1 << 20
_ours("churn1", "a", "churn threads=1", "Mops/s", "128 slots, 16-4095 B, one thread")
_ours("churn2", "a", "churn threads=2", "Mops/s", "the same, 2 threads")
_ours("churn4", "a", "churn threads=4", "Mops/s", "the same, 4 threads")
_ours("churn12", "a", "churn threads=12", "Mops/s", "the same, 12 threads")
_ours("churn512", "b", "churn threads=8 slots=512 least=8 most=4095 touch=ends", "Mops/s",
      "8 threads, 512 slots, 8-4095 B, both ends touched")
_ours("tiny", "c", "tiny", "Mops/s", "new char[1..7] into a vector that shrinks each round")
for _threads in (1, 2, 8):
    _ours("pair%d" % _threads, "d", "pair threads=%d" % _threads, "Mops/s",
          "malloc(64) and free, %d threads" % _threads)
_RSS = ("full_mib", "freed_mib", "soon_mib", "late_mib")
_ours("giveback-main", "e", "giveback how=main", "MiB",
      "RSS above start 1 s after 10^6 x 128 B are freed", "less", extra=_RSS, short="blocks=100000")
_ours("giveback-threads", "e", "giveback how=threads", "MiB",
      "the same, by 8 threads that end", "less", extra=_RSS, short="blocks=100000")
_ours("giveback-idle", "e", "giveback how=idle", "MiB",
      "the same, nothing is called any more; XPROF_BG_THREAD=1", "less", extra=_RSS,
      short="blocks=100000", env={"XPROF_BG_THREAD": "1"})
_ours("giveback-producer", "e2", "giveback how=producer", "MiB",
      "1 GiB filled by a thread that sleeps, freed by four", "less", extra=_RSS, short="mib=64")
for _limit in (0, 1, 16, 64):
    _ours("limit%d" % _limit, "f", "churn threads=4", "Mops/s",
          "churn4 with thread caches of %d MiB in all" % _limit, base="churn4",
          env={"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": str(_limit * _MIB)})
for _pairs in (1, 4):
    for _sizes in ("64", "mixed"):
        _ours("handoff%d-%s" % (2 * _pairs, _sizes), "g",
              "handoff pairs=%d sizes=%s" % (_pairs, _sizes), "Mops/s",
              "%d producer and consumer, %s bytes" % (_pairs, _sizes))
_ours("server", "h", "server", "Mops/s", "log-normal sizes, three lives, six phases",
      extra=("heap_peak_mib", "end_mib", "live_mib", "live_pages_mib", "rss_per_live"))
_ours("threads", "i", "short_threads", "kthreads/s", "short threads of 100 blocks")
_ours("grow-even", "j", "grow steps=even", "ms", "realloc to 256 MiB by 1 MiB", "less",
      short="mib=16")
_ours("grow-doubling", "j", "grow steps=doubling", "ms", "realloc to 256 MiB by half", "less",
      short="mib=16")
_ours("calloc-small", "k", "clear sizes=small", "Mops/s", "calloc of 16-1024 B")
_ours("calloc-large", "k", "clear sizes=large", "kops/s", "calloc of 64 KiB-1 MiB")
_ours("requests", "l", "requests", "kreq/s", "8 workers, a document of 14 allocations each",
      extra=("p50_us", "p99_us", "p999_us"))
_ours("true", "m", "spawn what=true", "ms", "/bin/true", "less")
_ours("forks", "m", "spawn what=forks", "ms", "a script of forks, per fork", "less")
# What sampling costs; not in the geometric mean of the list.
_ours("pair4000", "s", "pair size=4000", "Mops/s", "malloc(4000) and free")
_ours("queue64", "s", "pair size=64 live=100", "Mops/s", "64 B, first in first out over 100")
_ours("queue1000", "s", "pair size=1000 live=100", "Mops/s", "1000 B, the same")
_ours("queue20000", "s", "pair size=20000 live=20", "Mops/s", "20000 B, over 20")
_ours("deep60", "s", "deep frames=60", "Mops/s", "60 frames, 512 paths")
_ours("deep60x2", "s", "deep frames=60 threads=2", "Mops/s", "the same, 2 threads")


# ---- the programs of mimalloc-bench, from a folder that is given ----


def _suite(name, words, does, unit="s", better="less", pattern=None, inputs=(), limit_s=90):
    program, *arguments = words.split()

    def command(place):
        seconds = "%d" % max(1, round(place.seconds))
        files = {i: place.from_suite(i) for i in inputs}
        line = [place.from_suite(program)] + [seconds if a == "SECONDS" else a for a in arguments]
        line = [files.get(word, word) for word in line]
        if "<" in line:
            at = line.index("<")
            line = ["sh", "-c", 'exec "$0" <"$1"', line[0], line[at + 1]]
        return line

    _add(Workload(name, "mb", command, unit, better, does, pattern=pattern, limit_s=limit_s))


_suite("cfrac", "cfrac 17545186520507317056371138836327483792789528", "factors a number")
_suite("espresso", "espresso largest.espresso", "minimizes logic", inputs=("largest.espresso",))
_suite("barnes", "barnes < barnes.input", "n bodies", inputs=("barnes.input",))
_LARSON = r"Throughput = *([0-9]+) operations"
_suite("larson2", "larson SECONDS 8 1000 5000 100 4141 2", "threads that hand on their blocks",
       "ops/s", "more", _LARSON)
_suite("larson8", "larson SECONDS 8 1000 5000 100 4141 8", "the same, 8 threads", "ops/s", "more",
       _LARSON)
_suite("xmalloc-test", "xmalloc-test -w 2 -t SECONDS -s 64", "allocators and freers", "Mops/s",
       "more", r"free/sec: *([0-9.]+) M")
for _threads in (1, 2):
    _suite("cache-scratch%d" % _threads, "cache-scratch %d 1000 1 2000000 2" % _threads,
           "false sharing, passive")
    _suite("cache-thrash%d" % _threads, "cache-thrash %d 1000 1 2000000 2" % _threads,
           "false sharing, active")
_suite("glibc-simple", "glibc-simple", "glibc's benchmark, one thread")
_suite("glibc-thread", "glibc-thread 2", "glibc's benchmark, 2 threads", "iterations", "more",
       r"([0-9]+) iterations")
_suite("alloc-test1", "alloc-test 1", "random sizes, random order")
_suite("alloc-test2", "alloc-test 2", "the same, 2 threads")
_suite("mstress", "mstress 2 50 25", "blocks that move between threads")
_suite("rptest", "rptest 2 0 1 2 100 1000 100 8 16000", "rpmalloc's benchmark", "ops/CPU s", "more",
       r"([0-9]+(?:\.[0-9]+)?) *memory ops/CPU second")
_suite("malloc-large", "malloc-large", "large blocks")
_suite("mleak", "mleak 5", "threads that end")


# ---- whole programs ----


def _program(name, command, does, unit="s", better="less", **more):
    _add(Workload(name, "p", command, unit, better, does, **more))


def _write_c(out):
    out.write("struct s { int a; double b; struct s *next; };\n")
    for i in range(1200):
        out.write("static int f%d(struct s *p, int n) { int sum = 0; for (int i = 0; i < n; i++) {"
                  " sum += p->a * %d + (int)(p->b * i); if (sum > %d) { p = p->next; sum ^= i; }"
                  " switch (sum %% 5) { case 0: sum += %d; break; case 1: sum -= i; break;"
                  " default: sum *= 3; } } return sum; }\n" % (i, i + 3, i * 7, i))
    out.write("int all(struct s *p) { int t = 0;\n")
    for i in range(1200):
        out.write("t += f%d(p, %d);\n" % (i, i % 17))
    out.write("return t; }\n")


def _write_sql(out):
    out.write("PRAGMA journal_mode=OFF; CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, v REAL,"
              " note TEXT); CREATE INDEX n ON t(name);\nBEGIN;\n")
    for i in range(60000):
        out.write("INSERT INTO t VALUES(%d,'name %d',%d.5,'%s');\n"
                  % (i, i * 7919 % 60013, i, "note " * (i % 9)))
    out.write("COMMIT; SELECT count(*), sum(v) FROM t WHERE name LIKE 'name 1%';\n")


def _write_python(out):
    out.write(
        "import json, re, collections\n"
        "rows = [{'id': i, 'name': 'row %d' % i, 'tags': [str(i % 7), 'x' * (i % 40)]}\n"
        "        for i in range(20000)]\n"
        "for _ in range(3):\n"
        "    rows = json.loads(json.dumps(rows))\n"
        "    count = collections.Counter(w for r in rows for w in r['name'].split())\n"
        "    text = ' '.join(r['name'] for r in rows)\n"
        "    words = sorted(re.sub(r'(\\d)(\\d)', r'\\2\\1', text).split())\n"
        "    tree = {}\n"
        "    for r in rows:\n"
        "        tree.setdefault(r['tags'][0], []).append(dict(r, extra=list(r['tags'])))\n")


def _gcc(place):
    source = place.scratch_file("large.c", _write_c)
    # The compiler proper: the driver would only wait for it.
    compiler = os.popen("gcc -print-prog-name=cc1").read().strip()
    if not os.path.isabs(compiler):
        raise Missing("no cc1 of gcc")
    return [compiler, "-quiet", "-O1", source, "-o", os.path.join(place.scratch, "large.s")]


def _sqlite(place):
    sql = place.scratch_file("insert.sql", _write_sql)
    return ["sh", "-c", 'exec "$0" :memory: <"$1" >/dev/null', place.tool("sqlite3"), sql]


def _python(place):
    return [place.tool("python3"), place.scratch_file("rows.py", _write_python)]


def _python_tests(place):
    python = place.tool("python3")
    if os.system(python + " -c 'import test.test_json' 2>/dev/null") != 0:
        raise Missing("no test package of python3 (libpython3-testsuite)")
    return [python, "-m", "test", "-q", "test_json", "test_dict", "test_list", "test_re"]


def _redis(place):
    # The client is not under the allocator; the server's figures are its children's in `account`.
    server, client = place.tool("redis-server"), place.tool("redis-benchmark")
    socket = os.path.join(place.scratch, "redis.socket")
    requests = str(max(20000, int(100000 * place.seconds)))
    return ["sh", "-c",
            'rm -f "$2"; "$0" --port 0 --unixsocket "$2" --save "" --appendonly no --daemonize no '
            '>/dev/null & server=$!; unset LD_PRELOAD; i=0; '
            'while [ ! -S "$2" ] && [ $i -lt 50 ]; do sleep 0.1; i=$((i + 1)); done; '
            '"$1" -s "$2" -q -n "$3" -c 30 -P 16 -r 100000 -d 100 lpush list __rand_int__; '
            '"$1" -s "$2" -q -n "$3" -c 30 -P 16 -r 100000 -d 200 set key:__rand_int__ value; '
            'kill $server; wait $server',
            server, client, socket, requests]


_program("gcc", _gcc, "cc1 -O1 on a file of 1200 functions")
_program("sqlite", _sqlite, "60000 inserts with an index, in memory")
_program("python", _python, "json, regular expressions, dictionaries; PYTHONMALLOC=malloc",
         env={"PYTHONMALLOC": "malloc"})
_program("python-tests", _python_tests, "four of python3's test modules; PYTHONMALLOC=malloc",
         env={"PYTHONMALLOC": "malloc"})
_program("redis", _redis, "redis-benchmark: lpush and set, 30 clients", "req/s", "more",
         pattern=r"([0-9.]+) requests per second")

GROUPS = {
    "a": "churn", "b": "churn of 8 threads", "c": "tiny blocks of C++", "d": "pairs",
    "e": "RSS after all is freed", "e2": "RSS, freed by others", "f": "thread-cache limits",
    "g": "producers and consumers", "h": "server mix", "i": "short threads", "j": "realloc",
    "k": "calloc", "l": "request server", "m": "start, exit, fork", "s": "for sampling on and off",
    "mb": "programs of mimalloc-bench (--suite FOLDER)", "p": "whole programs",
}


def choose(words):
    """The workloads meant by names, groups, `own` (a to m), `all`; or a ValueError."""
    chosen = []
    for word in words:
        if word == "all":
            found = list(WORKLOADS.values())
        elif word == "own":
            found = [w for w in WORKLOADS.values() if w.group not in ("s", "mb", "p")]
        elif word in GROUPS:
            found = [w for w in WORKLOADS.values() if w.group == word]
        elif word in WORKLOADS:
            found = [WORKLOADS[word]]
        else:
            raise ValueError("no workload or group called %r (--list shows them)" % word)
        chosen += [w for w in found if w not in chosen]
    return chosen
