/**
 * Node's timers, files, clocks and processes, led into a `World` where code of its processes calls them. Anything else, the test runner for example,
 * gets what Node gives.
 */
import childProcess, { type ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import fs from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import perfHooks from "node:perf_hooks";
import timers from "node:timers/promises";

import { SimulatedFile, simulatedFiles } from "./simulated-files.ts";
import type { SimulatedProcess, World } from "./world.ts";

/** Starts the program of a command line as a process of the machine. */
export type Program = (args: readonly string[], process: SimulatedProcess) => Promise<number>;

type Callback = (...args: unknown[]) => void;

/** What `setTimeout` and `setInterval` return. */
class SimulatedTimer {
  cancel: () => void = () => undefined;
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
}

/** 2027, so that times in files look like times. */
const EPOCH_MS = 1_800_000_000_000;
const HEARTBEAT_MS = 1_000;

/** Replaces them until the returned function is called. */
export function patchNode(world: World, program: Program): () => void {
  const undo: (() => void)[] = [];
  const replace = (owner: object, name: string, make: (original: never) => unknown): void => {
    const descriptor = Object.getOwnPropertyDescriptor(owner, name);
    const original: unknown = Reflect.get(owner, name);
    Object.defineProperty(owner, name, { value: make(original as never), configurable: true, writable: true });
    undo.push(() => {
      if (descriptor === undefined) Reflect.deleteProperty(owner, name);
      else Object.defineProperty(owner, name, descriptor);
    });
  };
  patchTimers(world, replace);
  patchClocks(world, replace);
  patchChance(world, replace);
  for (const [name, make] of simulatedFiles(world)) {
    replace(
      promises,
      name,
      (original: Callback) =>
        (...args: unknown[]) =>
          world.current === undefined ? original(...args) : make(...args),
    );
  }
  replace(fs, "writeSync", (original: typeof fs.writeSync) => (...args: Parameters<typeof fs.writeSync>) => {
    if (world.current !== undefined) SimulatedFile.assertRoom(world, "write");
    return original(...args);
  });
  replace(fs, "openSync", (original: typeof fs.openSync) => (...args: Parameters<typeof fs.openSync>) => {
    const file = original(...args);
    world.current?.files.add(file);
    return file;
  });
  replace(fs, "closeSync", (original: typeof fs.closeSync) => (file: number) => {
    world.current?.files.delete(file);
    original(file);
  });
  patchProcesses(world, program, replace);
  syncBuiltinESMExports();
  return () => {
    for (const one of undo.toReversed()) one();
    syncBuiltinESMExports();
  };
}

type Replace = (owner: object, name: string, make: (original: never) => unknown) => void;

function patchTimers(world: World, replace: Replace): void {
  const later = (ms: number, callback: Callback, args: unknown[], again: boolean): SimulatedTimer => {
    const timer = new SimulatedTimer();
    const owner = world.current ?? null;
    const begin = (): void => {
      timer.cancel = world.schedule(Math.max(1, ms), owner, () => {
        if (again) begin();
        callback(...args);
      });
    };
    begin();
    return timer;
  };
  for (const [name, again] of [
    ["setTimeout", false],
    ["setInterval", true],
  ] as const) {
    replace(
      globalThis,
      name,
      (original: Callback) =>
        (callback: Callback, ms = 1, ...args: unknown[]) =>
          world.current === undefined ? original(callback, ms, ...args) : later(ms, callback, args, again),
    );
  }
  for (const name of ["clearTimeout", "clearInterval"]) {
    replace(globalThis, name, (original: Callback) => (timer: unknown) => {
      if (timer instanceof SimulatedTimer) timer.cancel();
      else original(timer);
    });
  }
  replace(
    globalThis,
    "setImmediate",
    (original: Callback) =>
      (callback: Callback, ...args: unknown[]) =>
        world.current === undefined ? original(callback, ...args) : later(0, callback, args, false),
  );
  const wait = (ms: number, value: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const abort = (): void => {
        timer.cancel();
        reject(new DOMException("The operation was aborted", "AbortError"));
      };
      const timer = later(
        ms,
        () => {
          signal?.removeEventListener("abort", abort);
          resolve(value);
        },
        [],
        false,
      );
      if (signal?.aborted === true) abort();
      else signal?.addEventListener("abort", abort, { once: true });
    });
  replace(
    timers,
    "setTimeout",
    (original: Callback) =>
      (ms = 1, value?: unknown, options?: { signal?: AbortSignal }) =>
        world.current === undefined ? original(ms, value, options) : wait(ms, value, options),
  );
  replace(
    timers,
    "setImmediate",
    (original: Callback) => (value?: unknown, options?: { signal?: AbortSignal }) =>
      world.current === undefined ? original(value, options) : wait(0, value, options),
  );
  replace(AbortSignal, "timeout", (original: Callback) => (ms: number) => {
    if (world.current === undefined) return original.call(AbortSignal, ms);
    const late = new AbortController();
    later(ms, () => late.abort(new DOMException("The operation timed out", "TimeoutError")), [], false);
    return late.signal;
  });
}

