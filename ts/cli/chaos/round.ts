/**
 * One run with faults: started, disturbed at random instants, resumed when a fault may end it, and waited for.
 *
 * Every start of the launcher has a deadline, and no fault is injected after it. What a round leaves is killed by its numbers and reported.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { ifThere } from "../../files/file-presence.ts";
import type { Rng } from "../../random/rng.ts";
import { selfCommand } from "../../self-command.ts";
import type { Fault } from "./fault.ts";
import { InsideOrders } from "./inside/orders.ts";
import { LiveRun } from "./live-run.ts";
import { RunProxies } from "./network/run-proxies.ts";
import { commandLine, processesWith, signalProcess, stillThere } from "./processes.ts";

/** The variable by which processes of a round are found; they all inherit it. */
const MARK = "CHAOS_ROUND";
/** Children of a dead launcher stop within 10 s; a loaded machine gets more. */
const GONE_MS = 60_000;
/** Exit codes above it are 128 and the number of the signal that stopped the run. */
const SIGNALLED = 128;
/** Faults without a target are skipped; so many in a row end the wait for one. */
const PAUSE_WITHOUT_TARGET_MS = 50;

export interface RoundOptions {
  /** Config file of the run. */
  readonly config: string;
  readonly outputDir: string;
  readonly name: string;
  /** File for what the launchers print. */
  readonly log: string;
  readonly faults: readonly Fault[];
  /** Most injections. */
  readonly count: number;
  /** Mean pause between a step after one injection and the next injection. */
  readonly meanPauseMs: number;
  /** Longest time of one start of the launcher. */
  readonly deadlineMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly rng: Rng;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
}

export interface Injection {
  readonly fault: string;
  readonly what: string;
  /** As `performance.now()`. */
  readonly startedAt: number;
  /** Milliseconds from the injection to the next step that the trainer noted, after a resume where one was needed; null when there was none. */
  lostMs: number | null;
  /** The launcher ended after it, and the run was resumed. */
  resumed: boolean;
}

export interface RoundResult {
  readonly name: string;
  readonly injections: readonly Injection[];
  /** Starts of the launcher. */
  readonly starts: number;
  readonly violations: readonly string[];
}

interface Launch {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly over: AbortController;
}

export async function runRound(options: RoundOptions): Promise<RoundResult> {
  const injections: Injection[] = [];
  const violations: string[] = [];
  let starts = 0;
  for (let goesOn = true; goesOn;) {
    options.signal.throwIfAborted();
    starts += 1;
    const before = injections.length;
    const end = await oneStart(options, starts > 1, injections);
    const recent = injections.slice(before);
    const left = await leftBehind(options.name, end.wasKilled ? GONE_MS : GONE_MS / 2);
    violations.push(...left);
    const verdict = await judge(options, end, recent);
    goesOn = verdict === "resume" && left.length === 0;
    if (goesOn) for (const injection of recent.slice(-1)) injection.resumed = true;
    else if (verdict !== "resume") violations.push(...verdict);
  }
  return { name: options.name, injections, starts, violations };
}

interface StartEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** It was killed, by a fault or because it was late. */
  wasKilled: boolean;
  isLate: boolean;
  /** Size of the log before it. */
  logBytes: number;
}

async function oneStart(options: RoundOptions, resume: boolean, injections: Injection[]): Promise<StartEnd> {
  const runDir = join(options.outputDir, options.name);
  const needs = (need: "proxies" | "hook"): boolean => options.faults.some((fault) => fault.needs?.[need] === true);
  const inside = needs("hook") ? await InsideOrders.open() : null;
  const logBytes = (await ifThere(stat(options.log), options.log))?.size ?? 0;
  const launch = start(options, resume, inside);
  const proxies = needs("proxies") ? new RunProxies(runDir) : null;
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    options.note(`${options.name}: not ended after ${options.deadlineMs / 1000} s, killed`);
    launch.child.kill("SIGKILL");
  }, options.deadlineMs);
  const onAbort = (): void => void launch.child.kill("SIGTERM");
  options.signal.addEventListener("abort", onAbort, { once: true });
  try {
    const launcher = launch.child.pid ?? 0;
    const run = new LiveRun({ runDir, launcher, signal: launch.over.signal, proxies, inside });
    const following = proxies?.follow(launch.over.signal);
    await disturb(run, options, injections);
    const end = await launch.ended;
    await following;
    return { ...end, isLate, logBytes, wasKilled: end.signal !== null };
  } finally {
    clearTimeout(late);
    options.signal.removeEventListener("abort", onAbort);
    await proxies?.close();
    await inside?.close();
  }
}

