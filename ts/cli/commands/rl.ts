/** `prl rl`: reinforcement learning, from a config to a trained policy. */
import { type LoadedConfig, loadConfig, parseConfigArguments } from "../../config/index.ts";
import { BENCH_OPTION, isBench } from "../bench/option.ts";
import { PrlError } from "../../errors.ts";
import { type Command, type CommandIo, EXIT } from "../command.ts";
import { deployRun, prepareRl, type ResumeRequest, rl, submitRun } from "../../launcher/index.ts";
import { resumeRequest, RUN_OPTIONS, showRun } from "../processes/show-run.ts";

const SLURM_OPTION = {
  flag: "--slurm",
  summary: "Submit the run as a Slurm job and end; with --dry-run write the job's script only",
} as const;

const KUBERNETES_OPTION = {
  flag: "--kubernetes",
  summary: "Apply the run's Kubernetes manifests by kubectl and end; with --dry-run write them only",
} as const;
const OPTIONS = [...RUN_OPTIONS, SLURM_OPTION, KUBERNETES_OPTION];

export const command: Command = {
  name: "rl",
  summary: "Train a policy by reinforcement learning",
  usage: "rl [@] <file.toml>... [--key value]...",
  details: [
    "Starts trainer, inference servers, env workers and orchestrator as separate processes, supervises them and shows the",
    "progress. All files of the run are in <output_dir>/<run>; summary.json is written last.",
    "With --slurm it submits the run as a job, as [slurm] says, and ends; prl slurm shows and cancels the job.",
    "With --kubernetes it applies the run's objects, as [kubernetes] says, and ends; prl kubernetes shows and deletes them.",
  ].join("\n"),
  options: [...OPTIONS, BENCH_OPTION],
  config: "rl",
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  if (isBench(args)) return (await import("../bench/run.ts")).benchRun(args, io);
  const { files, overrides, options } = parseConfigArguments("rl", args, OPTIONS);
  const resume = resumeRequest(options);
  const loaded = await loadConfig(files, overrides, { kind: "rl", env: io.env, cwd: io.cwd });
  const how = { resume, dryRun: options.has("--dry-run") };
  const [onSlurm, onKubernetes] = [options.has(SLURM_OPTION.flag), options.has(KUBERNETES_OPTION.flag)];
  if (onSlurm && onKubernetes) throw new PrlError("PRL_CLI_USAGE", "prl rl: give one of --slurm and --kubernetes");
  if (onSlurm) return submit(loaded, how, io);
  if (onKubernetes) return deploy(loaded, how, io);
  if (options.has("--dry-run")) {
    const { directory, warnings } = await prepareRl(loaded.config, {
      provenance: loaded.provenance,
      signal: io.signal,
      resume,
    });
    for (const warning of warnings) io.stderr.write(`Warning: ${warning}\n`);
    const written = `${directory.path}/configs/rl.json`;
    if (io.json) io.writeJson({ run: directory.name, run_dir: directory.path, config: written });
    else io.stdout.write(`The resolved config is in ${written}\n`);
    return EXIT.done;
  }
  const { config } = loaded;
  const title = config.run.name ?? config.orchestrator.train.source.map((source) => source.name).join(", ");
  return showRun(io, title, (onEvent) =>
    rl(loaded, { signal: io.signal, hurry: io.hurry, onEvent, ...(resume !== undefined && { resume }) }),
  );
}

async function submit(
  { config, provenance }: LoadedConfig<"rl">,
  { resume, dryRun }: { resume: ResumeRequest | undefined; dryRun: boolean },
  io: CommandIo,
): Promise<number> {
  const {
    run: name,
    runDir,
    script,
    job,
  } = await submitRun(config, {
    provenance,
    resume,
    dryRun,
    env: io.env,
    cwd: io.cwd,
  });
  if (io.json) io.writeJson({ run: name, run_dir: runDir, script, job_id: job?.id ?? null });
  else if (job === null) io.stdout.write(`The job's script is ${script}\n`);
  else io.stdout.write(`Submitted job ${job.id}; its run directory is ${runDir}\n`);
  return EXIT.done;
}

async function deploy(
  { config, provenance }: LoadedConfig<"rl">,
  { resume, dryRun }: { resume: ResumeRequest | undefined; dryRun: boolean },
  io: CommandIo,
): Promise<number> {
  const { run: name, runDir, folder, applied } = await deployRun(config, { provenance, resume, dryRun, env: io.env });
  if (io.json) io.writeJson({ run: name, run_dir: runDir, folder, name: applied?.name ?? null });
  else if (applied === null) io.stdout.write(`The manifests are in ${folder}\n`);
  else io.stdout.write(`Applied ${applied.name}; prl kubernetes status ${name} shows it\n`);
  return EXIT.done;
}
