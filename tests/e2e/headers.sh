# Every header compiles alone, ours as C, the public one as C++ too.
. "$(dirname "$0")/lib.sh"
wrong=
for header in "$SOURCE"/src/*/*.h; do
    name=${header#"$SOURCE"/src/}
    printf '#include "%s"\n#include "%s"\nint unused;\n' "$name" "$name" >alone.c
    ${CC:-cc} -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-function -I"$SOURCE/src" -I"$BUILD/generated" \
        -c -o alone.o alone.c 2>"$work/alone.err" || { cat "$work/alone.err"; wrong="$wrong $name"; }
done
printf '#include <gnomon.h>\n#include <gnomon.h>\nint f(void);\nint f(void) { gnomon_region_begin("a"); gnomon_region_end("a"); gnomon_region_begin_id("a", 1); gnomon_region_end_id("a", 1); return 0; }\n' >alone.c
for std in c99 c17; do
    ${CC:-cc} -std=$std -pedantic -Wall -Wextra -Werror -I"$SOURCE/include" -c -o alone.o alone.c || wrong="$wrong gnomon.h($std)"
done
cp alone.c alone.cc
for std in c++11 c++17; do
    ${CXX:-c++} -std=$std -Wall -Wextra -Werror -I"$SOURCE/include" -c -o alone.o alone.cc || wrong="$wrong gnomon.h($std)"
done
[ -z "$wrong" ] || fail "do not compile alone:$wrong"