/** Injects faults until there were enough, or the launcher has ended. */
async function disturb(run: LiveRun, options: RoundOptions, injections: Injection[]): Promise<void> {
  const { rng, faults, meanPauseMs, note } = options;
  // Before its first step a run has nothing that could be lost.
  if (!(await run.stepped())) return;
  // The injection after which the run was resumed has lost the time until now.
  const last = injections.at(-1);
  if (last !== undefined) last.lostMs ??= performance.now() - last.startedAt;
  while (injections.length < options.count && !run.signal.aborted) {
    if (!(await run.pause(rng.next() * 2 * meanPauseMs))) return;
    const fault = rng.pick(faults);
    const startedAt = performance.now();
    const what = await fault.inject(run, rng);
    if (what === null) {
      await run.pause(PAUSE_WITHOUT_TARGET_MS);
      continue;
    }
    note(`${options.name}: ${fault.name}: ${what}`);
    const injection: Injection = { fault: fault.name, what, startedAt, lostMs: null, resumed: false };
    injections.push(injection);
    if (await run.stepped()) injection.lostMs = performance.now() - startedAt;
  }
}

function start(options: RoundOptions, resume: boolean, inside: InsideOrders | null): Launch {
  const { command, args } = selfCommand();
  const log = openSync(options.log, "a");
  try {
    const run = ["rl", options.config, "--run.name", options.name, ...(resume ? ["--resume"] : [])];
    const child = spawn(command, [...args, ...run], {
      cwd: options.cwd,
      env: { ...options.env, ...inside?.variables(options.env), [MARK]: markOf(options.name), NO_COLOR: "1" },
      stdio: ["ignore", log, log],
    });
    const over = new AbortController();
    const ended = new Promise<Awaited<Launch["ended"]>>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => {
        over.abort();
        resolve({ code, signal });
      });
    });
    return { child, ended, over };
  } finally {
    closeSync(log);
  }
}

function markOf(name: string): string {
  return `${process.pid}-${name}`;
}

/** Processes of the round that are there although its launcher has ended; they are killed. */
async function leftBehind(name: string, withinMs: number): Promise<string[]> {
  let left = await processesWith(MARK, markOf(name));
  for (const end = performance.now() + withinMs; left.length > 0 && performance.now() < end;) {
    await sleep(100);
    left = await stillThere(left);
    if (left.length === 0) left = await processesWith(MARK, markOf(name));
  }
  const found: string[] = [];
  for (const { pid } of left) {
    found.push(`process ${pid} is left: ${await commandLine(pid)}`);
    signalProcess(pid, "SIGKILL");
  }
  return found;
}

/** "resume" when the run ended as a fault may end it; else what is wrong with its end, nothing when it is done. */
async function judge(options: RoundOptions, end: StartEnd, recent: readonly Injection[]): Promise<"resume" | string[]> {
  if (end.isLate) return [`the run did not end within ${options.deadlineMs / 1000} s`];
  if (end.code === 0) return [];
  const injected = options.faults.filter(({ name }) => recent.some(({ fault }) => fault === name));
  const mayEnd = injected.filter(({ promise }) => !promise.goesOn);
  const { code, message } = await failureOf(options, end);
  if (end.signal !== null) {
    if (mayEnd.length > 0 && end.signal === "SIGKILL") return "resume";
    return [`the launcher ended by ${end.signal}`];
  }
  if (mayEnd.some(({ promise }) => (promise.codes as readonly string[]).includes(code))) return "resume";
  const faults = recent.map(({ fault }) => fault).join(", ");
  return [`the run ended with exit code ${String(end.code)} and ${code} after ${faults || "no fault"}: ${message}`];
}

/** The last error that this start printed, since a full disk may keep it from writing any file. */
async function failureOf(
  { log }: RoundOptions,
  { code, logBytes }: StartEnd,
): Promise<{ code: string; message: string }> {
  if (code !== null && code > SIGNALLED) return { code: "PRL_RUN_INTERRUPTED", message: "" };
  const printed = (await readFile(log)).toString("utf8", logBytes);
  const [, name, message] = [...printed.matchAll(/^prl: \[(PRL_\w+)\] (.*)$/gmu)].at(-1) ?? [];
  return name === undefined ? { code: "no code", message: `see ${log}` } : { code: name, message: message ?? "" };
}
