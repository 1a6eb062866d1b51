/** `prl plan`: what a run of a config needs, before anything is started. */
import { loadConfig, parseConfigArguments } from "../../../config/index.ts";
import { PrlError } from "../../../errors.ts";
import { hubSettings } from "../../../hub/index.ts";
import { makePlan, type PlanOptions } from "../../../plan/index.ts";
import { checkOptions } from "../../arguments/args.ts";
import { type Command, type CommandIo, EXIT } from "../../command.ts";
import { namingTheStop } from "../../processes/model-download.ts";
import { PLAN_OPTIONS } from "./options.ts";
import { planLines } from "./text.ts";

export const command: Command = {
  name: "plan",
  summary: "Work out memory, times and traffic of a run before it is started",
  usage: "plan [@] <file.toml>... [--key value]...",
  details: [
    "Says, for the config of prl rl, how many bytes each GPU needs and for what, how long a step is expected to take, what travels, and",
    "what does not fit; then the exit code is not 0. Of the model only config.json is read, from a folder, the cache or the hub.",
    "What neither the config nor the model says is assumed; every assumption is printed with the option that changes it.",
  ].join("\n"),
  options: PLAN_OPTIONS,
  config: "rl",
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const { files, overrides, options } = parseConfigArguments("rl", args, PLAN_OPTIONS);
  checkOptions(PLAN_OPTIONS, options);
  if (files.length === 0)
    throw new PrlError("PRL_CLI_USAGE", "prl plan: name at least one config file; see prl plan --help");
  const { config } = await loadConfig(files, overrides, { kind: "rl", env: io.env, cwd: io.cwd });
  const surroundings = { settings: hubSettings(io.env), signal: io.signal };
  const plan = await namingTheStop(io, makePlan(config, planOptions(options), surroundings));
  if (io.json) io.writeJson(plan);
  else io.stdout.write(`${planLines(plan).join("\n")}\n`);
  if (plan.problems.length === 0) return EXIT.done;
  throw new PrlError("PRL_PLAN_UNFIT", plan.problems.join("; "));
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
