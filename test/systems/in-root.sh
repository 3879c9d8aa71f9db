#!/usr/bin/env bash
# in-root.sh [--offline] ROOT COMMAND [PATH[=PLACE]...]: a shell's command in /work/tilefold of a root of another system, with this
# checkout as it is now and its npm packages; files and folders are seen at their places, or at the paths that they have here. What is
# mounted is gone when the command has ended. With --offline there is no network.
set -euo pipefail
spaces=(--mount --propagation private)
if [ "$1" = --offline ]; then
  spaces+=(--net)
  shift
fi
root=$1 command=$2
shift 2
project=$(cd "$(dirname "$0")/../.." && pwd)
copy=$root/work/tilefold
mkdir -p "$copy"
# Over what was there, so that a build of before is gone on with; a source that is no more would be built too.
files() { git -C "$project" ls-files -co --exclude-standard -z; }
there() { cd "$copy" && find . \( -path ./node_modules -o -path './native/build*' \) -prune -o -type f -printf '%P\0'; }
(
  export LC_ALL=C
  comm -z -13 <(files | sort -z) <(there | sort -z) | (cd "$copy" && xargs -0 --no-run-if-empty rm)
)
files | (cd "$project" && tar c --null --ignore-failed-read -T -) | tar x -C "$copy"
packages=$(readlink -f "$project/node_modules")
rm -rf "$copy/node_modules"
mkdir -p "$copy/node_modules"
for path in "$@"; do
  place=$root${path#*=}
  if [ -d "${path%%=*}" ]; then mkdir -p "$place"; else mkdir -p "$(dirname "$place")" && touch "$place"; fi
done
export root command packages copy
unshare "${spaces[@]}" bash -euc '
  mount --bind "$packages" "$copy/node_modules"
  # Nothing in the root changes the packages of this checkout; what checks keep there is kept apart.
  mount -o remount,bind,ro "$copy/node_modules"
  if [ -d "$packages/.cache" ]; then mount -t tmpfs tmpfs "$copy/node_modules/.cache"; fi
  for path in "$@"; do mount --bind "${path%%=*}" "$root${path#*=}"; done
  mount -t proc proc "$root/proc"
  for place in dev sys; do mount --rbind "/$place" "$root/$place"; done
  exec chroot "$root" bash -euc "cd /work/tilefold; $command"
' in-root "$@"
