import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { BusyTime } from "../../../../ts/environments/rollout/busy-time.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

test("calls one after the other add up, what overlaps counts once, one that fails or goes on counts too", async () => {
  const busy = new BusyTime();
  const all = Promise.allSettled([
    busy.during(() => sleep(30)),
    // From 20 to 50.
    sleep(20).then(() => busy.during(() => sleep(30))),
    // From 100 to 110.
    sleep(100).then(() => busy.during(() => sleep(10).then(() => Promise.reject(new Error("it failed"))))),
  ]);
  await vi.advanceTimersByTimeAsync(60);
  expect(busy.ms).toBe(50);
  await vi.advanceTimersByTimeAsync(44);
  expect(busy.ms).toBe(54);
  await vi.advanceTimersByTimeAsync(100);
  await all;
  expect(busy.ms).toBe(60);
});
