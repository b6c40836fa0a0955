#!/bin/sh
# Installs the packages of the named sections of scripts/packages.txt, if any is missing.
#
#   scripts/setup.sh build demo
#
# GNOMON_SETUP=0 installs nothing and asks nothing; GNOMON_SETUP=1 runs apt-get even when nothing seems missing.
set -eu
cd "$(dirname "$0")/.."

mode=${GNOMON_SETUP:-auto}
[ "$mode" != 0 ] || exit 0

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "setup: no apt-get here; what is needed is listed in scripts/packages.txt under Debian's names" >&2
    exit 0
fi

# Packages of the sections given as arguments.
wanted() {
    sed 's/#.*//' scripts/packages.txt | awk -v sections=" $* " '
        /^\[/ { gsub(/[][ \t]/, ""); here = index(sections, " " $0 " "); next }
        here && NF { print $1 }'
}

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

packages=$(wanted "${@:-build}")
missing=
for package in $packages; do
    is_installed "$package" || missing="$missing $package"
done
if [ "$mode" = 1 ]; then
    missing=" $(echo $packages)"
fi
[ -n "$missing" ] || exit 0

install="apt-get install -y --no-install-recommends --no-upgrade$missing"
stop() { # stop PREFIX: says the command that needs the rights we do not have
    printf "setup: packages are missing. This command installs them (GNOMON_SETUP=0 goes on without):\n\n" >&2
    printf "    %s 'apt-get update && %s'\n\n" "$1" "$install" >&2
    exit 1
}
if [ "$(id -u)" = 0 ]; then
    as_root=
elif ! command -v sudo >/dev/null; then
    stop 'su -c'
elif sudo -n true 2>/dev/null; then
    as_root=sudo
else
    stop 'sudo sh -c'
fi

echo "setup: installing$missing"
# An update that fails need not matter: the lists may be there, or everything may be installed.
$as_root apt-get update -q || echo "setup: apt-get update failed; going on with the lists there are" >&2
$as_root env DEBIAN_FRONTEND=noninteractive $install
