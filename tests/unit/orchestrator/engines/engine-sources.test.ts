/** Where engines pull a version from when the trainer serves it over the network. */
import { describe, expect, test } from "vitest";

import { EngineFleet } from "../../../../ts/orchestrator/engines/engine-fleet.ts";
import type { PlacedEngine } from "../../../../ts/orchestrator/index.ts";
import { Server, weights } from "./server.ts";

const NEVER = new AbortController().signal;
const TRAINER = "trainer:1";

/** An engine that serves versions at `address`, and the sources that it was asked to pull each of them from. */
function serving(server: Server, name: string, address: string): { placed: PlacedEngine; sources: string[][] } {
  const placed = server.placed(name);
  const sources: string[][] = [];
  placed.engine.weights = address;
  placed.engine.admin.prefetchWeights = async ({ source }) => {
    if (!("grpc" in source)) throw new Error("weights come over the network");
    sources.push(source.grpc);
  };
  return { placed, sources };
}

describe("the sources of a version", () => {
  test("are the engines that have it, before the trainer, for one that joins late", async () => {
    const servers = [0, 1, 2].map((i) => new Server(`http://engine-${i}`));
    const engines = servers.map((server, i) => serving(server, `inference-${i}`, `engine-${i}:1`));
    const metrics = { log: () => {}, event: () => {}, close: () => {} };
    const times = { probeMs: 5, swapMs: 10_000, patienceMs: 30_000, backoffMs: 5 };
    const fleet = new EngineFleet(
      engines.map(({ placed }) => placed),
      { maxMeanAbs: 0, metrics, times },
    );
    const errors: unknown[] = [];
    fleet.start((error) => errors.push(error));
    await fleet.adopt({ ...weights(0), source: { grpc: [TRAINER] } }, NEVER);
    expect(engines.map(({ sources }) => sources)).toEqual([
      [[TRAINER]],
      [["engine-0:1", TRAINER]],
      [["engine-0:1", TRAINER]],
    ]);

    const [first, ...others] = servers;
    if (first === undefined) throw new Error("there is no server");
    first.startAnew();
    const again = serving(first, "inference-0", "engine-0:2");
    fleet.update([again.placed, ...engines.slice(1).map(({ placed }) => placed)]);
    while (fleet.serving < 3) await new Promise((resolve) => setTimeout(resolve, 2));
    expect(again.sources).toEqual([["engine-1:1", TRAINER]]);
    expect(others.map(({ holds }) => holds)).toEqual(["0 d0", "0 d0"]);
    expect(errors).toEqual([]);
    await fleet.stop();
  });
});
