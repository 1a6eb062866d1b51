/** Shared by the processes of a run: the options that the launcher starts them with, and how they end. */

import { basename, join, resolve } from "node:path";
import type { MonitorsBlock } from "../../config/index.ts";
import {
  joinRun,
  logSteps,
  type Metrics,
  openMetrics,
  type RunMember,
  showMetrics,
  writeTensorBoard,
} from "../../monitors/index.ts";
import { nativeStandstill } from "../../native/index.ts";
import { type CommandIo, type CommandOption, EXIT } from "../command.ts";
import { numberOption, onlyOptions } from "../arguments/args.ts";
import { RULES } from "../arguments/option-rule.ts";
import { stopExit } from "../../stop-signal.ts";

export const CHILD_OPTIONS: readonly CommandOption[] = [
  { flag: "--config", value: "<file>", summary: "JSON file with what the process needs to know", required: true },
  { flag: "--run-dir", value: "<dir>", summary: "Run directory", required: true },
  {
    flag: "--index",
    value: "<i>",
    rule: RULES.index,
    summary: "Which process of its kind this is, from 0 (default 0)",
  },
  {
    flag: "--attempt",
    value: "<n>",
    rule: RULES.count,
    summary: "Attempt of the run that this process belongs to (default 1)",
  },
];

export interface ChildOptions {
  configPath: string;
  runDir: string;
  index: number;
  attempt: number;
}

/** Reads the options of a child process; PRL_CLI_USAGE when they are not as the launcher gives them. */
export function parseChildOptions(component: string, args: readonly string[], cwd: string): ChildOptions {
  const options = onlyOptions({ name: component, options: CHILD_OPTIONS }, args);
  return {
    configPath: resolve(cwd, options.get("--config") ?? ""),
    runDir: resolve(cwd, options.get("--run-dir") ?? ""),
    index: numberOption(options, "--index", 0),
    attempt: numberOption(options, "--attempt", 1),
  };
}

/** One process of a run: its place there, and its config. */
export interface ChildInput<Config> extends ChildOptions {
  readonly config: Config;
  readonly member: RunMember;
}

/** Joins the run and reads the config, in this order, so that a config that cannot be read is noted as the failure of this process. */
export async function joinAsChild<Config>(
  component: string,
  options: ChildOptions,
  read: (path: string) => Promise<Config>,
): Promise<ChildInput<Config>> {
  const { runDir, index, configPath } = options;
  const member = joinRun({ component, index, runDir, standstill: nativeStandstill });
  return { ...options, member, config: await read(configPath) };
}

export interface ChildMonitors {
  /** `[monitors]` of the run. */
  monitors: MonitorsBlock;
  /** Number of this process's Prometheus endpoint in the run; the orchestrator's is 0. */
  portOffset: number;
  /** Step that the process continues from; 0 for a new run. */
  startStep: number;
  /** The process's log. */
  log: CommandIo["stderr"];
}

/** Opens the run's metrics, in every way that `[monitors]` asks for. */
export async function openChildMetrics(
  component: string,
  { runDir, attempt }: Pick<ChildOptions, "runDir" | "attempt">,
  { monitors: { prometheus, tensorboard }, portOffset, startStep, log }: ChildMonitors,
): Promise<Metrics> {
  const run = basename(runDir);
  let metrics = logSteps(component, openMetrics(runDir, component, attempt), (text) => log.write(text));
  try {
    if (tensorboard !== null) {
      const folder = tensorboard.path === null ? join(runDir, "tensorboard") : join(tensorboard.path, run);
      metrics = writeTensorBoard(metrics, { folder: join(folder, component), startStep });
    }
    if (prometheus === null) return metrics;
    return await showMetrics(metrics, { component, run, attempt, port: prometheus.port + portOffset });
  } catch (error) {
    metrics.close();
    throw error;
  }
}

/** Runs a process's work. A request to stop is not a failure; the exit code says which signal it was. */
export async function untilStopped(io: CommandIo, work: () => Promise<void>): Promise<number> {
  try {
    await work();
    return EXIT.done;
  } catch (error) {
    if (!io.signal.aborted) throw error;
    io.stderr.write(`stopping on ${String(io.signal.reason)}\n`);
    return stopExit(io.signal.reason);
  }
}
