#!/bin/sh
# Make .venv ready for the targets of the Makefile.
#
#   sh tools/setup.sh          the package with everything needed to use, test and document it
#   sh tools/setup.sh bench    the same and the extra "bench"; "spark" likewise
#
# PYTHON=/path/to/python names the interpreter to try first.
#
# The stamp .venv/.complete is written last and holds all that the installation depends on. While it
# matches, nothing is done and no network is touched; without it .venv is thrown away and made again.
set -eu

CDPATH='' cd -- "$(dirname -- "$0")/.."

extra=${1-}
stamp=.venv/.complete
oldest=3.11
newest=3.13

say() { printf '%s\n' "$*"; }

die() {
    for line in "$@"; do printf '%s\n' "$line" >&2; done
    exit 1
}

# What a complete .venv depends on. The version is asked of the interpreter in .venv: it is missing here
# when that interpreter is gone, and another one when the system has replaced it.
dependencies() {
    .venv/bin/python -I -S -c 'import sys; print("python %d.%d" % sys.version_info[:2])' 2>/dev/null || :
    pwd -P
    cat pyproject.toml constraints.txt
}

base_complete() { [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(dependencies)" ]; }

complete() { base_complete && { [ -z "$extra" ] || [ -f "$stamp-$extra" ]; }; }

write_stamp() {
    dependencies >"$1.new"
    mv -f "$1.new" "$1"
}

# Prints "verdict|version|path|reason" for the interpreter that runs it. The path is that of the real
# interpreter: not of a shim, nor of an activated environment, which may be the one to be replaced.
probe_code='
import struct, sys, sysconfig
version = "%d.%d.%d" % sys.version_info[:3]
path = getattr(sys, "_base_executable", None) or sys.executable
low, high = (tuple(map(int, bound.split("."))) for bound in sys.argv[1:3])
def report(verdict, reason):
    print("|".join((verdict, version, path, reason)))
    sys.exit(0)
if not low <= sys.version_info[:2] <= high:
    report("no", "is outside %s to %s" % tuple(sys.argv[1:3]))
if sys.implementation.name != "cpython":
    report("no", "is %s, not CPython" % sys.implementation.name)
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    report("no", "is a free-threaded build")
if struct.calcsize("P") != 8:
    report("no", "is a 32-bit build")
try:
    import ensurepip, venv
    ensurepip.version()
except Exception:
    report("bare", "lacks the modules venv and ensurepip")
report("yes", "")
'

# Asks interpreter $1; sets verdict, version, path and reason. False when it does not run.
probe() {
    answer=$("$1" -I -c "$probe_code" "$oldest" "$newest" 2>/dev/null </dev/null) || return 1
    verdict=${answer%%|*} answer=${answer#*|}
    version=${answer%%|*} answer=${answer#*|}
    path=${answer%%|*} reason=${answer#*|}
}

# Sets python and python_version to the first interpreter that can be used.
choose_python() {
    found='' package=''
    for candidate in "${PYTHON-}" python3.13 python3.12 python3.11 python3; do
        if ! command -v "$candidate" >/dev/null 2>&1; then
            [ -n "$candidate" ] && [ "$candidate" = "${PYTHON-}" ] || continue
            note="$candidate is not there"
        elif ! probe "$candidate"; then
            note="$candidate does not run"
        elif [ "$verdict" = yes ]; then
            python=$path python_version=$version
            return
        else
            note="$candidate ($version) $reason"
            [ "$verdict" != bare ] || [ -n "$package" ] || package=python${version%.*}-venv
        fi
        [ "$candidate" != "${PYTHON-}" ] || say "PYTHON cannot be used: $note. Trying others."
        found="$found
  $note"
    done
    set -- "discreet needs CPython $oldest to $newest, 64 bit, with the modules venv and ensurepip." \
        "Found:${found:- no Python at all}"
    if [ -n "$package" ]; then
        die "$@" "On Debian and Ubuntu install the missing modules with: apt-get install $package"
    fi
    die "$@" "Install one of these versions, or name it: make install PYTHON=/path/to/python$newest"
}

# Waits until no other run works on .venv. The lock belongs to the open file 9, which this shell and its
# children share: it goes with the last of them, however they end, so that it is never stale.
lock_code='
import sys
try:
    import fcntl
except ImportError:
    sys.exit(0)
try:
    try:
        fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("Waiting for another set-up of .venv to end ...", flush=True)
        fcntl.flock(9, fcntl.LOCK_EX)
except OSError as error:
    print("Cannot lock .venv.lock (%s): do not start a second make now." % error, file=sys.stderr)
except KeyboardInterrupt:
    sys.exit(130)
'

lock() {
    exec 9>.venv.lock
    "$python" -I -c "$lock_code" 9>&9
}

pip_install() {
    # Without a home there is no place for a cache.
    [ -n "${HOME-}" ] || set -- --no-cache-dir "$@"
    set -- .venv/bin/python -m pip install --disable-pip-version-check --no-input --constraint constraints.txt "$@"
    # A terminal sees the progress; elsewhere the words of pip matter only when it fails.
    if [ -t 1 ]; then
        PIP_USER=0 "$@" && return
    else
        PIP_USER=0 "$@" >.venv/install.log 2>&1 && return
        cat .venv/install.log >&2
    fi
    die "The installation failed (see above). The next run starts afresh."
}

build() {
    say "Setting up .venv with Python $python_version ($python). This happens once and may take some minutes."
    rm -f "$stamp"
    rm -rf .venv
    "$python" -m venv .venv ||
        die "Python $python_version cannot make a virtual environment." \
            "On Debian and Ubuntu: apt-get install python${python_version%.*}-venv"
    # The build backend is installed first so that its version is pinned like all others.
    pip_install hatchling editables
    pip_install --no-build-isolation --editable '.[all,dev]'
    write_stamp "$stamp"
}

case $extra in
    '' | bench | spark) ;;
    *) die "Usage: sh tools/setup.sh [bench | spark]" ;;
esac

# An interpreter asked for by name replaces a .venv made with another version.
other_python_wanted() {
    [ -n "${PYTHON-}" ] && probe "$PYTHON" && [ "$verdict" = yes ] || return 1
    case $(dependencies) in
        "python ${version%.*}
"*) return 1 ;;
    esac
}

if complete && ! other_python_wanted; then exit 0; fi
choose_python
lock
if ! base_complete || other_python_wanted; then build; fi
if ! complete; then
    # pyspark comes as source: what builds it is pinned like all others.
    [ "$extra" != spark ] || pip_install 'setuptools>=70.1'
    pip_install --no-build-isolation --editable ".[$extra]"
    write_stamp "$stamp-$extra"
fi
