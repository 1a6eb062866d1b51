/** `prl rl`: reinforcement learning, from a config to a trained policy. */
import { type LoadedConfig, loadConfig, parseConfigArguments } from "../../config/index.ts";
import { BENCH_OPTION, isBench } from "../bench/option.ts";
import { type Command, type CommandIo, EXIT } from "../command.ts";
import { prepareRl, type ResumeRequest, rl, submitRun } from "../../launcher/index.ts";
import { resumeRequest, RUN_OPTIONS, showRun } from "../processes/show-run.ts";

const SLURM_OPTION = {
  flag: "--slurm",
  summary: "Submit the run as a Slurm job and end; with --dry-run write the job's script only",
} as const;

export const command: Command = {
  name: "rl",
  summary: "Train a policy by reinforcement learning",
  usage: "rl [@] <file.toml>... [--key value]...",
  details: [
    "Starts trainer, inference servers, env workers and orchestrator as separate processes, supervises them and shows the",
    "progress. All files of the run are in <output_dir>/<run>; summary.json is written last.",
    "With --slurm it submits the run as a job, as [slurm] says, and ends; prl slurm shows and cancels the job.",
  ].join("\n"),
  options: [...RUN_OPTIONS, SLURM_OPTION, BENCH_OPTION],
  config: "rl",
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  if (isBench(args)) return (await import("../bench/run.ts")).benchRun(args, io);
  const { files, overrides, options } = parseConfigArguments("rl", args, [...RUN_OPTIONS, SLURM_OPTION]);
  const resume = resumeRequest(options.get("--resume"));
  const loaded = await loadConfig(files, overrides, { kind: "rl", env: io.env, cwd: io.cwd });
  if (options.has(SLURM_OPTION.flag)) return submit(loaded, { resume, dryRun: options.has("--dry-run") }, io);
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
