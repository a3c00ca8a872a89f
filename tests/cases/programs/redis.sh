# SPDX-License-Identifier: MIT
# redis-server under load, saving in a forked child meanwhile.
need redis-server redis-benchmark redis-cli
. "$SRC/tests/lib/program.sh"
same_as_plain sampled verify often <<'END'
redis-server --port 0 --unixsocket "$PWD/s" --save '' --dir "$PWD" --daemonize no --logfile "$PWD/log" --loglevel notice &
server=$!
cli() { redis-cli -s "$PWD/s" "$@"; }
for i in $(seq 100); do
    [ "$(cli ping 2>/dev/null)" != PONG ] || break
    sleep 0.1
done
cli ping
cli debug set-active-expire 0 >/dev/null 2>&1
cli set key:fixed 101
redis-benchmark -s "$PWD/s" -q -n 20000 -c 20 -P 4 -r 5000 -d 101 -t set,get,lpush,rpush,lrange_100,hset,sadd,zadd >bench 2>&1 &
bench=$!
sleep 0.3
for i in 1 2 3; do
    for j in $(seq 100); do
        cli bgsave 2>&1 | grep -q 'Background saving started' && echo "saving $i" && break
        sleep 0.1
    done
done
wait $bench
echo "benchmark $?"
for i in $(seq 100); do
    cli info persistence | grep -q 'rdb_bgsave_in_progress:0' && break
    sleep 0.1
done
cli info persistence | tr -d '\r' | grep -E 'rdb_last_bgsave_status'
cli get key:fixed
# What it says of its memory is another allocator's: only that it says something.
cli memory usage key:fixed | grep -cE '^[0-9]+$'
cli memory doctor | head -c 0
cli eval 'local s = 0 for i = 1, 1009 do s = s + i end return s' 0
cli flushall
cli dbsize
cli shutdown nosave
wait $server
echo "server $?"
[ -s dump.rdb ] && echo saved
grep -iE 'warning: .*crash|assert|signal handler' log || true
END
