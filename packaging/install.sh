#!/bin/sh
# Installs the command `updraft` for this user: checks its SHA-256 and puts it into ~/.local/bin. Needs no root.
#
#   sh install.sh                  from the folder or the release that this file belongs to
#   UPDRAFT_FROM=FOLDER-OR-URL     from there instead
#   UPDRAFT_BIN=FOLDER             into that folder instead
set -eu

# Where the release is published; `npm run build -- --from URL` fills it in.
published=''

fail() {
  echo "install: $1" >&2
  exit 1
}

has() { command -v "$1" > /dev/null 2>&1; }

# The name of the executable for this machine.
wanted() {
  system=$(uname -s)
  [ "$system" = Linux ] || fail "Updraft runs on Linux, and this is $system; on Windows, use WSL"
  case $(uname -m) in
    x86_64 | amd64) echo updraft-linux-x64 ;;
    aarch64 | arm64) echo updraft-linux-arm64 ;;
    *) fail "there is no Updraft for $(uname -m) machines, only for x86_64 and aarch64" ;;
  esac
}

# Where to take the files from.
source_of() {
  beside=$(dirname -- "$1")
  if [ -n "${UPDRAFT_FROM:-}" ]; then echo "$UPDRAFT_FROM"
  elif [ -f "$1" ] && [ -f "$beside/SHA256SUMS" ]; then echo "$beside"
  elif [ -n "$published" ]; then echo "$published"
  else fail 'set UPDRAFT_FROM to the folder or the URL that has SHA256SUMS and the executables'
  fi
}

# fetch FROM NAME TARGET
fetch() {
  case $1 in
    http://* | https://*)
      if has curl; then curl -fsSL -o "$3" "$1/$2"
      elif has wget; then wget -q -O "$3" "$1/$2"
      else fail 'there is neither curl nor wget: download the files yourself, then set UPDRAFT_FROM to their folder'
      fi || fail "$1/$2 could not be downloaded to $bin"
      ;;
    *) cp -- "${1#file://}/$2" "$3" || fail "$1/$2 could not be copied to $bin" ;;
  esac
}

sha256_of() {
  if has sha256sum; then sha256sum < "$1"
  elif has shasum; then shasum -a 256 < "$1"
  elif has openssl; then openssl dgst -sha256 -r < "$1"
  else fail 'there is no sha256sum, shasum or openssl: the file cannot be checked'
  fi | cut -d ' ' -f 1
}

# In a function, so that a script that arrives cut off does nothing.
main() {
  name=$(wanted)
  from=$(source_of "$1")
  bin=${UPDRAFT_BIN:-${HOME:+$HOME/.local/bin}}
  [ -n "$bin" ] || fail 'HOME is not set: set UPDRAFT_BIN to the folder to install into'
  mkdir -p -- "$bin" || fail "$bin cannot be made: set UPDRAFT_BIN to a folder you can write to"
  bin=$(CDPATH="" cd -- "$bin" && pwd)
  [ ! -d "$bin/updraft" ] || fail "$bin/updraft is a folder: set UPDRAFT_BIN to another folder"
  # Beside the target, so that the last step is one rename.
  draft=$(mktemp -d "$bin/.updraft-install.XXXXXX") || fail "$bin cannot be written to: set UPDRAFT_BIN to another folder"
  trap 'rm -rf -- "$draft"' EXIT
  trap 'exit 130' HUP INT TERM
  fetch "$from" SHA256SUMS "$draft/SHA256SUMS"
  expected=$(awk -v name="$name" '$2 == name { print $1 }' "$draft/SHA256SUMS")
  [ -n "$expected" ] || fail "$from/SHA256SUMS does not list $name"
  fetch "$from" "$name" "$draft/updraft"
  found=$(sha256_of "$draft/updraft")
  [ "$found" = "$expected" ] || fail "$name is not what was published: its SHA-256 is $found, not $expected; nothing was installed"
  chmod 755 "$draft/updraft"
  version=$("$draft/updraft" --version) || fail "$name does not run in $bin: it needs glibc 2.28 or newer, as in Debian 10 or RHEL 8, and a folder where programs may run (not \`noexec\`)"
  mv -f -- "$draft/updraft" "$bin/updraft"
  echo "installed updraft $version as $bin/updraft"
  first=$(command -v updraft || true)
  if [ "$first" -ef "$bin/updraft" ]; then echo 'next: updraft --help'
  elif [ -n "$first" ]; then echo "but \`updraft\` is $first: put $bin first in your PATH"
  else
    echo "$bin is not on your PATH; add this line to your shell's start file:"
    echo "  export PATH=\"$bin:\$PATH\""
    echo "next: $bin/updraft --help"
  fi
}

main "$0"
