#!/bin/sh
# Runs SCRIPT with the bundle's own Node and libraries; nothing needs to be installed, and nothing on PATH.
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
here=$(cd "$here" && pwd) || exit 2
# A Python that is started from here must find its libraries as if it were started by itself.
export TILEFOLD_OUTER_LIBRARY_PATH="${LD_LIBRARY_PATH-}"
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# A C++ runtime that is older than the bundle's, or missing, gives way to it.
"$here/node" -e 'require(process.argv[1])' "$here/native/build/Release/tilefold.node" 2>/dev/null ||
  LD_LIBRARY_PATH="$here/lib/fallback:$LD_LIBRARY_PATH"
exec "$here/node" "$here/SCRIPT" "$@"
