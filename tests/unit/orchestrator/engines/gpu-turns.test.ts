/** Whose turn it is on a shared GPU: from the start of an attempt on, over the death of an orchestrator, and when the trainer takes too long. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";

import { PrlError } from "../../../../ts/errors.ts";
import { GpuTurns, type GpuTurnsOptions } from "../../../../ts/orchestrator/engines/gpu-turns.ts";
import {
  gpuTurnPath,
  readGpuTurn,
  trainerTurn,
  untilServersTurn,
  writeGpuTurn,
} from "../../../../ts/transports/index.ts";
import { weights } from "./server.ts";

const NEVER = new AbortController().signal;

let runDir: string;
let done: string[];
beforeEach(async () => {
  runDir = await mkdtemp(join(tmpdir(), "prl-turns-"));
  done = [];
});
afterEach(() => rm(runDir, { recursive: true, force: true }));

const turns = (more: Partial<GpuTurnsOptions> = {}) =>
  new GpuTurns({
    runDir,
    attempt: 2,
    weights: {
      receive: async (version) => {
        done.push(`version ${version}`);
        return weights(version);
      },
    },
    metrics: { event: () => undefined },
    turnMs: 60_000,
    ...more,
  });
const start = (step: number) => ({
  step,
  signal: NEVER,
  silence: async () => void done.push("silence"),
  trainerReady: async () => void done.push(`ready in ${(await readGpuTurn(runDir))?.turn}`),
  recover: async () => void done.push("recover"),
});
const handOver = (commit: () => Promise<void> = async () => undefined) => ({
  engines: { sleep: async () => void done.push("sleep") },
  commit,
  signal: NEVER,
});
const now = async () => {
  const { turn, step, attempt } = (await readGpuTurn(runDir)) ?? {};
  return [turn, step, attempt];
};

test("an attempt begins with servers asleep, then the trainer, then the servers; a file of an earlier attempt does not count", async () => {
  await writeGpuTurn(runDir, { attempt: 1, turn: "servers", step: 9 });
  await turns().begin(start(5));
  expect(done).toEqual(["silence", "ready in start"]);
  expect(await now()).toEqual(["servers", 5, 2]);
});

test("the servers sleep, the batch is committed, and only then the turn is the trainer's", async () => {
  const one = turns();
  await one.begin(start(0));
  const committed: unknown[] = [];
  await one.toTrainer(
    1,
    handOver(async () => void committed.push(...(await now()), done.at(-1))),
  );
  expect(committed).toEqual(["servers", 0, 2, "sleep"]);
  expect([await now(), one.trained]).toEqual([["trainer", 1, 2], 1]);
  await one.toServers(1, NEVER);
  expect(await now()).toEqual(["servers", 1, 2]);
  expect(done).not.toContain("version 1");
  one.stop();
});

test("a commit that fails leaves the turn with the servers", async () => {
  const one = turns();
  await one.begin(start(0));
  await expect(
    one.toTrainer(
      1,
      handOver(async () => Promise.reject(new Error("no space"))),
    ),
  ).rejects.toThrow("no space");
  expect(await now()).toEqual(["servers", 0, 2]);
  one.stop();
});

test.each([
  ["start", ["ready in start"], "servers"],
  ["trainer", ["recover", "version 3"], "servers"],
  ["servers", [], "servers"],
] as const)("an orchestrator that takes over in the turn %s ends it", async (turn, wanted, then) => {
  await writeGpuTurn(runDir, { attempt: 2, turn, step: 3 });
  const one = turns();
  await one.begin(start(0));
  expect(done).toEqual(wanted);
  expect([await now(), one.trained]).toEqual([[then, 3, 2], 3]);
});

test("the version before the one that is trained does not end the turn", async () => {
  const one = turns();
  await one.begin(start(0));
  await one.toTrainer(2, handOver());
  await one.toServers(1, NEVER);
  expect(done.at(-1)).toBe("version 2");
  one.stop();
});

test("a trainer that takes too long ends the run by its name, whether or not anything waits for its version", async () => {
  const late = new PrlError("PRL_DEADLINE", "it did not come");
  const one = turns({ turnMs: 30, weights: { receive: async () => Promise.reject(late) } });
  const errors: unknown[] = [];
  one.watch((error) => errors.push(error));
  await one.begin(start(0));
  await one.toTrainer(1, handOver());
  await expect(one.toServers(0, NEVER)).rejects.toMatchObject({ code: "PRL_GPU_TURN" });
  await sleep(60);
  expect(errors).toMatchObject([
    { code: "PRL_GPU_TURN", message: expect.stringContaining("deployment.turn_timeout_s") },
  ]);
  one.stop();
});

test("trainer and servers wait for their turn, the trainer for that of its attempt and its step", async () => {
  const seen: string[] = [];
  const trainer = trainerTurn(runDir, 2);
  const waits = [
    trainer.wait(null, NEVER).then(() => seen.push("open")),
    trainer.wait(4, NEVER).then(() => seen.push("step 4")),
    untilServersTurn(runDir, NEVER).then(() => seen.push("server")),
  ];
  const after = async (turn: Parameters<typeof writeGpuTurn>[1]) => {
    await writeGpuTurn(runDir, turn);
    await sleep(100);
    return [...seen];
  };
  expect(await after({ attempt: 1, turn: "trainer", step: 4 })).toEqual([]);
  expect(await after({ attempt: 2, turn: "start", step: 3 })).toEqual(["open"]);
  expect(await after({ attempt: 2, turn: "trainer", step: 3 })).toEqual(["open"]);
  expect(await after({ attempt: 2, turn: "servers", step: 3 })).toEqual(["open", "server"]);
  expect(await after({ attempt: 2, turn: "trainer", step: 4 })).toEqual(["open", "server", "step 4"]);
  await Promise.all(waits);
  const ended = new AbortController();
  const waiting = trainer.wait(5, ended.signal);
  ended.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow();
});

test("a file that says nothing is an error with its path", async () => {
  await writeGpuTurn(runDir, { attempt: 1, turn: "start", step: 0 });
  const { writeFile } = await import("node:fs/promises");
  await writeFile(gpuTurnPath(runDir), "{}");
  await expect(readGpuTurn(runDir)).rejects.toMatchObject({
    code: "PRL_IO",
    message: expect.stringContaining("gpu-turn.json"),
  });
});
