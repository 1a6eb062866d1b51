/**
 * The part of a job's script that is the same for all runs: it starts one srun for each role, watches them, ends them, and says how the
 * job ended.
 *
 * - A role's exit code is what its program left in `<state>/<role>.code` on its node. The exit code of srun is not that: Slurm 22.05 gives 0
 *   for a step that a signal or the failure of its node ended. A role that left no code was lost, which counts as 1.
 * - Roles of kind `work` end by themselves. Roles of kind `serve` do not, so that their end is a failure. One that a signal ended, or that had
 *   worked for a minute, is started again on its node within the same step, at most five times in a row without such a minute.
 * - The first failure ends all other roles, and its code is the job's. Slurm's SIGTERM ends all roles; the code is then 143.
 * - Signals go to steps of this job through scancel. A signal to srun itself would kill the step.
 * - Every wait ends: roles get SIGTERM, after 30 s SIGKILL, and the script ends 30 s later whatever they do.
 *
 * It knows of prl the exit codes, and that the orchestrator writes the summary. It needs bash 4.3.
 */
import { LONG_LIFE_S, MOST_EARLY_DEATHS } from "../clusters/restart-rule.ts";

/** Seconds from the failure of the trainer to the SIGTERM of the others: the orchestrator sees the failure and names it in the summary. */
const OWN_WORDS_S = 10;
/** Longest time for a question to Slurm (seconds). */
export const ASK_S = 20;
/** Seconds from SIGTERM to SIGKILL; a part of a run needs at most 10. */
const TERM_S = 30;
/** Seconds from SIGKILL to the end of the script. */
const KILL_S = 30;

/** Codes of a shell for programs that a signal ended are above this one. */
const SIGNALED = 128;

/**
 * The program of sh that a step runs: file of the exit code, kind, and then the command. A signal to the step reaches all its processes, so
 * that the program knows of a stop from the signal that it gets itself.
 */
const STEP = `stopped= early=0
trap "stopped=1" TERM
kind=$1
shift
while :; do
  began=$(date +%s)
  "$@"
  code=$?
  if [ "$kind" != serve ] || [ -n "$stopped" ]; then break; fi
  if [ $(($(date +%s) - began)) -ge ${LONG_LIFE_S} ]; then early=0; elif [ "$code" -le ${SIGNALED} ]; then break; fi
  early=$((early + 1))
  if [ "$early" -gt ${MOST_EARLY_DEATHS} ]; then break; fi
  echo "$(date +%T) ended with code $code and is started again"
  sleep "$early"
  if [ -n "$stopped" ]; then break; fi
done
echo "$code" >"$0.new" && mv "$0.new" "$0"
exit "$code"`;

