import { getEventListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";

import { fairTurn, LinkedAbort } from "../../../ts/environments/index.ts";

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

it("turns come in order, and those that take long leave rounds of the loop to others in between", async () => {
  const order: string[] = [];
  const turn = async (name: string) => {
    await fairTurn();
    order.push(name);
    for (const until = performance.now() + 0.6; performance.now() < until;);
    if (name === "a") setImmediate(() => setImmediate(() => order.push("other work")));
  };
  await Promise.all("abcdefghij".split("").map(turn));
  expect(order.filter((name) => name.length === 1)).toEqual("abcdefghij".split(""));
  expect(order.indexOf("other work")).toBeGreaterThan(0);
  expect(order.indexOf("other work")).toBeLessThan(order.indexOf("j"));
  await turn("again");
  expect(order.at(-1)).toBe("again");
});
