# SPDX-License-Identifier: MIT
# A relative prefix starts where the program starts; numbers go on where files are; the user's
# variable is not touched.
mkdir here
cd here
HEAPPROFILE=hp preload "$PROGRAMS/exit_ways" chdir || check_same 7 $? status
HEAPPROFILE=../here/hp preload "$PROGRAMS/exit_ways" return || check_same 7 $? status
HEAPPROFILE_USE_PID=1 HEAPPROFILE=hp preload "$PROGRAMS/exit_ways" return 2>/dev/null || check_same 7 $? status
ls | sed 's/_[0-9]*/_PID/'
# What a child finds in its environment.
HEAPPROFILE=up preload env | sed -n 's/^\(HEAPPROFILE\|XPROF_PROCESS\)=/&/p' | sed 's/[0-9][0-9]*$/PID/'
preload env | grep -c XPROF_PROCESS || true
# A folder that can no longer be named.
mkdir gone
cd gone
rmdir ../gone
HEAPPROFILE=hp preload "$PROGRAMS/exit_ways" return 2>"$TMP/log" || check_same 7 $? status
check_line 'Failed dumping heap profile to hp' "$TMP/log"
