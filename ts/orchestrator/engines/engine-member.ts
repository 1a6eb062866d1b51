/** The state of one engine, as the fleet knows it. The transitions between states are the fleet's. */
import { PrlError } from "../../errors.ts";
import type { EngineHealth } from "../../inference-client/index.ts";
import type { AvailableWeights } from "../../transports/index.ts";
import type { Engine } from "./engines.ts";

/** An engine by its place; a process that replaces another is another engine in the same place. */
export interface PlacedEngine {
  /** `inference-0` */
  readonly name: string;
  /** Differs between a process and the one that replaced it. */
  readonly identity: string;
  readonly engine: Engine;
}

/** The table in `engine-fleet.ts` says what they mean. */
export type EngineState = "joining" | "serving" | "suspect" | "out" | "gone";

export interface Member extends PlacedEngine {
  state: EngineState;
  /** The weights that it was given, as `<version> <digest>`; null when that is not known. */
  held: string | null;
  inFlight: number;
  /** It was put to sleep, and no version was brought to it since. */
  isAsleep: boolean;
  /** Called when the engine leaves service, one per rollout on it; with one signal for all, each rollout would walk over the others' listeners. */
  readonly leases: Set<(error: PrlError) => void>;
  /** Aborted when the member leaves the fleet. */
  readonly life: AbortController;
  swapping: Promise<void> | null;
  isProbed: boolean;
  lateProbes: number;
  /** Probes in a row that found it paused though it serves. */
  pausedProbes: number;
  failures: number;
  retryAt: number;
}

export function newMember(placed: PlacedEngine): Member {
  return {
    ...placed,
    state: "joining",
    held: null,
    inFlight: 0,
    isAsleep: false,
    leases: new Set(),
    life: new AbortController(),
    swapping: null,
    isProbed: false,
    lateProbes: 0,
    pausedProbes: 0,
    failures: 0,
    retryAt: 0,
  };
}

export function isThere({ state, life }: Member): boolean {
  return state !== "gone" && !life.signal.aborted;
}

export function isSame(a: PlacedEngine, b: PlacedEngine): boolean {
  return a.name === b.name && a.identity === b.identity;
}

export function keyOf({ manifest }: AvailableWeights): string {
  return `${manifest.version} ${manifest.digest}`;
}

export function holdingOf({ policyVersion, digest }: EngineHealth): string {
  return `${policyVersion} ${digest ?? ""}`;
}

export function unreachable({ engine }: Member, cause: unknown): PrlError {
  return new PrlError("PRL_INFERENCE_UNREACHABLE", `${engine.url} was started anew while it was swapped`, { cause });
}
