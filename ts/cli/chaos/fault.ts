/** What a kind of fault is. A fault knows a live run and draws from a stream of random numbers; it knows no other fault and no report. */
import type { ErrorCode } from "../../errors.ts";
import type { Rng } from "../../random/rng.ts";
import type { Component, LiveRun } from "./live-run.ts";

/** What must hold after any number of injections of one kind. */
export interface FaultPromise {
  /**
   * Whether the launcher makes the fault good while it lives. False: it may end with one of `codes`, or by the fault itself, and the run goes
   * on with `--resume`.
   */
  readonly goesOn: boolean;
  /** Codes with which the run may end by name. */
  readonly codes: readonly ErrorCode[];
  /** At level 0 the run ends with the bits of an undisturbed one. */
  readonly sameBits: boolean;
}

/** Parts of a run that have to be prepared before it starts. */
export interface FaultNeeds {
  /** Connections to inference servers and env workers go through proxies. */
  readonly proxies?: boolean;
  /** Processes of the run load the module that breaks them from inside. */
  readonly hook?: boolean;
  /** The run directory lies on a small file system in memory. */
  readonly smallDisk?: boolean;
}

export interface Fault {
  /** `kill-trainer`, as in `--faults`. */
  readonly name: string;
  /** The part of the run that the fault breaks. */
  readonly breaks: string;
  /** The means that save the run. */
  readonly saves: string;
  /** How it is injected. */
  readonly injection: string;
  readonly promise: FaultPromise;
  readonly needs?: FaultNeeds;
  /** The kind of process that the fault kills, and no other: the launcher starts no other kind again. */
  readonly kills?: Component;
  /** Why it cannot be injected on this machine or into this run; null when it can. */
  obstacle?(place: FaultPlace): string | null;
  /** Injects it once and resolves to what was done; null when its target is not there at this instant. */
  inject(run: LiveRun, rng: Rng): Promise<string | null>;
}

/** What decides whether a fault is possible. */
export interface FaultPlace {
  /** The run starts inference servers. */
  readonly hasServers: boolean;
  /** It uses sandbox daemons that run already. */
  readonly hasRunningDaemons: boolean;
}

/** The obstacle of faults that hit the run's sandbox daemon. */
export function daemonElsewhere({ hasRunningDaemons }: FaultPlace): string | null {
  return hasRunningDaemons ? "the run uses daemons that it did not start" : null;
}

/** The launcher makes it good; the same bits at level 0. */
export const GOES_ON: FaultPromise = { goesOn: true, codes: [], sameBits: true };

/** The run may end with one of these codes, and goes on with `--resume`; the same bits at level 0. */
export function resumes(...codes: readonly ErrorCode[]): FaultPromise {
  return { goesOn: false, codes, sameBits: true };
}
