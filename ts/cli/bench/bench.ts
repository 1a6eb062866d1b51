/**
 * Shared by the `--bench` of every component: the config, a temporary folder, the report.
 *
 * A bench runs one component alone, in this process, for a few steps, on random data. The first step is a warm-up and has no
 * part in the medians.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { loadConfig, parseConfigArguments, type RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { formatBytes, formatCount, formatSeconds, type Metrics, renderTable } from "../../monitors/index.ts";
import { type CommandIo, EXIT } from "../command.ts";
import { ensureBaseModel } from "../../launcher/index.ts";
import { BENCH } from "./option.ts";

export interface BenchSetup {
  config: RlConfig;
  /** At least 2. */
  steps: number;
  /** Folder of the model, with weights. */
  modelDir: string;
  vocabSize: number;
}

/** Reads the command line of a bench. Errors: PRL_CLI_USAGE, PRL_CONFIG_..., those of the model. */
export async function benchSetup(args: readonly string[], io: CommandIo): Promise<BenchSetup> {
  const { config, steps } = await benchConfig(args, io);
  const { dir } = await ensureBaseModel(config.model.name, config.seed);
  const { vocab_size: vocabSize } = JSON.parse(await readFile(join(dir, "config.json"), "utf8")) as Record<
    string,
    number
  >;
  return { config, steps, modelDir: dir, vocabSize: vocabSize ?? 1 };
}

export async function benchConfig(
  args: readonly string[],
  io: CommandIo,
): Promise<Pick<BenchSetup, "config" | "steps">> {
  const { files, overrides, options } = parseConfigArguments("rl", args, [BENCH]);
  const text = options.get(BENCH.flag) ?? BENCH.whenBare;
  const steps = Number(text);
  if (!Number.isInteger(steps) || steps < 2) {
    throw new PrlError("PRL_CLI_USAGE", `--bench takes a number of steps from 2 on, not "${text}": the first warms up`);
  }
  const { config } = await loadConfig(files, overrides, { kind: "rl", env: io.env, cwd: io.cwd });
  return { config, steps };
}

/** Gives `work` a folder that is removed afterwards. */
export async function inScratch<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), "prl-bench-"));
  try {
    return await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Metrics that are only kept in memory. */
export function keptMetrics(onStep: (step: number, values: Record<string, number>) => void): Metrics {
  return {
    log(step, values) {
      const numbers = Object.entries(values).filter(
        (entry): entry is [string, number] => typeof entry[1] === "number" && Number.isFinite(entry[1]),
      );
      onStep(step, Object.fromEntries(numbers));
    },
    event: () => undefined,
    close: () => undefined,
  };
}

/** One number of a report. */
export interface BenchValue {
  name: string;
  unit: "1/s" | "s" | "bytes" | "ms" | "%";
  value: number;
}

/** Prints the report, or with `--json` `{bench, steps, values: {name: {value, unit}}}`. */
export function report(bench: string, steps: number, values: readonly BenchValue[], io: CommandIo): number {
  if (io.json) {
    io.writeJson({
      bench,
      steps,
      values: Object.fromEntries(values.map(({ name, unit, value }) => [name, { value, unit }])),
    });
    return EXIT.done;
  }
  const rows = values.map((value) => [value.name, valueText(value)]);
  io.stdout.write(`\n${renderTable([`${bench}, median of ${steps - 1} steps`, ""], rows).join("\n")}\n`);
  return EXIT.done;
}

function valueText({ unit, value }: BenchValue): string {
  if (!Number.isFinite(value)) return "–";
  switch (unit) {
    case "1/s":
      return `${formatCount(value)}/s`;
    case "s":
      return formatSeconds(value);
    case "ms":
      return `${value.toFixed(1)} ms`;
    case "%":
      return `${value.toFixed(0)} %`;
    case "bytes":
      return formatBytes(value);
  }
}

/** Writes a line while a bench runs; writes nothing with `--json`. */
export function progress(io: CommandIo, parts: readonly string[]): void {
  if (!io.json) io.stdout.write(`${parts.join(" | ")}\n`);
}

/** NaN for an empty list. */
export function median(values: readonly (number | undefined)[]): number {
  const known = values.filter((value) => value !== undefined).toSorted((a, b) => a - b);
  const middle = Math.floor(known.length / 2);
  if (known.length % 2 === 1) return known[middle] ?? NaN;
  return ((known[middle - 1] ?? NaN) + (known[middle] ?? NaN)) / 2;
}

/** Peak memory of this process since it began. */
export function peakMemory(): BenchValue {
  return { name: "peak memory", unit: "bytes", value: process.resourceUsage().maxRSS * 1024 };
}
