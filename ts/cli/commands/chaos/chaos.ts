/** `prl chaos`: a user's run under seeded faults, and what it was promised. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { loadConfig, type Override, parseConfigArguments } from "../../../config/index.ts";
import { checkOptions, numberOption } from "../../arguments/args.ts";
import { RULES } from "../../arguments/option-rule.ts";
import { chooseFaults, FAULTS } from "../../chaos/catalogue.ts";
import { reportLines, reportOf } from "../../chaos/report.ts";
import { runChaos } from "../../chaos/run-chaos.ts";
import { type Command, type CommandIo, EXIT } from "../../command.ts";

const DEFAULT_COUNT = 20;
const DEFAULT_PAUSE_S = 1;
const DEFAULT_DEADLINE_S = 3_600;

const OPTIONS = [
  {
    flag: "--faults",
    value: "<names>",
    summary: "Kinds of faults, separated by commas; kill-* names all that begin so (default: all)",
  },
  { flag: "--seed", value: "<n>", rule: RULES.whole, summary: "Seed of the faults (default: 1)" },
  {
    flag: "--count",
    value: "<n>",
    rule: RULES.count,
    summary: `Injections, over as many runs as they need (default: ${DEFAULT_COUNT})`,
  },
  {
    flag: "--pause",
    value: "<s>",
    rule: { is: "number", least: 0, most: 3_600 },
    summary: `Mean pause before an injection, in seconds (default: ${DEFAULT_PAUSE_S})`,
  },
  {
    flag: "--deadline",
    value: "<s>",
    rule: RULES.seconds,
    summary: `Longest time of one start of a run (default: ${DEFAULT_DEADLINE_S})`,
  },
  { flag: "--list", summary: "Print the kinds of faults, with what each breaks and what saves the run" },
] as const;

export const command: Command = {
  name: "chaos",
  summary: "Disturb runs of a config by seeded faults and check what was promised",
  usage: "chaos [@] <file.toml>... --faults <names> --seed <n> [--count <n>] [--key value]...\n       prl chaos --list",
  details: [
    "Starts runs of the config, kills and stops their processes, breaks their connections, damages their files, and",
    "resumes a run where a fault may end it. At the end it checks that no step was skipped or trained twice, no rollout",
    "counted twice, nothing trained that was too old, no process left; with max_async_level = 0 also that each run came to",
    "the very result of an undisturbed one. Exit code 1 when a promise was broken.",
    "All files are in <output_dir>/chaos-<seed>. --seed is that of the faults; the config has the run's.",
  ].join("\n"),
  options: OPTIONS,
  config: "rl",
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const { files, overrides, options } = parseConfigArguments("rl", args, OPTIONS);
  checkOptions(OPTIONS, options);
  if (options.has("--list")) return list(io);
  const load = async (own: readonly Override[]) =>
    (await loadConfig(files, [...overrides, ...own], { kind: "rl", env: io.env, cwd: io.cwd })).config;
  const config = await load([]);
  const choice = chooseFaults(options.get("--faults") ?? "all", {
    hasServers: config.orchestrator.client.base_url.length === 0,
    hasRunningDaemons: config.sandbox.addresses.length > 0,
  });
  const seed = numberOption(options, "--seed", 1);
  const folder = join(config.output_dir, `chaos-${seed}`);
  const result = await runChaos({
    config,
    configFor: (outputDir, maxRestarts) =>
      load([
        { path: ["output_dir"], value: outputDir, flag: "--output-dir" },
        { path: ["clean"], value: false, flag: "--clean" },
        { path: ["deployment", "max_restarts"], value: maxRestarts, flag: "--deployment.max-restarts" },
      ]),
    folder,
    choice,
    seed,
    count: numberOption(options, "--count", DEFAULT_COUNT),
    meanPauseMs: numberOption(options, "--pause", DEFAULT_PAUSE_S) * 1000,
    deadlineMs: numberOption(options, "--deadline", DEFAULT_DEADLINE_S) * 1000,
    env: io.env,
    cwd: io.cwd,
    signal: io.signal,
    note: (text) => io.stderr.write(`${text}\n`),
  });
  const report = reportOf(seed, choice, result);
  await writeFile(join(folder, "report.json"), `${JSON.stringify({ ...report, details: result.rounds }, null, 2)}\n`);
  if (io.json) io.writeJson(report);
  else io.stdout.write(`${reportLines(report).join("\n")}\n`);
  return report.violations.length === 0 ? EXIT.done : EXIT.failed;
}

function list(io: CommandIo): number {
  if (io.json) {
    const faults = FAULTS.map(({ name, breaks, saves, injection, promise }) => ({
      name,
      breaks,
      saves,
      injection,
      goes_on: promise.goesOn,
      codes: promise.codes,
    }));
    io.writeJson({ faults });
    return EXIT.done;
  }
  for (const { name, breaks, saves } of FAULTS) io.stdout.write(`${name}\n  breaks: ${breaks}\n  saves:  ${saves}\n`);
  return EXIT.done;
}
