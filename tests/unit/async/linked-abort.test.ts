import { getEventListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";

import { LinkedAbort } from "../../../ts/async/linked-abort.ts";
import { yieldInTurn } from "../../../ts/async/yield.ts";

it("follows the other signal with its reason, ends by its own time, and lets go", async () => {
  const outer = new AbortController();
  const [followed, released, late] = [1, 2, 3].map(() => new LinkedAbort(outer.signal));
  late?.abortAfter(1, () => "late");
  released?.abortAfter(1, () => "never");
  released?.release();
  expect(getEventListeners(outer.signal, "abort")).toHaveLength(2);
  await delay(20);
  expect([late?.signal.reason, late?.isLate]).toEqual(["late", true]);
  outer.abort("outer");
  expect([followed, released, late].map((one) => one?.signal.reason as unknown)).toEqual(["outer", undefined, "late"]);
  expect(followed?.isLate).toBe(false);
  expect(new LinkedAbort(outer.signal).signal.reason).toBe("outer");
});

it.each([Infinity, 2 ** 31, 1e12])("a time of %s ms is long, not over at once", async (ms) => {
  const time = new LinkedAbort(new AbortController().signal).abortAfter(ms, () => "late");
  await delay(20);
  time.release();
  expect([time.signal.aborted, time.isLate]).toEqual([false, false]);
});

it("turns come one per round of the loop, in order, with timers in between", async () => {
  const order: string[] = [];
  const turn = async (name: string) => {
    await yieldInTurn();
    order.push(name);
    if (name === "a") setImmediate(() => setImmediate(() => order.push("other work")));
  };
  await Promise.all(["a", "b", "c", "d", "e"].map(turn));
  expect(order.filter((name) => name.length === 1)).toEqual(["a", "b", "c", "d", "e"]);
  expect(order.indexOf("other work")).toBeGreaterThan(0);
  await turn("again");
  expect(order.at(-1)).toBe("again");
});
