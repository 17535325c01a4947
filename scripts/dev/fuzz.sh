# shellcheck shell=bash
# Runs the fuzz targets (docs/fuzzing.md): briefly in `test --long`, as long as wanted with `fuzz`. A target's corpus stays
# in .dev/fuzz/TARGET, and the next run begins with that corpus.

FUZZ_PACKAGES=(clang libclang-rt-dev) # libclang-rt-dev has libFuzzer
FUZZ_TARGETS=(url json event_data config request answer)
declare -A FUZZ_LONGER=([answer]=60) # seconds in `test --long`; `answer` is slow: each input is a few requests over TLS
FUZZ_FOLDER=$ROOT/.dev/fuzz
FUZZ_MEMORY_MB=1024
FUZZ_INPUT_SECONDS=5 # an input that takes longer is a failure
FUZZ_INPUT_BYTES=16384

command_fuzz() {
  local seconds=60 targets=()
  while (($#)); do
    case $1 in
      --seconds)
        [[ ${2:-} =~ ^[1-9][0-9]{0,6}$ ]] || usage_error '--seconds takes a number of seconds'
        seconds=$2
        shift
        ;;
      *)
        [[ " ${FUZZ_TARGETS[*]} " == *" $1 "* ]] || usage_error "'$1' is no fuzz target: ${FUZZ_TARGETS[*]}"
        targets+=("$1")
        ;;
    esac
    shift
  done
  ((${#targets[@]})) || targets=("${FUZZ_TARGETS[@]}")
  build_fuzz_targets
  local target trouble=0
  for target in "${targets[@]}"; do
    fuzz_one "$target" "$seconds" || trouble=1
  done
  ((trouble == 0)) || die "fuzzing found something: the lines above say what, and how to see it again"
}

build_fuzz_targets() {
  install_packages "${BUILD_PACKAGES[@]}" "${FUZZ_PACKAGES[@]}"
  build_preset fuzz fuzz_targets
}

# fuzz_one TARGET SECONDS: false when it found something.
fuzz_one() {
  local target=$1 seconds=$2 program=$ROOT/build/fuzz/tests/fuzz/fuzz_$1
  local log=$FUZZ_FOLDER/$1.log crashes=$FUZZ_FOLDER/crashes
  mkdir -p "$FUZZ_FOLDER/$target" "$crashes"
  say "fuzzing $target for $seconds s"
  if "$program" -max_total_time="$seconds" -timeout="$FUZZ_INPUT_SECONDS" -rss_limit_mb="$FUZZ_MEMORY_MB" \
    -max_len="$FUZZ_INPUT_BYTES" -artifact_prefix="$crashes/$target-" -print_final_stats=1 \
    "$FUZZ_FOLDER/$target" "$ROOT/tests/fuzz/corpus/$target" >"$log" 2>&1; then
    say "$target: nothing found in $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs"
    return 0
  fi
  grep -E '^property broken|^SUMMARY|ERROR: ' "$log" >&2 || tail -n 20 "$log" >&2
  fuzz_advice "$program" "$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)" "$log"
  return 1
}

fuzz_advice() {
  local program=$1 input=$2 log=$3
  say "the whole output: $log"
  [[ -n $input ]] || return 0
  say "the input: $input"
  say "see it again: $program $input"
}

run_fuzz() {
  local target failed=0 status cases=''
  for target in "${FUZZ_TARGETS[@]}"; do
    status=0
    fuzz_one "$target" "${FUZZ_LONGER[$target]:-$FUZZ_SECONDS}" || status=1 failed=1
    cases+=$(case_of "$target" "$status")
  done
  write_suite fuzz "$failed" "$cases"
}
