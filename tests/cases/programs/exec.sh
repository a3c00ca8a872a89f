# SPDX-License-Identifier: MIT
# A program started by a shell script, by exec, by env, by xargs and find: each image has its dump.
. "$SRC/tests/lib/program.sh"
same_as_plain sampled exact <<'END'
cat >inner.sh <<'S'
#!/bin/sh
echo "inner $1"
exec sort -r
S
chmod +x inner.sh
seq 23 | ./inner.sh one
seq 23 | sh ./inner.sh two | tail -n 1
env FOO=bar sh -c 'echo $FOO; exec env' | grep -c FOO
seq 101 | xargs -n 10 -P 2 echo | wc -l
find / -maxdepth 1 -name bin -exec echo found {} \;
(exec -a another-name awk 'BEGIN { for (i = 0; i < 5003; i++) a[i] = "x" i; print length(a) }')
bash -c 'kill -TERM $$'
echo "status $?"
exec tail -n 1 inner.sh
END
