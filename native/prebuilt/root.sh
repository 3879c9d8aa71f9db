#!/usr/bin/env bash
# root.sh SUITE FOLDER PACKAGE...: a root of Debian or Ubuntu with packages, to build and to test in. It is made once.
set -euo pipefail
suite=$1 root=$2
shift 2
if [ -e "$root/.tilefold-root" ]; then exit 0; fi
[ "$(id -u)" = 0 ] || { echo "a root of $suite needs root rights: run this as root" >&2; exit 3; }
command -v debootstrap >/dev/null || { echo "a root of $suite needs debootstrap: apt install debootstrap" >&2; exit 3; }
roots=$(dirname "$root")
mkdir -p "$roots"

reach() {
  curl --fail --silent --location --output /dev/null "$1/dists/$suite/Release" ||
    { echo "a root of $suite needs $1, which cannot be reached: name another mirror in DEBIAN_MIRROR or UBUNTU_MIRROR" >&2; exit 3; }
}

# Debian has no package of the keys with which Ubuntu signs; that of Ubuntu is pinned.
ubuntu_keyring() {
  local keyring=$roots/ubuntu-archive-keyring.gpg package=ubuntu-keyring_2023.11.28.1_all.deb
  if [ ! -e "$keyring" ]; then
    local folder
    folder=$(mktemp -d)
    curl --fail --silent --show-error --location --output "$folder/$package" "$1/pool/main/u/ubuntu-keyring/$package" >&2
    echo "36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8  $folder/$package" | sha256sum --check --quiet >&2
    dpkg-deb --extract "$folder/$package" "$folder/unpacked"
    cp "$folder/unpacked/usr/share/keyrings/ubuntu-archive-keyring.gpg" "$keyring"
    rm -rf "$folder"
  fi
  echo "$keyring"
}

options=(--variant=minbase)
case $suite in
  jammy | noble)
    mirror=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
    reach "$mirror"
    options+=(--components=main,universe "--keyring=$(ubuntu_keyring "$mirror")")
    ;;
  *)
    mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
    reach "$mirror"
    ;;
esac
how=()
# An older debootstrap knows how, but not the name; all Ubuntus are made alike.
if [ ! -e "/usr/share/debootstrap/scripts/$suite" ]; then how=(/usr/share/debootstrap/scripts/gutsy); fi
# Unpacked under another name first, so that what was broken off is not taken for a root.
rm -rf "$root.making"
debootstrap "${options[@]}" "$suite" "$root.making" "$mirror" "${how[@]}" >&2
cp /etc/resolv.conf "$root.making/etc/"
if [ $# != 0 ]; then
  chroot "$root.making" sh -c 'export DEBIAN_FRONTEND=noninteractive; apt-get update -q && apt-get install -qy --no-install-recommends "$@"' sh "$@" >&2
fi
touch "$root.making/.tilefold-root"
mv "$root.making" "$root"
