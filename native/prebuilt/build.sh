#!/usr/bin/env bash
# build.sh FOLDER: the addon for any Linux on x86-64 with glibc 2.31 or newer, and the licences of what is within it, for
# `npm run pack:addon -- --build FOLDER`, which makes the package @tilefold/linux-x64 of it. Needs root rights, debootstrap and Debian's mirror; `npm ci` must have run. Everything is built in a root of
# Debian 11 under TILEFOLD_ROOTS, and oneDNN once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
native=$(dirname "$here") project=$(dirname "$(dirname "$here")")
[ $# = 1 ] || { echo "usage: build.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
roots=${TILEFOLD_ROOTS:-$HOME/.cache/tilefold/roots}
root=$roots/debian11
[ "$(uname -m)" = x86_64 ] || { echo "the addon for linux-x64 is built on x86-64, and this machine is $(uname -m)" >&2; exit 3; }
"$here/root.sh" bullseye "$root" g++ cmake make

build=$root/build
mkdir -p "$build"
# oneDNN is built again where anything that makes it has changed.
stamp=$(cat "$here"/onednn/* "$here/inside.sh" | sha256sum)
if [ "$(cat "$build/onednn.stamp" 2>/dev/null)" != "$stamp" ]; then
  rm -rf "$build/onednn.stamp" "$build/onednn-build" "$build/onednn-root"
  "$here/onednn/fetch.sh" "$build/onednn"
  chroot "$root" /bin/bash -s onednn <"$here/inside.sh"
  echo "$stamp" >"$build/onednn.stamp"
fi
rm -rf "$build/native" "$build/headers"
mkdir -p "$build/native" "$build/headers"
# With their times, so that what has not changed is not built again.
cp -rp "$native/CMakeLists.txt" "$native/src" "$build/native/"
cp -rLp "$project/node_modules/node-api-headers" "$project/node_modules/node-addon-api" "$build/headers/"
chroot "$root" /bin/bash -s addon <"$here/inside.sh"
mkdir -p "$out/Release"
for file in tilefold.node libgomp.so.1; do
  "$here/check.sh" "$build/addon/$file"
  cp "$build/addon/$file" "$out/Release/"
done
cp "$build/addon-build/CMakeCache.txt" "$out/"
mkdir -p "$out/licences"
cp "$project/LICENSE" "$out/licences/tilefold.txt"
cp "$build/onednn/source/LICENSE" "$out/licences/onednn.txt"
cp "$build/onednn/source/THIRD-PARTY-PROGRAMS" "$out/licences/onednn-third-party.txt"
# libstdc++, libgcc and libgomp: GPL-3 with the runtime library exception.
cp "$root/usr/share/doc/gcc-10-base/copyright" "$out/licences/gcc.txt"
cp "$root/usr/share/common-licenses/GPL-3" "$out/licences/gpl-3.txt"
ls -l "$out/Release"
