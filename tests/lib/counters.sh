# SPDX-License-Identifier: MIT
# counters.sh - runs of the victim count_me, and what its counters must say.
need python3

# run ACT [VARIABLE=VALUE...]: the counters of that run are in counters.ACT.
run()
{
    act=$1
    shift
    rm -f "counters.$act"
    env "$@" XPROF_STATS="json:counters.$act" LD_PRELOAD="$XPROF_SO" "$PROGRAMS/count_me" "$act"
}

# holds ACT EXPRESSION: of the groups core, stacks, process, calls, locks.
holds()
{
    python3 - "counters.$1" "$2" <<'EOF' || fail "$1: $2"
import json, sys
from types import SimpleNamespace
with open(sys.argv[1]) as file:
    groups = json.load(file)
names = {name: SimpleNamespace(**value) for name, value in groups.items() if isinstance(value, dict)}
if not eval(sys.argv[2], names):
    print(json.dumps(groups, indent=1), file=sys.stderr)
    sys.exit(1)
EOF
}
