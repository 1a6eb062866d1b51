/** `prl plan`: what a run of a config needs, before anything is started. */
import { loadConfig, parseConfigArguments, type RlConfig } from "../../../config/index.ts";
import { PrlError } from "../../../errors.ts";
import { hubSettings } from "../../../hub/index.ts";
import { makePlan, type PlanOptions, type PlanSurroundings } from "../../../plan/index.ts";
import { simulate, type SimulationOptions } from "../../../simulation/index.ts";
import { checkOptions } from "../../arguments/args.ts";
import { type Command, type CommandIo, EXIT } from "../../command.ts";
import { namingTheStop } from "../../processes/model-download.ts";
import { PLAN_OPTIONS } from "./options.ts";
import { refuseWithoutSimulation, SIMULATE, SIMULATION_OPTIONS, simulationOptions } from "./simulation-options.ts";
import { curveLines } from "./simulation-text.ts";
import { planLines } from "./text.ts";

const OPTIONS = [...PLAN_OPTIONS, SIMULATE, ...SIMULATION_OPTIONS];

export const command: Command = {
  name: "plan",
  summary: "Work out memory, times and traffic of a run before it is started",
  usage: "plan [@] <file.toml>... [--key value]...",
  details: [
    "Says, for the config of prl rl, how many bytes each GPU needs and for what, how long a step is expected to take, what travels, and",
    "what does not fit; then the exit code is not 0. Of the model only config.json is read, from a folder, the cache or the hub.",
    "What neither the config nor the model says is assumed; every assumption is printed with the option that changes it.",
    "With --simulate the orchestrator runs in virtual time against simulated servers, env workers and a simulated trainer, with 16 to 1,024",
    "GPUs: tokens per second, loads of the parts, and where more GPUs do not help any more. Equal seeds give equal numbers.",
  ].join("\n"),
  options: OPTIONS,
  config: "rl",
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const { files, overrides, options } = parseConfigArguments("rl", args, OPTIONS);
  checkOptions(OPTIONS, options);
  if (files.length === 0)
    throw new PrlError("PRL_CLI_USAGE", "prl plan: name at least one config file; see prl plan --help");
  const { config } = await loadConfig(files, overrides, { kind: "rl", env: io.env, cwd: io.cwd });
  if (!options.has(SIMULATE.flag)) refuseWithoutSimulation(options);
  const surroundings = { settings: hubSettings(io.env), signal: io.signal };
  if (options.has(SIMULATE.flag)) {
    return runSimulation(io, config, await simulationOptions(options, planOptions(options), io.cwd), surroundings);
  }
  const plan = await namingTheStop(io, makePlan(config, planOptions(options), surroundings));
  if (io.json) io.writeJson(plan);
  else io.stdout.write(`${planLines(plan).join("\n")}\n`);
  if (plan.problems.length === 0) return EXIT.done;
  throw new PrlError("PRL_PLAN_UNFIT", plan.problems.join("; "));
}

/** Numbers of GPUs that the model does not fit are named; when it fits none of them, that is the error. */
async function runSimulation(
  io: CommandIo,
  config: RlConfig,
  options: SimulationOptions,
  surroundings: PlanSurroundings,
): Promise<number> {
  const curve = await namingTheStop(io, simulate(config, options, surroundings));
  if (io.json) io.writeJson(curve);
  else io.stdout.write(`${curveLines(curve).join("\n")}\n`);
  if (curve.points.some(({ measures }) => measures !== null)) return EXIT.done;
  throw new PrlError("PRL_PLAN_UNFIT", curve.points.flatMap(({ problems }) => problems).join("; "));
}

function planOptions(options: ReadonlyMap<string, string>): PlanOptions {
  const number = (flag: string, name: keyof PlanOptions, unit = 1): PlanOptions =>
    options.has(flag) ? { [name]: Number(options.get(flag)) * unit } : {};
  const device = options.get("--device");
  return {
    ...(device !== undefined && { device }),
    ...number("--mfu", "mfu"),
    ...number("--bandwidth", "bandwidth"),
    ...number("--prompt-tokens", "promptTokens"),
    ...number("--completion-tokens", "completionTokens"),
    ...number("--env-seconds", "envSeconds"),
    ...number("--transfer", "transfer", 1e9),
    ...number("--server-gpus", "serverGpus"),
  };
}
