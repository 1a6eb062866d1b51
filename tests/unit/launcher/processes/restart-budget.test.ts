import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { RestartBudget } from "../../../../ts/launcher/processes/restart-budget.ts";

const WINDOW_MS = 100_000;
function budget(most: number) {
  const clock = { ms: 0 };
  return { clock, budget: new RestartBudget({ most, windowMs: WINDOW_MS }, () => clock.ms) };
}

describe("RestartBudget", () => {
  test("doubles the pause with each early loss, up to ten seconds, and begins anew after a long life", () => {
    const { clock, budget: restarts } = budget(100);
    const pauses = Array.from({ length: 8 }, () => restarts.take("trainer")?.pauseMs);
    expect(pauses).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    clock.ms = 30_000;
    expect(restarts.take("trainer")).toEqual({ pauseMs: 250, losses: 9 });
  });

  test("counts each kind alone, and none with a budget of 0", () => {
    const { budget: restarts } = budget(1);
    expect(restarts.take("trainer")).not.toBeNull();
    expect(restarts.take("trainer")).toBeNull();
    expect(restarts.isSpent("trainer")).toBe(true);
    expect(restarts.isSpent("orchestrator")).toBe(false);
    expect(restarts.take("orchestrator")).not.toBeNull();
    expect(budget(0).budget.take("trainer")).toBeNull();
  });

  test("never allows more than its number in any window, and refuses only when that many are in one", () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 60_000 }), { maxLength: 60 });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 0, max: 6 }), (pauses, most) => {
        const { clock, budget: restarts } = budget(most);
        const allowed: number[] = [];
        for (const gap of pauses) {
          clock.ms += gap;
          const recent = allowed.filter((time) => clock.ms - time < WINDOW_MS).length;
          const isAllowed = restarts.take("trainer") !== null;
          expect(isAllowed).toBe(recent < most);
          if (isAllowed) allowed.push(clock.ms);
        }
      }),
    );
  });
});
