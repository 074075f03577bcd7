#!/usr/bin/env bash
# Make .venv with Weft, its tools and (with an argument) further extras; find Java 17+ or install it; compile kernels.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '%s\n' "$*" >&2; }
fail() { say "setup: $1"; shift; for line in "$@"; do say "  $line"; done; exit 1; }

# Run a command as root: directly, or by sudo where it asks for no password.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo -n "$@"
  else return 1
  fi
}

install_package() {
  command -v apt-get >/dev/null || return 1
  say "setup: installing the system package $1"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null 2>&1 && return
  as_root apt-get update -qq >/dev/null 2>&1 || return 1
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null 2>&1
}

is_python_311() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3 python; do
    if [ -n "$candidate" ] && command -v "$candidate" >/dev/null && is_python_311 "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

# Debian splits `ensurepip` off into a package of its own; without it a venv has no pip.
make_venv() {
  local python=$1 version
  rm -rf .venv
  "$python" -m venv .venv >/dev/null 2>&1 && return
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  if install_package "python$version-venv" && rm -rf .venv && "$python" -m venv .venv >/dev/null 2>&1; then return; fi
  rm -rf .venv
  if "$python" -m venv --without-pip .venv >/dev/null 2>&1 &&
     "$python" -m pip --python .venv/bin/python install --quiet pip >/dev/null 2>&1; then return; fi
  rm -rf .venv
  fail "$python cannot make a virtual environment (its ensurepip is missing)." \
    "On Debian or Ubuntu: sudo apt-get install python$version-venv" \
    "then run make setup again."
}

install_weft() {
  local extras=dev
  [ $# -eq 0 ] || extras="dev,$1"
  say "setup: installing Weft and what it needs into .venv"
  PIP_DISABLE_PIP_VERSION_CHECK=1 .venv/bin/python -m pip install --quiet --no-compile -c constraints.txt -e ".[$extras]" ||
    fail "pip could not install Weft; its message is above." "Check the network or the package index of pip, then run make setup again."
}

find_java() { .venv/bin/python -I src/weft/hosts/spark/java.py; }

ensure_java() {
  local home package
  if home=$(find_java); then say "setup: Java found in $home"; return; fi
  for package in openjdk-17-jre-headless openjdk-21-jre-headless default-jre-headless; do
    if install_package "$package" && home=$(find_java); then say "setup: Java installed in $home"; return; fi
  done
  fail "Spark needs Java 17 or newer, none was found, and it could not be installed here." \
    "Debian, Ubuntu:  sudo apt-get install openjdk-17-jre-headless" \
    "Fedora:          sudo dnf install java-17-openjdk-headless" \
    "macOS:           brew install openjdk@17" \
    "elsewhere:       install any JDK or JRE 17+ and set JAVA_HOME to its directory" \
    "then run make setup again. What needs no Java works without: WEFT_NO_JAVA=1 make test-core"
}

# Kernels are compiled now, so that nobody waits for them later; those that were compiled before are only looked at.
warm_kernels() {
  say "setup: compiling the kernels, which takes about a minute the first time"
  .venv/bin/weft warm >&2 ||
    fail "the kernels could not be compiled; the message is above." \
      "Without it they are compiled while somebody waits: WEFT_NO_WARM=1 make setup"
}

if ! { [ -x .venv/bin/python ] && is_python_311 .venv/bin/python && .venv/bin/python -m pip --version >/dev/null 2>&1; }; then
  python=$(find_python) || fail "Python 3.11 or newer was not found." \
    "Debian, Ubuntu:  sudo apt-get install python3 python3-venv" \
    "macOS:           brew install python@3.12" \
    "or name one:     PYTHON=/path/to/python3.11 make setup"
  say "setup: making .venv with $("$python" --version)"
  make_venv "$python"
fi
install_weft "$@"
[ -n "${WEFT_NO_JAVA:-}" ] || ensure_java
[ -n "${WEFT_NO_WARM:-}" ] || warm_kernels
say "setup: done; try .venv/bin/weft --help"
