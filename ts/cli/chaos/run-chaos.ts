/**
 * A user's configuration under faults: an undisturbed run to compare with where level 0 promises equal bits, then rounds with seeded faults, then the
 * verdict.
 *
 * All files lie in one folder of their own. Which fault comes when follows from the seed and from how fast the run goes: the seed repeats the
 * draws, not the microseconds.
 */
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { type RlConfig, tomlWithOrigins } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { ifThere } from "../../files/file-presence.ts";
import { createRng } from "../../random/rng.ts";
import type { Choice } from "./catalogue.ts";
import { resultOf } from "./history.ts";
import { killedBy } from "./bystanders.ts";
import { violations } from "./invariants.ts";
import { type RoundOptions, type RoundResult, runRound } from "./round.ts";
import { mountSmallDisk, unmountSmallDisk } from "./small-disk.ts";

export interface ChaosOptions {
  /** The resolved config of a run. */
  readonly config: RlConfig;
  /** The same for runs in this folder, with room for so many restarts. */
  readonly configFor: (outputDir: string, maxRestarts: number) => Promise<RlConfig>;
  /** New folder for everything. */
  readonly folder: string;
  readonly choice: Choice;
  readonly seed: number;
  /** Injections of all rounds together. */
  readonly count: number;
  readonly meanPauseMs: number;
  /** Longest time of one start of a run. */
  readonly deadlineMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
}

export interface ChaosResult {
  readonly rounds: readonly RoundResult[];
  /** What does not hold, each with the round's name. */
  readonly violations: readonly string[];
}

/** A launcher of a chaos makes good as many losses as there are injections. */
const MORE_RESTARTS = 100;
/** Rounds in a row without an injection that end the chaos. */
const MOST_EMPTY = 3;
const SMALL_DISK_MIB = 512;
const UNDISTURBED = "undisturbed";

/** @throws PrlError `PRL_RUN_EXISTS` when the folder holds something, `PRL_PROCESS_DIED` when the undisturbed run fails */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { folder, choice, config } = options;
  if (((await ifThere(readdir(folder), folder)) ?? []).length > 0)
    throw new PrlError("PRL_RUN_EXISTS", `${folder} is not empty: choose another --output-dir or --seed, or remove it`);
  await mkdir(folder, { recursive: true });
  const needsSmallDisk = choice.faults.some((fault) => fault.needs?.smallDisk === true);
  const outputDir = needsSmallDisk ? join(folder, "small-disk") : folder;
  const placeIn = async (file: string, runs: string): Promise<Place> => {
    const maxRestarts = Math.max(config.deployment.max_restarts, options.count + MORE_RESTARTS);
    await writeFile(join(folder, file), tomlWithOrigins(await options.configFor(runs, maxRestarts), new Map()));
    return { file: join(folder, file), outputDir: runs, isSmall: runs !== folder };
  };
  if (needsSmallDisk) mountSmallDisk(outputDir, SMALL_DISK_MIB);
  try {
    return await disturbRounds(options, {
      undisturbed: await placeIn("undisturbed.toml", folder),
      rounds: await placeIn("rounds.toml", outputDir),
    });
  } finally {
    if (needsSmallDisk) unmountSmallDisk(outputDir);
  }
}

/** The config of a run, and where its directory is. */
interface Place {
  readonly file: string;
  readonly outputDir: string;
  readonly isSmall: boolean;
}

async function disturbRounds(
  options: ChaosOptions,
  places: Readonly<Record<"undisturbed" | "rounds", Place>>,
): Promise<ChaosResult> {
  const { choice, config, signal, note } = options;
  const rng = createRng(options.seed);
  const steps = config.max_steps;
  if (steps === null) throw new PrlError("PRL_CLI_USAGE", "prl chaos: the config has no max_steps, so it never ends");
  const round = ({ file, outputDir }: Place, name: string, count: number): RoundOptions => ({
    config: file,
    outputDir,
    name,
    log: join(options.folder, `${name}.log`),
    faults: choice.faults,
    count,
    meanPauseMs: options.meanPauseMs,
    deadlineMs: options.deadlineMs,
    env: options.env,
    cwd: options.cwd,
    rng,
    signal,
    note,
  });
  const isExact = config.max_async_level === 0;
  const undisturbed = isExact ? await undisturbedResult(round(places.undisturbed, UNDISTURBED, 0), steps) : null;
  const rounds: RoundResult[] = [];
  const found: string[] = [];
  let empty = 0;
  for (let left = options.count; left > 0 && found.length === 0;) {
    const name = `round-${rounds.length + 1}`;
    const done = await runRound(round(places.rounds, name, left));
    rounds.push(done);
    const injected = done.injections.map(({ fault }) => choice.faults.find(({ name: known }) => known === fault));
    const keepsBits = injected.every((fault) => fault?.promise.sameBits === true);
    const runDir = join(places.rounds.outputDir, name);
    const expected = {
      steps,
      maxStaleness: maxStalenessOf(config),
      result: keepsBits ? undisturbed : null,
      killed: killedBy(injected, config),
    };
    const broken = done.violations.length > 0 ? done.violations : await violations(runDir, expected);
    found.push(...broken.map((text) => `${name}: ${text}`));
    // The next round needs the room.
    if (places.rounds.isSmall) await rm(runDir, { recursive: true, force: true });
    left -= done.injections.length;
    empty = done.injections.length === 0 ? empty + 1 : 0;
    if (empty === MOST_EMPTY)
      throw new PrlError(
        "PRL_CLI_USAGE",
        `${MOST_EMPTY} runs in a row ended before a fault could be injected: raise max_steps, or lower --pause`,
      );
  }
  return { rounds, violations: found };
}

function maxStalenessOf(config: RlConfig): number {
  return config.max_async_level === 0 ? 0 : config.orchestrator.max_off_policy_steps;
}

async function undisturbedResult(round: RoundOptions, steps: number): Promise<ReadonlyMap<string, string>> {
  round.note("a run without faults, to compare with");
  const { violations: broken } = await runRound(round);
  if (broken.length > 0)
    throw new PrlError("PRL_PROCESS_DIED", `the run fails without any fault: ${broken.join("; ")}; see ${round.log}`);
  return resultOf(join(round.outputDir, round.name), steps);
}
