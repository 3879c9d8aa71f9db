#!/usr/bin/env bash
# root.sh SUITE FOLDER PACKAGE...: a root of Debian with packages, to build and to test in. It is made once.
set -euo pipefail
suite=$1 root=$2
shift 2
if [ -e "$root/.tilefold-root" ]; then exit 0; fi
[ "$(id -u)" = 0 ] || { echo "a root of Debian $suite needs root rights: run this as root" >&2; exit 3; }
command -v debootstrap >/dev/null || { echo "a root of Debian $suite needs debootstrap: apt install debootstrap" >&2; exit 3; }
mkdir -p "$(dirname "$root")"
# Unpacked under another name first, so that what was broken off is not taken for a root.
rm -rf "$root.making"
debootstrap --variant=minbase "$suite" "$root.making" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >&2
cp /etc/resolv.conf "$root.making/etc/"
chroot "$root.making" sh -c 'export DEBIAN_FRONTEND=noninteractive; apt-get update -q && apt-get install -qy --no-install-recommends "$@"' sh "$@" >&2
touch "$root.making/.tilefold-root"
mv "$root.making" "$root"