/** Defines `start`, `address_of` and `supervise`. It reads run, job, restarts, state, logs, prl, container, requeue. */
export const SUPERVISION = `declare -A kind_of=() shell_of=()
is_stopped=
trap 'is_stopped=1' TERM
step='${STEP}'

# start <role> <work|serve> <node> <argument of prl>...
start() {
  local role=$1 node=$3
  kind_of[$role]=$2
  shift 3
  (
    trap : TERM
    srun --overlap --nodes=1 --ntasks=1 --nodelist="$node" --cpu-bind=none --job-name="$role" "\${container[@]}" \\
      /bin/sh -c "$step" "$state/$role.code" "\${kind_of[$role]}" "\${prl[@]}" "$@" </dev/null >>"$logs/$role.log" 2>&1
  ) &
  shell_of[$role]=$!
}

# The address of a node, as Slurm knows it.
address_of() {
  timeout ${ASK_S} scontrol show -o node "$1" | sed -n 's/.*[[:space:]]NodeAddr=\\([^[:space:]]*\\).*/\\1/p'
}

# signal_steps <signal> [<role>]: to all steps of the job, or to that of one role. A step may have ended meanwhile. It does not wait: scancel
# tries for half a minute to signal a job that Slurm is ending.
signal_steps() {
  local step name
  if (($# == 1)); then
    timeout ${ASK_S} scancel --signal="$1" "$job" >/dev/null 2>&1 &
    return
  fi
  while read -r step name; do
    if [[ $name == "$2" ]]; then timeout ${ASK_S} scancel --signal="$1" "$step" >/dev/null 2>&1 & fi
  done < <(timeout ${ASK_S} squeue --noheader --steps --jobs="$job" --format='%i %j')
}

code_of() {
  local code=
  if [[ -r $state/$1.code ]]; then read -r code <"$state/$1.code"; fi
  if [[ $code =~ ^[0-9]+$ ]]; then echo "$code"; else echo lost; fi
}

# Nodes of the job that Slurm counts as down, with commas.
down_nodes() {
  local down
  down=$(timeout ${ASK_S} sinfo --noheader --Node --nodes="$SLURM_JOB_NODELIST" --states=down,fail --format=%N 2>/dev/null | sort -u | paste -sd,)
  echo "\${down//[^A-Za-z0-9_.,-]/}"
}

# write_end <reason> <role> <exit code> <down nodes>: the marker that says how this start of the job ended.
write_end() {
  printf '{"job":"%s","restarts":%d,"reason":"%s","role":"%s","exit_code":%d,"down_nodes":"%s","time":%d}\\n' \\
    "$job" "$restarts" "$1" "$2" "$3" "$4" "$(date +%s)" >"$run/slurm/end.json.new" &&
    mv "$run/slurm/end.json.new" "$run/slurm/end.json"
}

# Waits until all roles have ended; sets reason, end_role and end_code.
supervise() {
  local role code stop_at=0 phase=run
  reason=completed end_role='' end_code=0 lost_role=''
  while true; do
    for role in "\${!kind_of[@]}"; do
      if kill -0 "\${shell_of[$role]}" 2>/dev/null; then continue; fi
      code=$(code_of "$role")
      echo "$(date +%T) $role ended: $code"
      if [[ $code == lost ]]; then lost_role=$role; fi
      if [[ $phase == run && ($code != 0 || \${kind_of[$role]} == serve) ]]; then
        reason=failed end_role=$role end_code=$code
        if [[ $code == lost || $code == 0 ]]; then end_code=1; fi
        if [[ $code == lost ]]; then reason=lost; fi
        phase=failed stop_at=$SECONDS
        echo "the end of $logs/$role.log says why"
        if [[ $role == trainer-0 ]]; then stop_at=$((SECONDS + ${OWN_WORDS_S})); fi
      fi
      unset "kind_of[$role]" "shell_of[$role]"
    done
    if [[ -n $is_stopped && ($phase == run || $phase == failed) ]]; then
      if [[ $phase == run ]]; then reason=stopped end_code=143; fi
      # The orchestrator first, so that its summary does not name the end of another role as a failure.
      signal_steps TERM orchestrator-0
      phase=stopping stop_at=$((SECONDS + 1))
    fi
    if [[ $phase == run && ! " \${kind_of[*]} " == *' work '* ]]; then phase=stopping stop_at=$SECONDS; fi
    if [[ $phase == failed && ! " \${kind_of[*]} " == *' work '* ]]; then stop_at=$SECONDS; fi
    if ((\${#kind_of[@]} == 0)); then break; fi
    if [[ $phase != run ]] && ((SECONDS >= stop_at)); then
      case $phase in
        failed | stopping) signal_steps TERM; phase=terminated stop_at=$((SECONDS + ${TERM_S})) ;;
        terminated) signal_steps KILL; phase=killed stop_at=$((SECONDS + ${KILL_S})) ;;
        killed) echo "given up on: \${!kind_of[*]}"; break ;;
      esac
    fi
    sleep 1 &
    wait "$!"
  done
}

# Ends the job: marker, exit code, and at the time limit its way back into the queue.
finish() {
  local state_now='' down
  down=$(down_nodes)
  # Slurm may send SIGTERM to the steps as well, which then end before this script has seen it.
  if [[ -n $is_stopped && $end_code == 143 ]]; then reason=stopped end_role=''; fi
  # Slurm sends SIGTERM when a node is lost, too.
  if [[ $reason == stopped && -n $down && -n $lost_role ]]; then reason=lost end_role=$lost_role end_code=1; fi
  if [[ $reason == stopped ]]; then
    state_now=$(timeout ${ASK_S} squeue --noheader --jobs="$job" --format=%T 2>/dev/null)
    if [[ $requeue == 1 && $state_now == RUNNING ]]; then reason=requeued; fi
  fi
  write_end "$reason" "$end_role" "$end_code" "$down"
  echo "$(date +%T) the job ends: $reason \${end_role:+($end_role) }with exit code $end_code"
  if [[ $reason == requeued ]]; then timeout ${ASK_S} scontrol requeue "$job"; fi
  exit "$end_code"
}
`;
