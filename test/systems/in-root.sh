#!/usr/bin/env bash
# in-root.sh ROOT COMMAND [FOLDER...]: a shell's command in /work/tilefold of a root of another system, with this checkout as it is now
# and its npm packages; folders are seen at the paths that they have here. What is mounted is gone when the command has ended.
set -euo pipefail
root=$1 command=$2
shift 2
project=$(cd "$(dirname "$0")/../.." && pwd)
copy=$root/work/tilefold
mkdir -p "$copy"
# Over what was there, so that a build of before is gone on with.
git -C "$project" ls-files -co --exclude-standard -z | (cd "$project" && tar c --null --ignore-failed-read -T -) | tar x -C "$copy"
packages=$(readlink -f "$project/node_modules")
rm -rf "$copy/node_modules"
mkdir -p "$copy/node_modules"
for folder in "$@"; do mkdir -p "$root$folder"; done
export root command packages copy
unshare --mount --propagation private bash -euc '
  mount --bind "$packages" "$copy/node_modules"
  for folder in "$@"; do mount --bind "$folder" "$root$folder"; done
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  exec chroot "$root" bash -euc "cd /work/tilefold; $command"
' in-root "$@"
