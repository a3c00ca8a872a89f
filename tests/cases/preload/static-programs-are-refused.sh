# SPDX-License-Identifier: MIT
# libxprof.a is for dynamic programs: it links into one, and a static one fails at the link, not when it runs.
need gcc
echo "#include <stdlib.h>
int main(int c, char **v) { return v[malloc(101) ? 0 : c] == 0; }" >app.c
gcc app.c "$BUILD/src/preload/libxprof.a" -o app
XPROF_SAMPLE_BYTES=1 HEAPPROFILE=$TMP/hp ./app 2>log
check_line 'Dumping heap profile' log
if gcc -static app.c "$BUILD/src/preload/libxprof.a" -o static_app 2>log; then
    fail "a static program was linked"
fi
check_line 'undefined reference to .__tls_get_addr' log
