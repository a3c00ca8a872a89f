# SPDX-License-Identifier: MIT
# A shell that forks 200 times: each child has a dump of its own name.
. "$SRC/tests/lib/program.sh"
same_as_plain sampled exact <<'END'
sum=0
for i in $(seq 200); do
    x=$(echo $((i * i)))
    sum=$((sum + x))
done
echo "sum $sum"
END
children=$(count "$TMP"/sampled/dumps/hp_*.0001.heap)
[ "$children" -ge 200 ] || fail "only $children dumps of children"
