#!/usr/bin/env bash
# build.sh [--cuda] FOLDER: the addon for any Linux on x86-64 with glibc 2.31 or newer, and the licences of what is within it, for
# `npm run pack:addon -- --build FOLDER`, which makes the package @tilefold/linux-x64 of it, or with --cuda @tilefold/linux-x64-cuda. Needs
# root rights, debootstrap and Debian's mirror, and --cuda the toolkit 13 around the nvcc on the path; `npm ci` must have run. Everything is
# built in a root of Debian 11 under TILEFOLD_ROOTS, and oneDNN once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
native=$(dirname "$here") project=$(dirname "$(dirname "$here")")
cuda=OFF
if [ "${1:-}" = --cuda ]; then
  cuda=ON
  shift
fi
[ $# = 1 ] || { echo "usage: build.sh [--cuda] FOLDER" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
roots=${TILEFOLD_ROOTS:-$HOME/.cache/tilefold/roots}
root=$roots/debian11
[ "$(uname -m)" = x86_64 ] || { echo "the addon for linux-x64 is built on x86-64, and this machine is $(uname -m)" >&2; exit 3; }

# The folder of the toolkit, whose nvcc may be reached by a link or a script, and NVIDIA's licence, which lies where it was installed from.
toolkit='' licence=''
if [ $cuda = ON ]; then
  command -v nvcc >/dev/null || { echo "an addon with CUDA needs nvcc of the CUDA toolkit 13 on the path" >&2; exit 3; }
  toolkit=$(realpath "$(nvcc --dryrun -x cu /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p')")
  licence=$(find -L "$toolkit" -maxdepth 4 \( -iname 'EULA*.txt' -o -ipath '*cuda_runtime*/licen[cs]e*.txt' \) -print -quit)
  [ -n "$licence" ] || { echo "CUDA's licence, which goes with its runtime, is not in $toolkit: put it there as EULA.txt" >&2; exit 3; }
fi
"$here/root.sh" bullseye "$root" g++ cmake make

build=$root/build
mkdir -p "$build"
# oneDNN is built again where anything that makes it has changed.
stamp=$(cat "$here"/onednn/* | sha256sum)
if [ "$(cat "$build/onednn.stamp" 2>/dev/null)" != "$stamp" ]; then
  rm -rf "$build/onednn.stamp" "$build/onednn-build" "$build/onednn-root"
  "$here/onednn/fetch.sh" "$build/onednn"
  chroot "$root" /bin/bash -s <"$here/onednn/inside.sh"
  echo "$stamp" >"$build/onednn.stamp"
fi
rm -rf "$build/native" "$build/headers"
mkdir -p "$build/native" "$build/headers"
# With their times, so that what has not changed is not built again.
cp -rp "$native/CMakeLists.txt" "$native/src" "$build/native/"
cp -rLp "$project/node_modules/node-api-headers" "$project/node_modules/node-addon-api" "$build/headers/"
# The toolkit is seen in the root for as long as the build takes.
mkdir -p "$build/cuda" "$out/Release"
unshare --mount --propagation private bash -euc '
  if [ -n "$2" ]; then mount --bind --read-only "$2" "$1/build/cuda"; fi
  exec chroot "$1" /bin/bash -s "$3"
' build "$root" "$toolkit" $cuda <"$here/inside.sh"
for file in tilefold.node libgomp.so.1; do
  "$here/check.sh" "$build/addon/$file"
  cp "$build/addon/$file" "$out/Release/"
done
cp "$build/addon/CMakeCache.txt" "$out/"
mkdir -p "$out/licences"
cp "$project/LICENSE" "$out/licences/tilefold.txt"
cp "$build/onednn/source/LICENSE" "$out/licences/onednn.txt"
cp "$build/onednn/source/THIRD-PARTY-PROGRAMS" "$out/licences/onednn-third-party.txt"
# libstdc++, libgcc and libgomp: GPL-3 with the runtime library exception.
cp "$root/usr/share/doc/gcc-10-base/copyright" "$out/licences/gcc.txt"
cp "$root/usr/share/common-licenses/GPL-3" "$out/licences/gpl-3.txt"
if [ $cuda = ON ]; then cp "$licence" "$out/licences/cuda.txt"; fi
ls -l "$out/Release"
