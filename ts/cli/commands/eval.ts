/** `prl eval`: runs environments against a model behind any endpoint and prints the results. */
import { type ConfigArguments, loadConfig, type Override, parseConfigArguments } from "../../config/index.ts";
import { environmentReference } from "../../environments/internal.ts";
import { PrlError } from "../../errors.ts";
import { resultTable } from "../../evals/index.ts";
import { type Command, type CommandIo, EXIT, exitCodeOf } from "../command.ts";
import { EvaluationProgressView } from "../evaluation-progress.ts";
import { outliveOutput } from "../lost-output.ts";
import { stopExit } from "../../stop-signal.ts";
import { evaluate, type EvalSummary } from "../../launcher/evaluations.ts";
import { COMPARE_OPTIONS, compareEvaluations } from "./eval/compare.ts";
import { contaminationOf } from "./eval/contamination.ts";
import { pageOfEvaluation } from "./eval/page.ts";
import { BENCHMARK_OPTIONS, evaluationsOf, listSuites, modeOf, namedBenchmarks, showData } from "./eval/benchmarks.ts";

const OPTIONS = [
  {
    flag: "--env-args",
    value: "<json>",
    summary: "Arguments of the environments that are named on the command line (-a)",
  },
  { flag: "--resume", summary: "Continue an earlier run: keep its scored rollouts and run all others again" },
  ...BENCHMARK_OPTIONS,
] as const;

/** Short forms, as other evaluation tools have them. */
const SHORT: Readonly<Record<string, string>> = {
  "-m": "--model",
  "-b": "--base-url",
  "-n": "--num-examples",
  "-r": "--rollouts",
  "-c": "--max-concurrent",
  "-e": "--endpoints",
  "-k": "--api-key-var",
  "-t": "--sampling.max-completion-tokens",
  "-T": "--sampling.temperature",
  "-a": "--env-args",
  "-o": "--output-dir",
};

export const command: Command = {
  name: "eval",
  summary: "Evaluate a model behind an endpoint on environments",
  usage:
    "eval <id|path|file.toml>... | --suite <name> | --benchmark <name> -m <model> -b <base url> [-n examples] [-r rollouts] [-c concurrency] [--key value]...\n       prl eval compare <run directory> <run directory> [--html <file>]\n       prl eval page <run directory> [--html <file>]\n       prl eval contamination <run directory> <training run directory>",
  details: `Name environments by id (reverse-text) or path (./my-env.ts), or give config files with [[eval]] tables.
Short forms: ${Object.entries(SHORT)
    .map(([short, long]) => `${short} ${long}`)
    .join(", ")}.
--suite and --benchmark run published benchmarks: their data is downloaded from its owner, checked and cached.
-m may be an id of an endpoints file (-e): [[endpoint]] tables with id, model, url, api, api_key_var, headers.
summary.json of the run directory has the results, traces.jsonl has every rollout.`,
  options: [...OPTIONS, ...COMPARE_OPTIONS],
  config: "eval",
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  if (args[0] === "compare") return compareEvaluations(args.slice(1), io);
  if (args[0] === "page") return pageOfEvaluation(args.slice(1), io);
  if (args[0] === "contamination") return contaminationOf(args.slice(1), io);
  const words = args.map(expanded);
  const parsed = parseConfigArguments("eval", words, OPTIONS);
  if (parsed.options.has("--list-suites")) return listSuites(io);
  const { files, inPlace } = await evaluationsNamed(parsed, io);
  const { overrides, options } = parsed;
  const loaded = await loadConfig(files, [...inPlace, ...overrides], { kind: "eval", env: io.env, cwd: io.cwd });
  outliveOutput();
  const view = new EvaluationProgressView((text) => io.stderr.write(text), io.isTerminal ? io.columns : null);
  const summary = await evaluate(loaded, {
    signal: io.signal,
    resume: options.has("--resume"),
    env: io.env,
    onDirectory: (runDir, kept) => {
      io.stderr.write(`Run directory ${runDir}${kept === 0 ? "" : `, ${kept} rollouts kept`}\n`);
    },
    onProgress: (progress) => view.show(progress),
  });
  return finish(summary, io);
}

/** The config files, or the evaluations that the command line names in place of them. */
async function evaluationsNamed(
  { files: named, overrides, options }: ConfigArguments,
  io: CommandIo,
): Promise<{ files: ConfigArguments["files"]; inPlace: Override[] }> {
  const environments = named.filter((name) => typeof name === "string" && !isConfigFile(name)) as string[];
  const files = named.filter((name) => typeof name !== "string" || isConfigFile(name));
  const benchmarks = namedBenchmarks(options, io);
  const envArgs = options.get("--env-args");
  const given = [...environments, ...benchmarks.map(({ name }) => name)];
  if (given.length > 0 && files.length > 0)
    throw new PrlError("PRL_CLI_USAGE", `prl eval: name environments or config files, not both: ${given.join(", ")}`);
  if (given.length === 0 && envArgs !== undefined)
    throw new PrlError("PRL_CLI_USAGE", "--env-args is for environments on the command line; in a file write env.args");
  if (given.length === 0 && files.length === 0)
    throw new PrlError("PRL_CLI_USAGE", "prl eval: name an environment, a suite or a config file; see prl eval --help");
  if (given.length === 0) return { files, inPlace: [] };
  const extra = envArgs === undefined ? {} : parseArgs(envArgs);
  const mode = modeOf(options);
  if (benchmarks.length > 0) await showData(benchmarks, mode, { args: extra, io });
  const value = [
    ...environments.map((name) => evaluationOf(name, envArgs)),
    ...evaluationsOf(benchmarks, mode, { overrides, args: extra }),
  ];
  return { files, inPlace: [{ path: ["eval"], value, flag: given.join(" ") }] };
}

function finish(summary: EvalSummary, io: CommandIo): number {
  if (io.json) io.writeJson(summary);
  else if (summary.evaluations.length > 0) io.stdout.write(`${resultTable(summary.evaluations).join("\n")}\n`);
  if (summary.error !== undefined)
    io.stderr.write(`prl: [${summary.error.code ?? "unknown"}] ${summary.error.message}\n`);
  if (summary.status === "completed") return EXIT.done;
  if (summary.status === "failed") return exitCodeOf(summary.error?.code ?? null);
  return stopExit(io.signal.reason);
}

/** A short flag in its long form, `-n5` and `-n=5` included. */
function expanded(word: string): string {
  const long = SHORT[word.slice(0, 2)];
  if (long === undefined || word.startsWith("--")) return word;
  const rest = word.slice(2).replace(/^=/u, "");
  return rest === "" ? long : `${long}=${rest}`;
}

function isConfigFile(name: string): boolean {
  return /\.(toml|json)$/u.test(name);
}

function evaluationOf(name: string, args: string | undefined): Record<string, unknown> {
  const reference = environmentReference(name);
  return { env: args === undefined ? reference : { ...reference, args: parseArgs(args) } };
}

function parseArgs(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (cause) {
    throw new PrlError("PRL_CLI_USAGE", `--env-args: expected a JSON object, got ${text}`, { cause });
  }
  throw new PrlError("PRL_CLI_USAGE", `--env-args: expected a JSON object, got ${text}`);
}
