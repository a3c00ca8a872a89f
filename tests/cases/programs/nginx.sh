# SPDX-License-Identifier: MIT
# nginx, master and workers, under wrk; reload, then a quiet end.
need nginx wrk
. "$SRC/tests/lib/program.sh"
same_as_plain sampled verify <<'END'
port=$((20000 + $$ % 20000))
mkdir -p html logs tmp
for i in $(seq 101); do seq $i 5000; done | head -c 300007 >html/large.txt
echo hello >html/index.html
cat >nginx.conf <<C
daemon off;
$([ "$(id -u)" = 0 ] && echo "user root;")
worker_processes 2;
pid $PWD/nginx.pid;
error_log $PWD/logs/error.log warn;
events { worker_connections 256; }
http {
    access_log off;
    client_body_temp_path tmp/a; proxy_temp_path tmp/b; fastcgi_temp_path tmp/c; uwsgi_temp_path tmp/d; scgi_temp_path tmp/e;
    gzip on; gzip_types text/plain; gzip_min_length 100;
    server { listen 127.0.0.1:$port; root $PWD/html; }
}
C
nginx -p "$PWD" -c "$PWD/nginx.conf" -e "$PWD/logs/start.log" &
server=$!
get() { exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&3 && cat <&3 | tail -n 1 | cksum && exec 3>&-; }
for i in $(seq 100); do
    get / >/dev/null 2>&1 && break
    sleep 0.1
done
get /index.html
get /large.txt
wrk -t 2 -c 20 -d 2 -H 'Accept-Encoding: gzip' "http://127.0.0.1:$port/large.txt" >wrk1 2>&1
echo "wrk $?"
kill -HUP $server
wrk -t 2 -c 20 -d 1 "http://127.0.0.1:$port/index.html" >wrk2 2>&1
echo "wrk $?"
grep -c 'Non-2xx' wrk1 wrk2
grep -c 'requests in' wrk1 wrk2
get /large.txt
kill -QUIT $server
wait $server
echo "server $?"
grep -v 'closed keepalive\|reconfiguring\|gracefully' logs/error.log | head -n 3
END
