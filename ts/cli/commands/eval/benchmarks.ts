/** `prl eval --suite`, `--benchmark`, `--list-suites`: benchmarks as evaluations of a config, and what is shown before their data is fetched. */
import { type Override } from "../../../config/index.ts";
import { dataPage, isCached } from "../../../datasets/index.ts";
import {
  type AnyBenchmark,
  benchmarkId,
  BENCHMARKS,
  findBenchmark,
  findSuite,
  type Mode,
  protocolOf,
  SUITES,
} from "../../../environments/internal.ts";
import { PrlError } from "../../../errors.ts";
import { type CommandIo, EXIT } from "../../command.ts";

export const BENCHMARK_OPTIONS = [
  { flag: "--suite", value: "<name>", summary: "Run the benchmarks of a suite; --list-suites has the names" },
  { flag: "--benchmark", value: "<name,...>", summary: "Run these benchmarks" },
  {
    flag: "--mode",
    value: "<mode>",
    summary: "Prompt and scoring of benchmarks: paper (the authors', the default) or lm-eval (equal numbers)",
  },
  { flag: "--list-suites", summary: "Print suites and benchmarks with their data and licences" },
] as const;

/**
 * The benchmarks that the options name, in their order; empty: none. Of a suite, those that do not have the mode are left out, and it is said on
 * stderr. Errors: PRL_BENCHMARK_UNKNOWN, PRL_CLI_USAGE.
 */
export function namedBenchmarks(options: ReadonlyMap<string, string>, io: Pick<CommandIo, "stderr">): AnyBenchmark[] {
  const suite = options.get("--suite");
  const named = (options.get("--benchmark") ?? "").split(",").filter((name) => name !== "");
  if (suite === undefined && named.length === 0 && options.has("--mode"))
    throw new PrlError("PRL_CLI_USAGE", "prl eval: --mode is for --suite and --benchmark");
  const mode = modeOf(options);
  const ofSuite = (suite === undefined ? [] : findSuite(suite).benchmarks).map(findBenchmark);
  const without = ofSuite.filter(({ name, modes }) => modes[mode] === undefined && !named.includes(name));
  for (const { name } of without) io.stderr.write(`${name} is left out: it has no mode ${mode}\n`);
  if (suite !== undefined && without.length === ofSuite.length)
    throw new PrlError("PRL_CLI_USAGE", `prl eval: no benchmark of the suite "${suite}" has the mode ${mode}`);
  return [...new Set([...ofSuite.filter((one) => !without.includes(one)), ...named.map(findBenchmark)])];
}

/** Errors: PRL_CLI_USAGE. */
export function modeOf(options: ReadonlyMap<string, string>): Mode {
  const mode = options.get("--mode") ?? "paper";
  if (mode === "paper" || mode === "lm-eval") return mode;
  throw new PrlError("PRL_CLI_USAGE", `prl eval: --mode: "${mode}" is none; use paper or lm-eval`);
}

/**
 * `[[eval]]` tables of the benchmarks with their published sampling. Keys that the command line sets for all evaluations are left unset, so that
 * they hold.
 */
export function evaluationsOf(
  benchmarks: readonly AnyBenchmark[],
  mode: Mode,
  { overrides, args }: { overrides: readonly Override[]; args: Readonly<Record<string, unknown>> },
): Record<string, unknown>[] {
  const isSet = (key: string): boolean => overrides.some(({ path }) => path.join(".") === key);
  return benchmarks.map((benchmark) => {
    const { sampling, rollouts = 1 } = protocolOf(benchmark, mode);
    return {
      name: benchmark.name,
      env: { id: benchmarkId(benchmark.name), args: { mode, ...args } },
      ...(isSet("rollouts") ? {} : { rollouts }),
      sampling: {
        ...(isSet("sampling.temperature") ? {} : { temperature: sampling.temperature }),
        ...(isSet("sampling.max_completion_tokens") ? {} : { max_completion_tokens: sampling.maxCompletionTokens }),
      },
    };
  });
}

/** Prints what the data is, its licence, and whether it will be downloaded. Errors: PRL_CONFIG_ENVIRONMENT and the like of the hub's settings. */
export async function showData(
  benchmarks: readonly AnyBenchmark[],
  mode: Mode,
  { args, io }: { args: Readonly<Record<string, unknown>>; io: CommandIo },
): Promise<void> {
  for (const benchmark of benchmarks) {
    const { title, name, data, paper } = benchmark;
    const other = args["data"] ?? args["revision"];
    const state = (await isCached(data)) ? "in the cache" : "will be downloaded";
    const source =
      other === undefined
        ? `${data.dataset} at ${data.revision.slice(0, 12)}, ${data.rows} rows, ${state}`
        : `${JSON.stringify(other)}, not checked against what was published`;
    const terms =
      data.gated === true ? `; the hub gives it only to users who agreed to its terms (${dataPage(data)})` : "";
    const lines = [
      `${title} (${name}), mode ${mode}: ${source}`,
      `  licence  ${data.licence}${terms}`,
      `  paper    ${paper}`,
      `  protocol ${protocolOf(benchmark, mode).source}`,
    ];
    io.stderr.write(`${lines.join("\n")}\n`);
  }
}

export function listSuites(io: CommandIo): number {
  const benchmarks = [...BENCHMARKS.values()];
  if (io.json) {
    io.writeJson({ suites: SUITES, benchmarks: benchmarks.map(entryOf) });
    return EXIT.done;
  }
  const widest = Math.max(...benchmarks.map(({ name }) => name.length), ...SUITES.map(({ name }) => name.length));
  const suites = SUITES.map(
    ({ name, summary, benchmarks: names }) => `  ${name.padEnd(widest)}  ${summary}: ${names.join(", ")}\n`,
  );
  const lines = benchmarks.map(({ name, summary, data }) => {
    const gated = data.gated === true ? ", terms to agree to" : "";
    return `  ${name.padEnd(widest)}  ${summary}\n${" ".repeat(widest + 4)}${data.dataset}, ${data.rows} rows, licence: ${data.licence}${gated}\n`;
  });
  io.stdout.write(`suites\n${suites.join("")}\nbenchmarks\n${lines.join("")}`);
  return EXIT.done;
}

function entryOf({ name, title, summary, paper, data, modes }: AnyBenchmark) {
  const { dataset, config = null, split, revision, rows, licence, gated = false } = data;
  const described = Object.entries(modes).map(([mode, { source, sampling, rollouts = 1, primary }]) => [
    mode,
    {
      source,
      score: primary,
      rollouts,
      temperature: sampling.temperature,
      max_completion_tokens: sampling.maxCompletionTokens,
    },
  ]);
  return {
    name,
    title,
    summary,
    paper,
    dataset,
    config,
    split,
    revision,
    rows,
    licence,
    gated,
    modes: Object.fromEntries(described),
  };
}
