/**
 * Whether faults that kill processes have left the other kinds alone, by the restarts that the launcher has noted in `events.jsonl`.
 *
 * A process that was silent for too long does not count: on a loaded machine it may be taken for one that hangs.
 */
import { join } from "node:path";

import type { RlConfig } from "../../config/index.ts";
import { EVENTS_FILE } from "../../monitors/index.ts";
import { type JsonObject, jsonLines } from "../runs/json-lines.ts";
import type { Fault } from "./fault.ts";
import type { Component } from "./live-run.ts";

/** What was killed in a run, and whether that may take trainer and orchestrator back to a checkpoint. */
export interface Killed {
  readonly components: ReadonlySet<Component>;
  readonly mayGoBack: boolean;
}

/** Null when something else than a kill was injected, which may end any process. */
export function killedBy(
  injected: readonly (Fault | undefined)[],
  { max_async_level: level, weight_broadcast: { keep, type } }: Pick<RlConfig, "max_async_level" | "weight_broadcast">,
): Killed | null {
  const found = injected.map((fault) => fault?.kills);
  const components = new Set(found.filter((component) => component !== undefined));
  if (components.size === 0 || found.includes(undefined)) return null;
  // When both are lost at once, none is left that could go on. "Supervision" in the README of the launcher names the other two.
  const isBoth = components.has("trainer") && components.has("orchestrator");
  return { components, mayGoBack: isBoth || keep < level + 2 || type === "grpc" };
}

/** A sentence for each restart that no kill explains. */
export async function disturbedBystanders(runDir: string, { components, mayGoBack }: Killed): Promise<string[]> {
  const found: string[] = [];
  for await (const event of jsonLines(join(runDir, EVENTS_FILE))) {
    if (event?.["type"] !== "restart" || wasSilent(event)) continue;
    const name = String(event["process"]);
    if (![...components].some((component) => name.startsWith(`${component}-`)))
      found.push(
        `${name} was started again (${String(event["exit"])}), and only ${[...components].join(", ")} was killed`,
      );
    else if ("step" in event && !mayGoBack)
      found.push(
        `the end of ${name} took the run back to step ${String(event["step"])}: no other process may be started again`,
      );
  }
  return found;
}

function wasSilent(event: JsonObject): boolean {
  // A sandbox daemon's reason stands behind the exit of the process that started it.
  return String(event["exit"]).includes("gave no sign of life");
}
