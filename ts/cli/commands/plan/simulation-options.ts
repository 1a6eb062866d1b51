/** Options of `prl plan --simulate`, and the simulation that they ask for. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";

import { messageOf, PrlError } from "../../../errors.ts";
import type { PlanOptions } from "../../../plan/index.ts";
import { parseMeasuredCosts, type SimulationOptions } from "../../../simulation/index.ts";
import type { CommandOption } from "../../command.ts";

export const SIMULATE: CommandOption = {
  flag: "--simulate",
  summary: "Run the orchestrator in virtual time with more and more GPUs, and say where the config saturates",
};

const MOST_SPREAD = 10;
const LEAST_SPEED = 0.001;
const FASTEST = 1_000_000;
const MOST_GPUS = 4096;

export const SIMULATION_OPTIONS: readonly CommandOption[] = [
  {
    flag: "--gpus",
    value: "<n,n,...>",
    summary: "Numbers of GPUs, of trainer and servers together (default 16,32,64,128,256,512,1024)",
  },
  { flag: "--scale-batch", summary: "The batch and orchestrator.max_inflight grow with the GPUs (default: they stay)" },
  {
    flag: "--spread",
    value: "<share>",
    rule: { is: "number", least: 0, most: MOST_SPREAD },
    summary: "Standard deviation of the lengths of completions, as a share of their mean (default 0.6)",
  },
  {
    flag: "--shared-transfer",
    value: "<GB/s>",
    rule: { is: "number", least: LEAST_SPEED, most: FASTEST },
    summary: "Speed at which the folder of the weights is read by all machines together (default 20)",
  },
  {
    flag: "--costs",
    value: "<file.json>",
    summary: "Measured costs in place of those of data sheets (ts/simulation/README.md)",
  },
];

/** Errors: PRL_CLI_USAGE for `--gpus`; PRL_CONFIG_FILE and PRL_CONFIG_INVALID for the file of `--costs`. */
export async function simulationOptions(
  options: ReadonlyMap<string, string>,
  plan: PlanOptions,
  cwd: string,
): Promise<SimulationOptions> {
  const [gpus, spread, shared] = ["--gpus", "--spread", "--shared-transfer"].map((flag) => options.get(flag));
  const costs = options.get("--costs");
  return {
    ...plan,
    scaleBatch: options.has("--scale-batch"),
    ...(gpus !== undefined && { gpus: gpusOf(gpus) }),
    ...(spread !== undefined && { spread: Number(spread) }),
    ...(shared !== undefined && { sharedTransfer: Number(shared) * 1e9 }),
    ...(costs !== undefined && { measured: parseMeasuredCosts(await textOf(resolve(cwd, costs)), costs) }),
  };
}

/** Errors: PRL_CLI_USAGE for an option that only `--simulate` reads. */
export function refuseWithoutSimulation(options: ReadonlyMap<string, string>): void {
  const given = SIMULATION_OPTIONS.find(({ flag }) => options.has(flag));
  if (given !== undefined) throw new PrlError("PRL_CLI_USAGE", `${given.flag}: only prl plan --simulate reads it`);
}

function gpusOf(text: string): number[] {
  const counts = text.split(",").map(Number);
  const isRising = counts.every((count, index) => index === 0 || count > (counts[index - 1] ?? 0));
  if (isRising && counts.every((count) => Number.isInteger(count) && count >= 2 && count <= MOST_GPUS)) return counts;
  throw new PrlError(
    "PRL_CLI_USAGE",
    `--gpus: ${JSON.stringify(text)} is no list of rising numbers from 2 to ${MOST_GPUS}, such as 16,64,256`,
  );
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new PrlError("PRL_CONFIG_FILE", `--costs: ${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
}
