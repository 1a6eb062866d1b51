/**
 * The batch script of a run's job, `<run>/slurm/job.sh`.
 *
 * Only plain words of `[slurm]` stand in its `#SBATCH` lines. Every other text is one quoted word of bash. Nothing but `slurm.setup` is code of
 * the user. The script keeps no key: it reads that of the inference servers from a file.
 */
import type { RlConfig } from "../../config/index.ts";
import { listensOnNode, type Role } from "./job-plan.ts";
import { ASK_S, SUPERVISION } from "./job-supervision.ts";
import { quoted, quotedWords } from "../clusters/shell-quote.ts";

export interface JobScript {
  readonly config: RlConfig;
  readonly roles: readonly Role[];
  /** Absolute path of the run directory. */
  readonly runDir: string;
  /** The folder where the user submits, which relative paths in arguments of environments begin at, except in a container. */
  readonly cwd: string;
  /** How prl is started on the nodes. */
  readonly command: readonly string[];
  /** The step that the run continues from; null for a new run. */
  readonly resume: "latest" | number | null;
}

/** Names of the files in `<run>/slurm/`. */
export const JOB_FILES = {
  script: "job.sh",
  config: "rl.toml",
  job: "job.json",
  end: "end.json",
  key: "key",
} as const;

/** Ports of servers whose config names none: below those that systems give out themselves, other ones for each of the last jobs. */
const FIRST_PORT = 10_000;
const PORTS = 20_000;

export function renderJob(job: JobScript): string {
  const { config, runDir, cwd, command } = job;
  const { slurm } = config;
  const parts = [
    `#!/bin/bash\n# The job of a run of prl. In the run directory: prl slurm status . | prl slurm logs . | prl slurm cancel .`,
    directives(job).join("\n"),
    [
      ...slurm.modules.map((name) => `module load ${quoted(name)} || exit 1`),
      ...slurm.setup,
      `run=${quoted(runDir)}`,
      `config="$run"/slurm/${JOB_FILES.config}`,
      `prl=${quotedWords(slurm.command ?? command)}`,
      `container=${container(job)}`,
      `requeue=${slurm.requeue ? 1 : 0}`,
      `job=\${SLURM_JOB_ID:?is missing: this is for sbatch}`,
      `restarts=\${SLURM_RESTART_COUNT:-0}`,
      `state="$run/slurm/start_\${job}_$restarts"`,
      `cd -- ${quoted(cwd)} || exit 1`,
    ].join("\n"),
    SUPERVISION.trimEnd(),
    beginning(job),
    (config.slurm.nodes === 1 ? launcherRole : partRoles)(job),
    "supervise\nfinish",
  ];
  return `${parts.join("\n\n")}\n`;
}

function directives({ config }: JobScript): string[] {
  const { slurm, run } = config;
  const given: [string, string | number | null][] = [
    ["job-name", slurm.job_name ?? `prl-${run.name}`],
    ["partition", slurm.partition],
    ["account", slurm.account],
    ["qos", slurm.qos],
    ["nodes", slurm.nodes],
    ["ntasks-per-node", 1],
    ["cpus-per-task", slurm.cpus_per_task],
    ["mem", slurm.mem],
    ["gpus-per-node", slurm.gpus_per_node],
    ["gres", slurm.gres],
    ["time", slurm.time],
    ["nodelist", slurm.nodelist],
    ["exclude", slurm.exclude],
    ["signal", `B:TERM@${slurm.grace_s}`],
    ["output", "job-%j.log"],
    ["open-mode", "append"],
  ];
  return [
    ...given.filter(([, value]) => value !== null).map(([name, value]) => `--${name}=${value}`),
    slurm.requeue ? "--requeue" : "--no-requeue",
    ...(slurm.cpus_per_task === null ? ["--exclusive"] : []),
    ...slurm.extra,
  ].map((option) => `#SBATCH ${option}`);
}

function container({ config, runDir }: JobScript): string {
  const { container_image: image, container_mounts: mounts } = config.slurm;
  if (image === null) return "()";
  const all = [`${runDir}:${runDir}`, ...mounts].join(",");
  return quotedWords([`--container-image=${image}`, `--container-mounts=${all}`]);
}

