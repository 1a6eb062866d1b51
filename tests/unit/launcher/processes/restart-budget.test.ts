import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { BackOff, FIRST_PAUSE_MS, LONGEST_PAUSE_MS } from "../../../../ts/launcher/processes/restarts/back-off.ts";
import { FurthestSteps } from "../../../../ts/launcher/processes/restarts/furthest-steps.ts";
import { RestartBudget } from "../../../../ts/launcher/processes/restarts/restart-budget.ts";

const WINDOW_MS = 100_000;
function budget(most: number) {
  const clock = { ms: 0 };
  return { clock, budget: new RestartBudget({ most, windowMs: WINDOW_MS }, () => clock.ms) };
}

describe("BackOff", () => {
  /** A process that is useful before some of its deaths, and takes no time beside the pauses. */
  const lives = fc.array(fc.boolean(), { minLength: 1, maxLength: 200 });

  test("starts at once what was useful, and delays each further death in a row twice as long, up to ten seconds", () => {
    fc.assert(
      fc.property(lives, (useful) => {
        const backOff = new BackOff();
        let [before, inARow] = [0, 0];
        for (const wasUseful of useful) {
          const pauseMs = backOff.lost(wasUseful);
          inARow = wasUseful ? 1 : inARow + 1;
          const twice = before === 0 ? FIRST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, 2 * before);
          expect([backOff.inARow, pauseMs]).toEqual([inARow, inARow === 1 ? 0 : twice]);
          before = pauseMs;
        }
      }),
    );
  });

  test("bounds the starts of a crash loop without progress within any time", () => {
    fc.assert(
      fc.property(lives, fc.integer({ min: 1, max: 40 }), (earlier, crashes) => {
        const backOff = new BackOff();
        for (const wasUseful of earlier) backOff.lost(wasUseful);
        const waited = Array.from({ length: crashes }, () => backOff.lost(false)).reduce((sum, ms) => sum + ms, 0);
        // 250 ms to 8 s are six pauses, 15.75 s together; all further ones are of 10 s.
        const least =
          crashes < 7 ? FIRST_PAUSE_MS * (2 ** (crashes - 1) - 1) : 15_750 + (crashes - 7) * LONGEST_PAUSE_MS;
        expect(waited).toBeGreaterThanOrEqual(least);
      }),
    );
  });
});

describe("FurthestSteps", () => {
  test("counts a step once, whatever is done again, and the orchestrator's for what has no lines", () => {
    const furthest = new FurthestSteps();
    expect(["trainer", "orchestrator", "env-worker"].map((name) => furthest.of(name))).toEqual([-1, -1, -1]);
    for (const step of [0, 1, 2, 1, 2]) furthest.note({ component: "trainer", step });
    furthest.note({ component: "orchestrator", step: 3 });
    const found = ["trainer", "orchestrator", "env-worker", "inference", "sandboxd", "sft"];
    expect(found.map((name) => furthest.of(name))).toEqual([2, 3, 3, 3, 3, -1]);
  });
});

describe("RestartBudget", () => {
  test("doubles the pause with each early loss, up to ten seconds, and begins anew after a long life or progress", () => {
    const { clock, budget: restarts } = budget(100);
    const pauses = Array.from({ length: 9 }, () => restarts.take("trainer", false)?.pauseMs);
    expect(pauses).toEqual([0, 250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    clock.ms = 30_000;
    expect(restarts.take("trainer", false)).toEqual({ pauseMs: 0, losses: 10 });
    expect(restarts.take("trainer", false)).toEqual({ pauseMs: 250, losses: 11 });
    expect(restarts.take("trainer", true)).toEqual({ pauseMs: 0, losses: 12 });
    expect(restarts.take("trainer", false)).toEqual({ pauseMs: 250, losses: 13 });
  });

  test("counts each kind alone, and none with a budget of 0", () => {
    const { budget: restarts } = budget(1);
    expect(restarts.take("trainer", true)).not.toBeNull();
    expect(restarts.take("trainer", true)).toBeNull();
    expect(restarts.isSpent("trainer")).toBe(true);
    expect(restarts.isSpent("orchestrator")).toBe(false);
    expect(restarts.take("orchestrator", true)).not.toBeNull();
    expect(budget(0).budget.take("trainer", true)).toBeNull();
  });

  test("never allows more than its number in any window, useful or not, and refuses only when that many are in one", () => {
    const losses = fc.array(fc.record({ gap: fc.integer({ min: 0, max: 60_000 }), wasUseful: fc.boolean() }), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(losses, fc.integer({ min: 0, max: 6 }), (all, most) => {
        const { clock, budget: restarts } = budget(most);
        const allowed: number[] = [];
        for (const { gap, wasUseful } of all) {
          clock.ms += gap;
          const recent = allowed.filter((time) => clock.ms - time < WINDOW_MS).length;
          const isAllowed = restarts.take("trainer", wasUseful) !== null;
          expect(isAllowed).toBe(recent < most);
          if (isAllowed) allowed.push(clock.ms);
        }
      }),
    );
  });
});
