# SPDX-License-Identifier: MIT
# Counters move with what they count; they come as lines or as a JSON object in a file of its own.
. "$SRC/tests/lib/counters.sh"

run none
holds none 'core.remote_frees == 0 and core.adopted_heaps == 0'
holds none 'process.minor_faults > 0 and process.peak_rss_bytes > 0 and process.rss_bytes > 0'
holds none 'process.user_ns + process.system_ns > 0'

run remote XPROF_SAMPLE_BYTES=0 # a sampled block has a page and a path of its own
# A full page is taken over by whoever frees in it.
holds remote '1000 <= core.remote_frees <= 2003'
# The last page of a thread that ended is of use to the next one.
holds remote 'core.stolen_pages >= 1'

run adopt
holds adopt 'core.adopted_heaps >= 21 and core.heaps <= 4'

run purge
holds purge 'core.purge_calls >= 1 and core.purged_bytes >= 40 << 20'
holds purge 'process.minor_faults >= 11000 and process.peak_rss_bytes >= 40 << 20 and calls.advise >= core.purge_calls'

run sizes XPROF_SAMPLE_BYTES=1
holds sizes 'core.slow_small >= 1 and core.slow_medium >= 2 and core.slow_large == 1 and core.slow_huge == 1'
holds sizes 'core.slow_small + core.slow_medium + core.slow_large + core.slow_huge <= core.slow_calls'
holds sizes 'core.heaps >= 1'
holds sizes 'core.samples >= 5 and stacks.captures >= 5 and stacks.nodes > 5'

# Each process has a file of its own, and no file is ever replaced.
child=$(run forked)
holds forked 'core.slow_calls > 0'
holds "forked_$child" 'core.slow_calls > 0'
cp counters.forked before
XPROF_STATS=json:counters.forked preload /bin/true 2>said
check_same 'libxprof: no counters written to counters.forked: the file exists' "$(cat said)" 'what is said'
cmp -s before counters.forked || fail 'the file was replaced'
check_same 0 "$(count ./*.part)" 'drafts left'
XPROF_STATS=json:none/counters preload /bin/true 2>said
check_same 'libxprof: no counters written to none/counters. Numeric errno is 2' "$(cat said)" 'what is said'

# A program started by another one: its file carries its number; one that takes the place of another
# is still the first process.
XPROF_STATS=json:parent preload sh -c '/bin/true; :'
check_same 2 "$(count parent parent_*)" 'files of a parent and its child'
XPROF_STATS=json:image preload sh -c 'exec /bin/true'
check_same 1 "$(count image image_*)" 'files of a process with two images'
# By _exit, too.
XPROF_STATS=json:exits preload python3 -c 'import os; os._exit(3)' || :
[ -s exits ] || fail 'nothing was written by _exit'

# As lines: number, unit, name; on stderr while it is what it was, else in the log.
XPROF_STATS=1 preload "$PROGRAMS/count_me" remote 2>lines
check_line '^libxprof: counters of process [0-9]*$' lines
check_line '^ *[0-9][0-9]*	core.remote_frees$' lines
check_line '^ *[0-9][0-9]* bytes	process.peak_rss$' lines
check_line '^ *[0-9][0-9]* ns	locks.segment_wait$' lines
check_no_line -v '^\(libxprof: counters .*\| *[0-9][0-9]*\( bytes\| ns\)\{0,1\}	[a-z]*\.[a-z_]*\)$' lines
check_same "$(wc -l <lines)" "$(sort -u -k 2 lines | wc -l)" 'lines with different names'
XPROF_STATS=1 preload sh -c 'exec 2>other; exit' 2>lines
check_same 0 "$(cat lines other | wc -l)" 'lines on a stderr that is another one'
XPROF_STATS=1 XPROF_LOG=$TMP/log preload sh -c 'exec 2>other; /bin/true; exit' 2>lines
check_same 0 "$(cat lines other | wc -l)" 'lines beside the log'
check_same 2 "$(grep -c '^libxprof: counters of process' log)" 'processes in the log'

# Where nothing can be written the program ends as it would have.
check_status 0 env XPROF_STATS=json:faults XPROF_FAULT=1:128:28 LD_PRELOAD="$XPROF_SO" /bin/true 2>said
check_same 0 "$(count faults faults.*)" 'files of a full disk'
