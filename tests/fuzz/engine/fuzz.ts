/**
 * Fuzzes one target in a thread, and watches it: an input may take neither too much processor time nor too much memory. An input that fails is a file
 * of the target's corpus afterwards, and every file there is tried first in the next run.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

import type { Order, Outcome } from "./fuzz-thread.ts";
import { MOST_COUNTERS } from "./coverage.ts";
import { UnderWay } from "./under-way.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const CORPUS = join(ROOT, "tests/fuzz/corpus");
const LONG_SECONDS = 600;
/** Processor time that an input may take; the counters in the code make it some two times slower. */
const MOST_CPU_MS = 5_000;
/** An input whose reader waits for something that never comes uses no processor time. */
const MOST_WAIT_MS = 120_000;
/** The heap that the thread may have. */
const MOST_HEAP_MB = 512;
/** The process may grow by this much, buffers outside of the heap included. */
const MOST_GROWTH_BYTES = 1024 * 1024 * 1024;
const LOOK_MS = 100;
/** Inputs that one run with `PRL_FUZZ_SAVE=1` adds to the corpus, and their longest. */
const MOST_SAVED = 6;
const LONGEST_SAVED = 1024;

export interface Report extends Omit<Outcome, "failure" | "found"> {
  /** Inputs that reached new code. */
  readonly found: number;
}

/** Fuzzes a target, in the long form for ten minutes. Throws for an input that fails, and names its file. */
export async function fuzz(target: string, { isLong }: { readonly isLong: boolean }): Promise<Report> {
  const { PRL_FUZZ_SECONDS: given, PRL_FUZZ_SEED: seedText, PRL_FUZZ_SAVE: saves } = process.env;
  const seconds = given === undefined ? (isLong ? LONG_SECONDS : null) : Number(given);
  const seed = seedText === undefined ? createHash("sha256").update(target).digest().readUInt32LE() : Number(seedText);
  const folder = join(CORPUS, target);
  const outcome = await watched({ target, seed, seconds, corpus: filesIn(folder) });
  const { failure, found, ...report } = outcome;
  if (failure !== null) {
    const path = saved(folder, "failing-", failure.input);
    throw new Error(`${target}: ${relative(ROOT, path)} (seed ${seed}): ${failure.reason}`);
  }
  if (saves === "1") {
    const small = found.filter(({ length }) => length <= LONGEST_SAVED).slice(-MOST_SAVED);
    for (const input of small) saved(folder, "", input);
  }
  return { ...report, found: found.length };
}

/** The inputs of a target's corpus. */
function filesIn(folder: string): Uint8Array[] {
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder)
    .toSorted()
    .map((name) => readFileSync(join(folder, name)));
}

function saved(folder: string, prefix: string, input: Uint8Array): string {
  const path = join(folder, `${prefix}${createHash("sha256").update(input).digest("hex").slice(0, 16)}`);
  writeFileSync(path, input);
  return path;
}

let thread: { readonly worker: Worker; readonly underWay: UnderWay } | null = null;

/** The thread that fuzzed the target before, or a new one: it has loaded all readers. */
function threadOf(): NonNullable<typeof thread> {
  if (thread !== null) return thread;
  const underWay = new UnderWay();
  // The thread runs the sources, also where the tests run compiled code: their loader puts the counters in.
  const loader = createRequire(import.meta.url)
    .resolve("tsx/esm/api")
    .replace(/\.cjs$/u, ".mjs");
  const code = [
    `import { register } from "node:module";`,
    `import { register as registerTsx } from ${JSON.stringify(pathToFileURL(loader).href)};`,
    `registerTsx();`,
    `register(${JSON.stringify(new URL("./instrument.mjs", import.meta.url).href)});`,
    `globalThis.prlFuzzCounters = new Uint8Array(${MOST_COUNTERS});`,
    `await import(${JSON.stringify(new URL("./fuzz-thread.ts", import.meta.url).href)});`,
  ].join("\n");
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), {
    workerData: underWay.memory,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MOST_HEAP_MB },
  });
  worker.unref();
  thread = { worker, underWay };
  return thread;
}

function watched(order: Order): Promise<Outcome> {
  const { worker, underWay } = threadOf();
  const { promise, resolve: end } = withResolvers<Outcome>();
  const fail = (reason: string): void => {
    thread = null;
    void worker.terminate();
    end({ runs: 0, parts: [0, 0], found: [], failure: { input: underWay.input, reason } });
  };
  const onError = (error: Error): void => fail(error.stack ?? error.message);
  const memory = process.memoryUsage.rss();
  // Until the first input the thread loads the readers, which takes seconds.
  const { serial: idle } = underWay;
  let look = { serial: idle, cpu: process.cpuUsage(), at: performance.now() };
  const timer = setInterval(() => {
    if (process.memoryUsage.rss() - memory > MOST_GROWTH_BYTES) return fail("the process grew by more than 1 GiB");
    if (underWay.serial !== look.serial || underWay.serial === idle) {
      look = { serial: underWay.serial, cpu: process.cpuUsage(), at: performance.now() };
      return undefined;
    }
    const { user, system } = process.cpuUsage(look.cpu);
    if ((user + system) / 1000 > MOST_CPU_MS) fail(`it takes more than ${MOST_CPU_MS} ms of processor time`);
    else if (performance.now() - look.at > MOST_WAIT_MS) fail(`it does not end within ${MOST_WAIT_MS} ms`);
  }, LOOK_MS);
  worker.once("message", end);
  worker.once("error", onError);
  worker.postMessage(order);
  return promise.finally(() => {
    clearInterval(timer);
    worker.off("message", end);
    worker.off("error", onError);
  });
}

/** `Promise.withResolvers`, which Node 20 lacks. */
function withResolvers<Value>(): { readonly promise: Promise<Value>; readonly resolve: (value: Value) => void } {
  let done: (value: Value) => void = () => undefined;
  const promise = new Promise<Value>((resolve_) => {
    done = resolve_;
  });
  return { promise, resolve: done };
}
