/** Training and evaluations under one limit: never more than that at once, and neither waits for ever. */
import { setMaxListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { GroupDispatcher } from "../../../../ts/orchestrator/scheduling/dispatcher.ts";
import { RolloutPermits } from "../../../../ts/orchestrator/scheduling/rollout-permits.ts";
import { errored, simulate } from "../simulation.ts";

const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);

/** A dispatcher of endless groups beside evaluations; the test ends the rollouts. */
function arena({ limit, groupSize }: { limit: () => number; groupSize: number }) {
  const training: (() => void)[] = [];
  const evaluating: (() => void)[] = [];
  let done = 0;
  const room: RolloutPermits = new RolloutPermits({
    limit,
    training: () => dispatcher.inFlight,
    largestGroup: groupSize,
    onFreed: () => dispatcher.fill(),
    // Evaluations that a test leaves waiting are not to end by it while the others run.
    patienceMs: 600_000,
  });
  let wanted = 0;
  const dispatcher: GroupDispatcher = new GroupDispatcher({
    dispatch: {
      get limit() {
        return room.forTraining;
      },
      mayBeAlone: (size) => room.mayBeAlone(size),
      waits: (isWaiting) => (room.trainingWaits = isWaiting),
    },
    mayOpen: () => wanted > 0,
    onOpened: () => (wanted -= 1),
    nextTask: async () => ({
      source: "s",
      task: { key: "0", hash: "", data: {} },
      epoch: 0,
      groupSize,
      scoresGroups: false,
    }),
    runRollout: async (group) => {
      await new Promise<void>((end) => training.push(end));
      const request = {
        episode_id: "e",
        env: "s",
        task: group.task.task,
        group_id: group.id,
        run: { type: "train", step: 1 },
      };
      return errored(request as Parameters<typeof errored>[0], "model");
    },
    onReturned: () => room.trainingReturned(),
    onCompleted: () => undefined,
    onFailure: (error) => {
      throw error;
    },
  });
  return {
    room,
    dispatcher,
    get done() {
      return done;
    },
    get wanted() {
      return wanted;
    },
    wantGroups(count: number) {
      wanted += count;
      dispatcher.fill();
    },
    evaluate(count: number) {
      for (let i = 0; i < count; i++)
        void room.evaluate(() => new Promise<void>((end) => evaluating.push(end)), NEVER).then(() => (done += 1));
    },
    end(kind: "training" | "evaluating", at: number) {
      const list = kind === "training" ? training : evaluating;
      list.splice(at % Math.max(1, list.length), 1)[0]?.();
    },
    get under() {
      return { training: training.length, evaluating: evaluating.length };
    },
  };
}

async function settled(): Promise<void> {
  for (let i = 0; i < 8; i++) await setImmediate();
}

describe("one limit", () => {
  const events = fc.array(
    fc.oneof(
      fc.record({ groups: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ evaluations: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ end: fc.constantFrom("training", "evaluating"), at: fc.nat() }),
      fc.record({ end: fc.constantFrom("training", "evaluating"), at: fc.nat() }),
    ),
    { maxLength: 60 },
  );

  test("holds for both together, and everything that waits gets its turn", async () => {
    await fc.assert(
      fc.asyncProperty(
        events,
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 5 }),
        async (given, limit, groupSize) => {
          const parts = arena({ limit: () => limit, groupSize });
          let [groups, evaluations] = [0, 0];
          // A group runs alone where the limit is smaller, beside at most the evaluation that is always allowed.
          const most = groupSize < limit ? limit : groupSize + 1;
          for (const event of given) {
            if ("groups" in event) parts.wantGroups(((groups += event.groups), event.groups));
            else if ("evaluations" in event) parts.evaluate(((evaluations += event.evaluations), event.evaluations));
            else parts.end(event.end, event.at);
            await settled();
            const { training, evaluating } = parts.under;
            expect(training + evaluating).toBeLessThanOrEqual(most);
          }
          // Both go on side by side to their ends: while both want, no more than a share's worth of turns passes without either.
          for (let turn = 0; parts.wanted > 0 || parts.done < evaluations || parts.dispatcher.inFlight > 0; turn++) {
            expect(turn).toBeLessThan(2 * (groups * groupSize + evaluations) + 4);
            parts.end("training", 0);
            parts.end("evaluating", 0);
            await settled();
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test("an evaluation that comes to a full house gets half of it as rollouts end, and training the other half", async () => {
    const parts = arena({ limit: () => 8, groupSize: 2 });
    parts.wantGroups(1_000);
    await settled();
    expect(parts.under).toEqual({ training: 8, evaluating: 0 });
    parts.evaluate(1_000);
    for (let i = 0; i < 8; i++) {
      parts.end("training", 0);
      await settled();
    }
    expect(parts.under).toEqual({ training: 4, evaluating: 4 });
    // Evaluations end again and again: training keeps its half.
    for (let i = 0; i < 50; i++) {
      parts.end("evaluating", i);
      await settled();
      expect(parts.under).toEqual({ training: 4, evaluating: 4 });
    }
  });

  test("a wait during which nothing ends has a deadline, an abort ends it at once", async () => {
    const room = new RolloutPermits({
      limit: () => 1,
      training: () => 1,
      largestGroup: 1,
      onFreed: () => undefined,
      patienceMs: 20,
    });
    await expect(room.evaluate(async () => 0, NEVER)).rejects.toMatchObject({ code: "PRL_DEADLINE" });
    const abort = new AbortController();
    const waiting = room.evaluate(async () => 0, abort.signal);
    abort.abort(new Error("over"));
    await expect(waiting).rejects.toThrow("over");
  });
});

test("a run's evaluations and training rollouts together stay within max_inflight, and both get on", async () => {
  const property = fc.asyncProperty(
    fc.constantFrom(0, 1, 2),
    fc.constantFrom(4, 7, 16),
    fc.nat(),
    async (level, maxInflight, timing) => {
      const evaluation = { interval: 1, atStart: true, hold: false };
      const run = await simulate({ level, maxSteps: 3, maxInflight, timing, evaluation, delayMs: 2 });
      expect(run.mostInFlight()).toBeLessThanOrEqual(maxInflight);
      const evaluated = run.requests.filter(({ request }) => request.run.type === "eval");
      expect(evaluated).toHaveLength(6 * 4);
    },
  );
  await fc.assert(property, { numRuns: 9 });
});
