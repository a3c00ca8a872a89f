# SPDX-License-Identifier: MIT
# python3: json, threads, processes, foreign functions, children, a virtual environment.
[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3"
. "$SRC/tests/lib/program.sh"
same_as_plain sampled exact verify <<'END'
export PATH=/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1
cat >all.py <<'P'
import ctypes, json, multiprocessing, subprocess, sys, threading, zlib

def square(n):
    return sum(i * i for i in range(n))

def main():
    data = [{"id": i, "name": "n%d" % i, "list": list(range(i % 23))} for i in range(5003)]
    text = json.dumps(data)
    print("json", zlib.crc32(text.encode()), json.loads(text) == data)

    results = []
    lock = threading.Lock()
    def work(n):
        s = json.dumps(["x" * (n % 101)] * n)
        with lock:
            results.append(len(s))
    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 40)]
    for t in threads: t.start()
    for t in threads: t.join()
    print("threads", sum(results))

    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(square, [101, 1009, 5003]))

    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    libc.malloc_usable_size.restype = ctypes.c_size_t
    libc.malloc_usable_size.argtypes = [ctypes.c_void_p]
    p = libc.malloc(101)
    ctypes.memset(p, 7, 101)
    print("ctypes", libc.malloc_usable_size(p) >= 101)
    libc.free(p)

    r = subprocess.run(["sh", "-c", "cat; echo from $0 >&2; exit 23", "child"], input=b"hello\n", stdout=subprocess.PIPE)
    print("subprocess", r.stdout, r.returncode)
    try:
        subprocess.run(["/nonexistent"])
    except FileNotFoundError as e:
        print("no such program", e.errno)

if __name__ == "__main__":
    main()
P
python3 all.py
echo "status $?"
python3 -m venv --without-pip env
env/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'
sh -c 'python3 -c "import os; os.abort()"; echo "status $?"' 2>/dev/null
END
