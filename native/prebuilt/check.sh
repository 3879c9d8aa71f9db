#!/usr/bin/env bash
# check.sh FILE: whether a library runs with glibc 2.31 and asks for nothing else but what lies beside it. Says what is newer, and fails.
set -euo pipefail
file=$1
beside=$(ls "$(dirname "$file")")
newest=$(objdump -T "$file" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n1)
if [ "$(printf 'GLIBC_2.31\n%s\n' "$newest" | sort -V | tail -n1)" != GLIBC_2.31 ]; then
  echo "$file needs $newest, and may need GLIBC_2.31 at most:" >&2
  objdump -T "$file" | grep "$newest" >&2
  exit 1
fi
others=$(objdump -p "$file" | sed -n 's/^ *NEEDED *//p' | grep -vxE 'lib(c|m|mvec|dl|pthread|rt)\.so\.[0-9]+|ld-linux-x86-64\.so\.2' | grep -vxF "$beside" || true)
if [ -n "$others" ]; then
  echo "$file needs libraries that a system may not have: $others" >&2
  exit 1
fi
missing=$(ldd -r "$file" 2>&1 | grep 'undefined symbol' | grep -v 'undefined symbol: napi_' || true)
if [ -n "$missing" ]; then
  echo "$file lacks what it calls: $missing" >&2
  exit 1
fi
echo "$file: $newest at most, and no library but glibc's and what lies beside it"
