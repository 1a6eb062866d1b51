/** What the programs of a simulated run share. */
import { once } from "node:events";

import { digest } from "../../../ts/native/index.ts";
import type { SimulatedProcess, World } from "../world/world.ts";
import type { Network } from "./network.ts";

/** Parts that can be broken on purpose, to show that the invariants notice it. */
export const DEFECTS = {
  "trainer-begins-again": "a trainer that takes the place of a lost one does not look at what that one has published",
  "orchestrator-forgets": "an orchestrator that takes the place of a lost one does not read its snapshot",
} as const;
export type Defect = keyof typeof DEFECTS;

export interface Machine {
  readonly world: World;
  readonly network: Network;
  /** What a part saw that must never happen. */
  readonly contract: string[];
  /** Share of the answers of env workers that are none. */
  garbage: number;
  /** How much longer steps and samples take than in a short run. */
  readonly pace: number;
  /** What is broken on purpose. */
  readonly defect: Defect | null;
}

/** Lets the addon's calls be events of the machine. Before the first import of prl. */
export function observeAddon(): void {
  process.env["PRL_OBSERVED_ADDON"] =
    process.env["PRL_NATIVE_ADDON"] ?? new URL("../../../native/index.js", import.meta.url).pathname;
  process.env["PRL_NATIVE_ADDON"] = new URL("observed-addon.cjs", import.meta.url).pathname;
}

/** Where the launcher tells a process its place. */
export interface Place {
  readonly configPath: string;
  readonly runDir: string;
  readonly index: number;
  readonly attempt: number;
}

export function placeOf(args: readonly string[]): Place {
  const value = (name: string): string => args[args.indexOf(name) + 1] ?? "";
  return {
    configPath: value("--config"),
    runDir: value("--run-dir"),
    index: Number(value("--index")),
    attempt: Number(value("--attempt")),
  };
}

/** Resolves when the process is asked to stop. */
export async function asked({ stopping: { signal } }: SimulatedProcess): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}

/** A number in [0, bound) that follows from a text. */
export function drawn(text: string, bound: number): number {
  return Number(BigInt(`0x${digest(text)}`) % BigInt(bound));
}

/** Log-probabilities of the weights with this digest. */
export function logprobsOf(weights: string, tokenIds: readonly number[]): number[] {
  return tokenIds.map((id, t) => (t === 0 ? 0 : -1 - drawn(`${weights} ${id} ${t}`, 1024) / 1024));
}