function patchClocks(world: World, replace: Replace): void {
  replace(
    performance,
    "now",
    (original: () => number) => () => (world.current === undefined ? original.call(performance) : world.now),
  );
  replace(
    Date,
    "now",
    (original: () => number) => () => (world.current === undefined ? original() : EPOCH_MS + world.now),
  );
  // A real one has a real timer, which a process that is killed never stops; it would also bring real time into the metrics.
  replace(
    perfHooks,
    "monitorEventLoopDelay",
    (original: typeof perfHooks.monitorEventLoopDelay) => (options: perfHooks.EventLoopMonitorOptions) =>
      world.current === undefined ? original(options) : NO_DELAYS,
  );
}

/** The event loop of a simulated process is never late. */
const NO_DELAYS = { enable: () => true, disable: () => true, reset: () => undefined, count: 0 };

/** Chance, as in the pauses between tries. */
function patchChance(world: World, replace: Replace): void {
  replace(
    Math,
    "random",
    (original: () => number) => () => (world.current === undefined ? original() : world.rng.next()),
  );
}

function patchProcesses(world: World, program: Program, replace: Replace): void {
  const realPid = process.pid;
  replace(process, "pid", () => realPid);
  Object.defineProperty(process, "pid", { configurable: true, get: () => world.current?.pid ?? realPid });
  replace(process, "kill", (original: typeof process.kill) => (pid: number, signal: NodeJS.Signals) => {
    if (world.current === undefined) return original(pid, signal);
    const found = world.processes.find((one) => one.pid === Math.abs(pid));
    if (found === undefined || found.state === "dead") throw Object.assign(new Error("kill ESRCH"), { code: "ESRCH" });
    world.signal(found, signal);
    return true;
  });
  // The launcher's last resort at the end of the real process.
  for (const name of ["on", "off"]) {
    replace(
      process,
      name,
      (original: Callback) =>
        (event: string, ...args: unknown[]) =>
          world.current === undefined || event !== "exit" ? original.call(process, event, ...args) : process,
    );
  }
  replace(childProcess, "spawn", (original: typeof childProcess.spawn) => (...given: unknown[]) => {
    const parent = world.current;
    if (parent === undefined) return (original as Callback)(...given);
    return startChild(world, program, given[1] as string[], parent);
  });
}

/** A child with its lifeline, as the launcher sees it. */
function startChild(world: World, program: Program, args: readonly string[], parent: SimulatedProcess): ChildProcess {
  const events = new EventEmitter();
  const lifeline = Object.assign(new EventEmitter(), { destroy: () => undefined });
  const child = world.spawn(
    `${args[args.indexOf("--config") - 1]}-${args[args.indexOf("--index") + 1]}`,
    async (process) => {
      setInterval(() => {
        if (parent.state === "dead") process.stopping.abort("SIGTERM");
        world.schedule(world.delay(0, 3), parent, () => void lifeline.emit("data", Buffer.from("\n")));
      }, HEARTBEAT_MS);
      return program(args, process);
    },
    ({ code, signal }) => world.schedule(world.delay(0.1, 5), parent, () => void events.emit("exit", code, signal)),
  );
  return Object.assign(events, { pid: child.pid, stdio: [null, null, null, lifeline] }) as unknown as ChildProcess;
}
