/** What the fleet keeps of one engine. Knows no transitions: those are the fleet's. */
import { PrlError } from "../errors.ts";
import type { EngineHealth } from "../inference/index.ts";
import type { AvailableWeights } from "../transports/index.ts";
import type { Engine } from "./engines.ts";

/** An engine by its place; a process that replaces another is another engine in the same place. */
export interface PlacedEngine {
  /** `inference-0` */
  readonly name: string;
  /** Differs from that of the process that was there before. */
  readonly identity: string;
  readonly engine: Engine;
}

/** The table in `engine-fleet.ts` says what they mean. */
export type EngineState = "joining" | "serving" | "suspect" | "out" | "gone";

export interface Member extends PlacedEngine {
  state: EngineState;
  /** Of the weights that it was given, as `<version> <digest>`; null when that is not known. */
  held: string | null;
  inFlight: number;
  /** What tells the rollouts that it has that it is out of service; one signal for all would cost each of them a walk over the others. */
  readonly leases: Set<(error: PrlError) => void>;
  /** Ends with its place. */
  readonly life: AbortController;
  swapping: Promise<void> | null;
  isProbed: boolean;
  lateProbes: number;
  failures: number;
  retryAt: number;
}

export function newMember(placed: PlacedEngine): Member {
  return {
    ...placed,
    state: "joining",
    held: null,
    inFlight: 0,
    leases: new Set(),
    life: new AbortController(),
    swapping: null,
    isProbed: false,
    lateProbes: 0,
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

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
