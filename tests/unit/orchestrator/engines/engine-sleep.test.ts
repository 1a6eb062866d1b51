/** Engines that share their GPU with the trainer: they sleep in its turn, all of them, and wake up for the next version. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";

import { EngineFleet } from "../../../../ts/orchestrator/engines/engine-fleet.ts";
import { Server, weights } from "./server.ts";

const TIMES = { probeMs: 5, swapMs: 100, patienceMs: 400, backoffMs: 5 };
const NEVER = new AbortController().signal;

async function fleetOf(count: number, level = 1, times = TIMES) {
  const servers = Array.from({ length: count }, (_, i) => new Server(`http://engine-${i}`));
  const placed = () => servers.map((server, i) => server.placed(`inference-${i}`));
  const metrics = { log: () => {}, event: () => {}, close: () => {} };
  const fleet = new EngineFleet(placed(), { maxMeanAbs: 0, metrics, times, turns: { engines: count, level } });
  const errors: unknown[] = [];
  fleet.start((error) => errors.push(error));
  await fleet.adopt(weights(1), NEVER);
  for (const server of servers) server.calls.length = 0;
  return { servers, fleet, errors, update: () => fleet.update(placed()), stop: () => fleet.stop() };
}

test("all sleep with their requests kept, none is taken meanwhile, and each wakes up around its load", async () => {
  const { servers, fleet, stop } = await fleetOf(2);
  await fleet.sleep(NEVER);
  expect(servers.map(({ asleep }) => asleep.size)).toEqual([2, 2]);
  let isTaken = false;
  const lease = fleet.take("a task", NEVER).then((taken) => {
    isTaken = true;
    return taken;
  });
  // Longer than the patience with engines that are not in service.
  await sleep(2 * TIMES.patienceMs);
  expect(isTaken).toBe(false);
  await fleet.adopt(weights(2), NEVER);
  expect((await lease).lost).toBeNull();
  for (const { calls, asleep, isPaused } of servers) {
    expect(calls).toEqual(["pause", "sleep 1", "wake weights", "pause", "update 2", "wake kv_cache", "resume"]);
    expect([asleep.size, isPaused]).toEqual([0, false]);
  }
  await stop();
});

test("a rollout on an engine stays on it through the turn", async () => {
  const { fleet, stop } = await fleetOf(1);
  const lease = await fleet.take("a task", NEVER);
  await fleet.sleep(NEVER);
  await sleep(20 * TIMES.probeMs);
  await fleet.adopt(weights(2), NEVER);
  expect([lease.lost, lease.signal.aborted]).toEqual([null, false]);
  await stop();
});

test("engines of level 2 load again what they held, and are not taken for others meanwhile", async () => {
  const { servers, fleet, stop } = await fleetOf(1, 2);
  const lease = await fleet.take("a task", NEVER);
  await fleet.sleep(NEVER);
  await sleep(20 * TIMES.probeMs);
  await fleet.adopt(weights(1), NEVER);
  expect(servers[0]?.calls).toContain("update 1");
  expect(lease.lost).toBeNull();
  await stop();
});

test("one that is out of service sleeps too, and one that died is awaited until the next sleeps", async () => {
  const { servers, fleet, update, stop } = await fleetOf(2, 1, { ...TIMES, patienceMs: 5_000 });
  const [first, second] = servers as [Server, Server];
  second.isUp = false;
  let isDone = false;
  const sleeping = fleet.sleep(NEVER).then(() => {
    isDone = true;
  });
  await sleep(100);
  expect([isDone, first.asleep.size]).toEqual([false, 2]);
  second.startAnew();
  update();
  await sleeping;
  expect(second.asleep.size).toBe(2);
  expect(second.calls).not.toContain("update 1");
  await fleet.adopt(weights(2), NEVER);
  expect(servers.map(({ holds }) => holds)).toEqual(["2 d2", "2 d2"]);
  await stop();
});

test("one that appears in the trainer's turn is put to sleep, and joins with the next version", async () => {
  const { servers, fleet, update, stop } = await fleetOf(1);
  await fleet.sleep(NEVER);
  const [server] = servers as [Server];
  server.startAnew();
  server.calls.length = 0;
  update();
  await sleep(20 * TIMES.probeMs);
  expect(server.calls).toEqual(["pause", "sleep 1"]);
  await fleet.adopt(weights(2), NEVER);
  expect([server.holds, fleet.serving]).toEqual(["2 d2", 1]);
  await stop();
});

test("late probes of an engine that sleeps say nothing; one that is gone is out of service", async () => {
  const { servers, fleet, errors, stop } = await fleetOf(2);
  const [first, second] = servers as [Server, Server];
  const leases = [await fleet.take("a task", NEVER), await fleet.take("another", NEVER)];
  const on = (server: Server) => leases.filter(({ url }) => url === server.url);
  await fleet.sleep(NEVER);
  first.isHung = true;
  second.isUp = false;
  await sleep(400);
  expect(on(first).every(({ lost }) => lost === null)).toBe(true);
  expect(on(second).every(({ lost }) => lost !== null)).toBe(true);
  first.isHung = false;
  await fleet.adopt(weights(2), NEVER);
  expect([fleet.serving, errors]).toEqual([1, []]);
  await stop();
});

test("one that does not sleep in time keeps the turn from the trainer, by its address", async () => {
  const { servers, fleet, stop } = await fleetOf(2);
  const [, second] = servers as [Server, Server];
  second.isHung = true;
  await expect(fleet.sleep(NEVER)).rejects.toMatchObject({
    code: "PRL_GPU_TURN",
    message: expect.stringContaining("http://engine-1"),
  });
  await stop();
});

test("an abort ends the wait for engines that do not sleep", async () => {
  const { servers, fleet, stop } = await fleetOf(1, 1, { ...TIMES, patienceMs: 60_000 });
  const [server] = servers as [Server];
  server.isHung = true;
  const ending = new AbortController();
  const sleeping = fleet.sleep(ending.signal);
  ending.abort(new Error("stopped"));
  await expect(sleeping).rejects.toThrow("stopped");
  await stop();
});
