/**
 * Breaks the process that imports it, when it gets an order: what code of an environment may do to its process, a clock that jumps, a
 * disk that is slow or fails.
 *
 * Node imports it before the program (`NODE_OPTIONS`), in every process of a run that `prl chaos` disturbs with such faults. It knows nothing of
 * prl but what an order names. Without CHAOS_ORDERS, and in worker threads, it does nothing. An order that cannot be read is an error of the process, as it should be.
 */
import { readFileSync } from "node:fs";
import files from "node:fs/promises";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";

export type InsideOrder =
  /** The event loop stands still. */
  | { readonly what: "block"; readonly ms: number }
  /** The process ends itself. */
  | { readonly what: "exit"; readonly code: number }
  /** An exception that nothing catches. */
  | { readonly what: "throw" }
  /** Memory that is never given back: so many MiB, 16 at a time. */
  | { readonly what: "leak"; readonly mib: number }
  /** The wall clock of JavaScript jumps. */
  | { readonly what: "clock"; readonly ms: number }
  /** Calls of `node:fs/promises` take longer, for a while. */
  | { readonly what: "slow disk"; readonly byMs: number; readonly forMs: number }
  /** Calls of `node:fs/promises` that write fail, for a while. */
  | { readonly what: "failing disk"; readonly forMs: number }
  /** Threads of the native addon open a file and wait for ever, as one of a disk that does not answer: a named pipe without a writer. */
  | { readonly what: "native hangs"; readonly addon: string; readonly pipe: string; readonly threads: number };

interface Addon {
  digestFile(path: string): Promise<unknown>;
}

const LEAK_MIB = 16;
const MIB = 1024 * 1024;
const WRITES = ["writeFile", "rename", "mkdir", "open"] as const;

const leaked: Buffer[] = [];

function obey(order: InsideOrder): void {
  switch (order.what) {
    case "block":
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, order.ms);
      return;
    case "exit":
      return process.exit(order.code);
    case "throw":
      setImmediate(() => {
        throw new Error("an environment failed outside of a rollout");
      });
      return;
    case "leak":
      return leak(order.mib);
    case "clock":
      return jump(order.ms);
    case "slow disk":
      return changeFiles(
        order.forMs,
        (call) => new Promise((resolve) => setTimeout(() => resolve(call()), order.byMs)),
      );
    case "failing disk":
      return changeFiles(order.forMs, () =>
        Promise.reject(Object.assign(new Error("EIO: i/o error, write"), { code: "EIO", errno: -5 })),
      );
    case "native hangs": {
      const addon = createRequire(order.addon)(order.addon) as Addon;
      for (let i = 0; i < order.threads; i++) void addon.digestFile(order.pipe);
      return;
    }
  }
}

function leak(mib: number): void {
  if (mib <= 0) return;
  leaked.push(Buffer.alloc(LEAK_MIB * MIB, 1));
  setTimeout(leak, 20, mib - LEAK_MIB);
}

function jump(ms: number): void {
  const real = Date.now;
  Date.now = () => real() + ms;
}

function changeFiles(forMs: number, change: (call: () => Promise<unknown>) => Promise<unknown>): void {
  const all = files as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  const before = WRITES.map((name) => [name, all[name]] as const);
  for (const [name, real] of before) {
    if (real !== undefined) all[name] = (...args) => change(() => real(...args));
  }
  syncBuiltinESMExports();
  setTimeout(() => {
    for (const [name, real] of before) if (real !== undefined) all[name] = real;
    syncBuiltinESMExports();
  }, forMs).unref();
}

const folder = process.env["CHAOS_ORDERS"];
if (isMainThread && folder !== undefined) {
  process.on("SIGUSR2", () => {
    obey(JSON.parse(readFileSync(join(folder, `${process.pid}.json`), "utf8")) as InsideOrder);
  });
}
