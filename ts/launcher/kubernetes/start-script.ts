/**
 * The script with which the pod of a run starts prl, the same for all runs: a pod that replaces a failed one goes on with the run, and the first one
 * of a start does what was asked for. A mark in the run's data says that a start has begun, and which attempt of the run was the newest then: until there is
 * another one, later checkpoints than the step that was asked for are still there. All that differs comes as arguments.
 */

/** Arguments: the mark, the run directory, `new`, `latest` or a step, and then the command. */
export const START = `#!/bin/sh
# start.sh <mark of this start> <run directory> <new|latest|step> <command>...
set -eu
mark=$1 run=$2 first=$3
shift 3
mkdir -p -- "\${mark%/*}"
newest=0
for folder in "$run"/logs/attempt_*; do
  number=\${folder##*_}
  case $number in '' | *[!0-9]*) continue ;; esac
  if [ "$number" -gt "$newest" ]; then newest=$number; fi
done
if [ ! -e "$mark" ]; then
  echo "$newest" >"$mark.new"
  mv -- "$mark.new" "$mark"
elif [ "$first" = new ]; then
  if [ -e "$run/configs/rl.json" ]; then first=latest; fi
elif [ "$(cat -- "$mark")" != "$newest" ]; then
  first=latest
fi
if [ "$first" = latest ]; then
  set -- "$@" --resume
elif [ "$first" != new ]; then
  set -- "$@" --resume "$first"
fi
exec "$@"
`;
