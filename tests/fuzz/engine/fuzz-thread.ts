/**
 * The thread that fuzzes: for each order it tries the corpus of a target, and then changes of it. An input that runs code which no input before it has
 * run joins those that are changed.
 */
import { parentPort, workerData } from "node:worker_threads";

import { PrlError } from "../../../ts/errors.ts";
import { TARGETS } from "../targets/index.ts";
import { Coverage } from "./coverage.ts";
import { Mutator } from "./mutator.ts";
import type { Target } from "./target.ts";
import { UnderWay } from "./under-way.ts";

/** An order to the thread. */
export interface Order {
  readonly target: string;
  readonly seed: number;
  /** How long it changes inputs; null: as many as the short form tries. */
  readonly seconds: number | null;
  readonly corpus: readonly Uint8Array[];
}

/** The thread's answer. */
export interface Outcome {
  /** Inputs that were tried. */
  readonly runs: number;
  /** Parts of the code that the corpus and the starts ran, and that all inputs ran. */
  readonly parts: readonly [before: number, after: number];
  /** Changed inputs that ran more than all before them. */
  readonly found: readonly Uint8Array[];
  /** The input that failed, and why; null: none. */
  readonly failure: { readonly input: Uint8Array; readonly reason: string } | null;
}

const MOST_BYTES = 64 * 1024;
const INPUTS = 200;
/** Inputs that changes start from; later ones take the place of earlier ones. */
const MOST_STARTS = 2048;

async function run(target: Target, { corpus, seed, seconds }: Order, underWay: UnderWay): Promise<Outcome> {
  const coverage = new Coverage();
  const mutator = new Mutator(seed, target.words, target.mostBytes ?? MOST_BYTES);
  const starts = [...corpus, ...target.starts.map((start) => Buffer.from(start))];
  const found: Uint8Array[] = [];
  let runs = 0;
  let before = 0;
  let failure: Outcome["failure"] = null;
  /** Whether the input ran more than all before it; null when it failed. */
  const tried = async (input: Uint8Array): Promise<boolean | null> => {
    runs += 1;
    underWay.begin(input);
    coverage.begin();
    try {
      // A reader may keep or change what it gets.
      await target.read(Uint8Array.from(input));
    } catch (error) {
      if (!(error instanceof PrlError)) {
        failure = {
          input,
          reason: error instanceof Error ? (error.stack ?? error.message) : `it throws ${String(error)}`,
        };
        return null;
      }
    }
    return coverage.hasGrown();
  };
  const outcome = (): Outcome => ({ runs, parts: [before, coverage.parts], found, failure });
  for (const start of starts) if ((await tried(start)) === null) return outcome();
  before = coverage.parts;
  const end = performance.now() + (seconds ?? 0) * 1000;
  for (let count = 0; seconds === null ? count < (target.inputs ?? INPUTS) : performance.now() < end; count++) {
    const input = mutator.changed(mutator.pick(starts), mutator.pick(starts));
    const isNew = await tried(input);
    if (isNew === null) return outcome();
    if (!isNew) continue;
    found.push(input);
    if (starts.length < MOST_STARTS) starts.push(input);
    else starts[found.length % MOST_STARTS] = input;
  }
  return outcome();
}

const underWay = new UnderWay(workerData as SharedArrayBuffer);
parentPort?.on("message", (order: Order) => {
  const target = TARGETS.find(({ name }) => name === order.target);
  if (target === undefined) throw new Error(`there is no target ${order.target}`);
  void run(target, order, underWay).then((outcome) => parentPort?.postMessage(outcome));
});
