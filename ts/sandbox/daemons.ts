/** Merges the answers of several daemons into one. */

import type { NativeSandboxCapabilities, NativeSandboxHealth } from "../native/index.ts";
import { isolationOf } from "./run-result.ts";
import type { Isolation, RunCause, SandboxCapabilities, SandboxHealth } from "./types.ts";

/** Isolation tiers from the weakest to the strongest. */
export const ISOLATION_ORDER: readonly (Isolation | null)[] = [null, "process", "rootless", "full"];

/** The abilities that all of several daemons have: the weakest's tier and facilities, and every cause that one of them cannot observe. */
export function mergedCapabilities(daemons: readonly NativeSandboxCapabilities[]): SandboxCapabilities {
  const rank = (daemon: NativeSandboxCapabilities): number => ISOLATION_ORDER.indexOf(isolationOf(daemon.isolation));
  const weakest = daemons.reduce((a, b) => (rank(b) < rank(a) ? b : a));
  const limit = (name: keyof NativeSandboxCapabilities["defaultLimits"]): number =>
    Math.min(...daemons.map(({ defaultLimits }) => defaultLimits[name] ?? Number.POSITIVE_INFINITY));
  const everywhere = <T>(of: (daemon: NativeSandboxCapabilities) => readonly T[]): T[] =>
    of(weakest).filter((one) => daemons.every((daemon) => of(daemon).includes(one)));
  const runtimes = everywhere(({ runtimes: all }) => all.map(({ name }) => name));
  return {
    isolation: isolationOf(weakest.isolation),
    cgroups: weakest.cgroups as SandboxCapabilities["cgroups"],
    facilities: weakest.facilities,
    unobservable: [...new Set(daemons.flatMap(({ unobservable }) => unobservable))] as RunCause[],
    defaultLimits: {
      wallMs: limit("wallMs"),
      cpuMs: limit("cpuMs"),
      memoryBytes: limit("memoryBytes"),
      processes: limit("processes"),
      openFiles: limit("openFiles"),
      outputBytes: limit("outputBytes"),
      outputKillBytes: limit("outputKillBytes"),
      diskBytes: limit("diskBytes"),
      inodes: limit("inodes"),
      collectBytes: limit("collectBytes"),
    },
    maxRunning: sum(daemons, ({ maxRunning }) => maxRunning),
    maxQueued: sum(daemons, ({ maxQueued }) => maxQueued),
    version: weakest.version,
    runtimes: weakest.runtimes
      .filter(({ name }) => runtimes.includes(name))
      .map((runtime) => ({
        ...runtime,
        parked: sum(daemons, (daemon) => daemon.runtimes.find(({ name }) => name === runtime.name)?.parked ?? 0),
      })),
    images: everywhere(({ images }) => images),
    daemons: daemons.map(({ address }) => address),
  };
}

export function mergedHealth(daemons: readonly NativeSandboxHealth[]): SandboxHealth {
  return {
    serving: daemons.some(({ serving }) => serving),
    running: sum(daemons, ({ running }) => running),
    queued: sum(daemons, ({ queued }) => queued),
    parked: sum(daemons, ({ parked }) => parked),
    held: sum(daemons, ({ held }) => held),
    completed: sum(daemons, ({ completed }) => completed),
    daemons: [...daemons],
  };
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
