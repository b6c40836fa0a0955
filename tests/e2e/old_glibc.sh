# What every rank loads runs beside old C libraries: versions of glibc up to 2.28, and no library but its own.
. "$(dirname "$0")/lib.sh"
library=$BUILD/lib/gnomon/libgnomon.so
command -v readelf >/dev/null || skip "no readelf"

# needed FILE: the libraries that it names, one a line.
needed() {
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

# newest FILE: the newest version of glibc that it asks for, and nothing when it asks for none.
newest() {
    readelf -V "$1" | grep -o 'Name: GLIBC_[0-9.]*' | sed 's/.*_//' | sort -V | tail -1
}

# newer VERSION: whether it is newer than 2.28.
newer() {
    [ "$(printf '2.28\n%s\n' "$1" | sort -V | tail -1)" != 2.28 ]
}

newer 2.34 && ! newer 2.28 && ! newer 2.4 || fail "versions are not compared right"
for library in "$library" "${library%.so}-activities.so"; do
    [ -e "$library" ] || continue # x86-64 only
    version=$(newest "$library")
    [ -n "$version" ] || fail "readelf names no version"
    ! newer "$version" || fail "$library asks for glibc $version: $(readelf -V "$library" | grep "GLIBC_$version")"
    ! readelf -V "$library" | grep -q 'Name: GLIBC_PRIVATE' || fail "$library asks for what is glibc's own"
    for name in $(needed "$library"); do
        case $name in
        libc.so.6 | libdl.so.2 | ld-linux-*) ;;
        *) fail "$library needs $name" ;;
        esac
    done
done

for name in $(needed "$gnomon"); do
    case $name in
    libc.so.6 | ld-linux-*) ;;
    *) fail "gnomon, which every rank executes, needs $name" ;;
    esac
done
if readelf -l "$gnomon" | grep -q INTERP; then
    skip "gnomon is not linked statically here: it runs beside glibc $(newest "$gnomon") and later"
fi