/** Folders of this start, and what it continues from. */
function beginning({ resume, config }: JobScript): string {
  // The launcher has the logs of its processes in a folder for each attempt.
  const logs = config.slurm.nodes === 1 ? `logs="$state"` : `logs="$run/logs/job_\${job}_$restarts"`;
  // Ready files of an earlier start name addresses where no server listens any more.
  const several = [
    `ln -sfn -- "job_\${job}_$restarts" "$run/logs/latest" || exit 1`,
    `rm -f -- "$run"/run/inference-*.json "$run"/run/env-worker-*.json`,
  ];
  return [
    logs,
    `mkdir -p -- "$state" "$logs" || exit 1`,
    ...(config.slurm.nodes === 1 ? [] : several),
    `ln -sfn -- "start_\${job}_$restarts" "$run/slurm/latest" || exit 1`,
    `rm -f -- "$run/slurm/${JOB_FILES.end}"`,
    `mapfile -t nodes < <(timeout ${ASK_S} scontrol show hostnames "$SLURM_JOB_NODELIST")`,
    `if ((\${#nodes[@]} != ${config.slurm.nodes})); then echo "no list of the job's nodes: $SLURM_JOB_NODELIST"; exit 1; fi`,
    ...(typeof resume === "number" ? resumeFrom(resume, config) : resumeAlways(resume)),
    `echo "$(date +%T) job $job, start $restarts, on \${nodes[*]}"`,
  ].join("\n");
}

/** Later starts of the job go on from the newest checkpoint. */
function resumeAlways(resume: "latest" | null): string[] {
  return [`resume=(${resume === null ? "" : "--resume"})`, `if ((restarts > 0)); then resume=(--resume); fi`];
}

/** So do those after a start whose run has gone back to `step`, which makes another attempt: until then later checkpoints are still there. */
function resumeFrom(step: number, { slurm }: RlConfig): string[] {
  const newest =
    slurm.nodes === 1
      ? `ls -d -- "$run"/logs/attempt_* 2>/dev/null | sort -V | tail -n 1`
      : `cat -- "$run/run/attempt.json" 2>/dev/null`;
  return [
    `before="$run/slurm/before_$job" newest=$(${newest})`,
    `if [[ ! -e $before ]]; then printf '%s\\n' "$newest" >"$before" || exit 1; fi`,
    `resume=(--resume ${step})`,
    `if [[ $newest != "$(<"$before")" ]]; then resume=(--resume); fi`,
  ];
}

function launcherRole({ roles }: JobScript): string {
  return roles
    .map(
      ({ name, kind, node, command }) =>
        `start ${name} ${kind} "\${nodes[${node}]}" ${command} "$config" "\${resume[@]}"`,
    )
    .join("\n");
}

/** The addresses of the inference servers are known before any role starts, because all roles get the same config. */
function partRoles({ config, roles }: JobScript): string {
  const { port } = config.inference.server;
  const servers = roles.filter(({ command }) => command === "inference");
  const base = port === 0 ? `$((${FIRST_PORT} + job * ${servers.length} % ${PORTS}))` : String(port);
  return [
    `if [[ -z \${PRL_TRANSPORT_TOKEN-} ]]; then PRL_TRANSPORT_TOKEN=$(<"$run/slurm/${JOB_FILES.key}") || exit 1; fi`,
    `export PRL_TRANSPORT_TOKEN`,
    `addresses=() urls=() port=${base}`,
    `for node in "\${nodes[@]}"; do`,
    `  address=$(address_of "$node")`,
    `  if [[ ! $address =~ ^[A-Za-z0-9_.:-]+$ ]]; then echo "Slurm says no address of $node"; exit 1; fi`,
    `  addresses+=("$address")`,
    `done`,
    `places=(${servers.map(({ node }) => node).join(" ")})`,
    `for node in "\${places[@]}"; do`,
    `  host=\${addresses[$node]}`,
    `  if [[ $host == *:* ]]; then host="[$host]"; fi`,
    `  urls+=("\\"http://$host:$((port + \${#urls[@]}))\\"")`,
    `done`,
    `list=$(IFS=,; echo "[\${urls[*]}]")`,
    `part=(@ "$config" --run-dir "$run" --orchestrator.client.base_url "$list" --inference.server.port "$port")`,
    ...roles.map((role) => `start ${role.name} ${role.kind} "\${nodes[${role.node}]}" ${partArguments(role, config)}`),
  ].join("\n");
}

function partArguments({ command, index, node }: Role, config: RlConfig): string {
  const words = [command, `"\${part[@]}"`];
  if (command === "inference" || command === "env-server") words.push("--index", String(index));
  else words.push(`"\${resume[@]}"`);
  if (command === "inference" && listensOnNode(config))
    words.push("--inference.server.host", `"\${addresses[${node}]}"`);
  return words.join(" ");
}
