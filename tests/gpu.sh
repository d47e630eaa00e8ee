#!/usr/bin/env bash
# Build for this machine's GPU, compare the backends, look for races and stray accesses, and time.
#
#   tests/gpu.sh LOGS [CMAKE ARGUMENT...]
#
# Logs go to the folder LOGS; the last lines of each are printed. LOBULE_GPU_BUILD names the build
# folder (default build/gpu), LOBULE_GPU_STEPS what to do (default "test sanitize bench command";
# huge is a further one), LOBULE_GPU_ONLY the algorithms, separated by commas (default all of them).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
PATH=$PATH:/usr/local/cuda/bin:/opt/cuda/bin # where the toolkit's own installer puts compute-sanitizer

[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 64; }
logs=$1
shift
build=${LOBULE_GPU_BUILD:-build/gpu}
steps=${LOBULE_GPU_STEPS:-test sanitize bench command}
mkdir -p "$logs"
failed=()

# step NAME LINES COMMAND...: run with output to a log, print its end and how long it took.
step() {
    local name=$1 lines=$2 begin=$SECONDS rc=0
    shift 2
    "$@" >"$logs/$name.log" 2>&1 || rc=$?
    printf '== %s: exit code %d after %d s\n' "$name" "$rc" $((SECONDS - begin))
    tail -n "$lines" "$logs/$name.log"
    [ "$rc" -eq 0 ] || failed+=("$name")
    return "$rc"
}

# What the first GPU of this machine executes; Hopper's where that cannot be asked.
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -cd 0-9)
architecture=${LOBULE_GPU_ARCH:-${capability:-90}-real}

step configure 3 cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DLOBULE_CUDA=ON \
    -DCMAKE_CUDA_ARCHITECTURES="$architecture" "$@" || exit 1
step build 3 cmake --build "$build" --parallel "$(nproc)" \
    --target check_backends check_arrays lobule_program || exit 1
check=("$(find "$build" -name check_backends -type f -perm -u+x | head -n 1)")
only=()
if [ -n "${LOBULE_GPU_ONLY:-}" ]; then
    check+=(--only "$LOBULE_GPU_ONLY")
    only=(-R "^check_backends_(${LOBULE_GPU_ONLY//,/|})\$")
fi

for what in $steps; do
    case $what in
    test)
        step ctest 12 ctest --test-dir "$build" -L gpu "${only[@]}" --output-on-failure
        step cases 8 "${check[@]}" --cases 2000 --first 10000 --repeats 100
        ;;
    sanitize)
        if ! command -v compute-sanitizer >/dev/null; then
            echo '== sanitize: left out, compute-sanitizer is not installed'
            continue
        fi
        # Small volumes only: each tool slows a kernel down a hundred times and more.
        for tool in memcheck racecheck initcheck synccheck; do
            step "$tool" 6 timeout "${LOBULE_GPU_TIMEOUT:-240}" compute-sanitizer --tool "$tool" \
                --error-exitcode 9 "${check[@]}" --cases "${LOBULE_GPU_SANITIZED:-40}" --repeats 0
        done
        ;;
    bench) step bench 40 "${check[@]}" --cases 50 --repeats 0 --bench --flat ;;
    command)
        # A volume of 147 MB as .nii.gz, from file to file on both devices: same bytes, time by stage.
        step command 40 env LOBULE_BIN="$(realpath "$build/tools/lobule")" python3 tests/bench/whole_command.py
        ;;
    huge) step huge 60 "${check[@]}" --cases 1 --first 1 --repeats 0 --bench --huge ;;
    *)
        printf 'gpu.sh: no step %s\n' "$what" >&2
        exit 64
        ;;
    esac
done
[ ${#failed[@]} -eq 0 ] || { printf 'failed: %s\n' "${failed[*]}"; exit 1; }
printf 'all passed\n'
