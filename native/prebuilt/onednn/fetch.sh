#!/usr/bin/env bash
# fetch.sh FOLDER: the source of oneDNN as Debian 13 has it, with what is not used here left out.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
version=3.7.2+ds revision=2
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}/pool/main/o/onednn
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
for file in "onednn_$version.orig.tar.xz" "onednn_$version-$revision.debian.tar.xz"; do
  curl --fail --silent --show-error --location --remote-name "$mirror/$file"
done
sha256sum --check --quiet <<SUMS
0cc51ca26c1af6a2bb1e71e378e7046f3ceb3e71791ee9d4e246d50f904a6ea6  onednn_$version.orig.tar.xz
db6b5144773b4f5b152a0138cba74af39124d59285975db7f2c220e992dcd2d4  onednn_$version-$revision.debian.tar.xz
SUMS
mkdir source
tar -C source --strip-components=1 -xf "onednn_$version.orig.tar.xz"
tar -xf "onednn_$version-$revision.debian.tar.xz"
cd source
patch -p1 --quiet <../debian/patches/upstream-3.7.3.patch
cp "$here/logging.cpp" src/common/
# Of the sources, those that convolutions in float32 and bf16 need; where one is missing, the addon does not link.
kept=$(mktemp)
# shellcheck disable=SC2046 # patterns, one a line
ls $(cat "$here/kept-sources") | sort >"$kept"
find src/cpu -name '*.cpp' -not -path '*/aarch64/*' | sort | comm -23 - "$kept" | xargs rm
rm "$kept"
cp "$here/implementations.cpp" src/cpu/
