/** Evaluations that a process did not end: another one runs the rollouts that are missing, and the result is that of an undisturbed one. */
import { mkdirSync, readFileSync, statSync, truncateSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import type { RunRequest } from "../../../../ts/environments/records.ts";
import type { EnvWorkers } from "../../../../ts/orchestrator/env-workers/env-workers.ts";
import { evaluatePolicy } from "../../../../ts/orchestrator/evaluation/evaluation.ts";
import { clearStep, evaluationFiles } from "../../../../ts/transports/index.ts";
import { errored, scored } from "../simulation.ts";

const VERSION = 3;
const TASKS = 5;
const TRIES = 2;
const ALL = TASKS * TRIES;
const SOURCE = "held-out";

let place: string;
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "prl-saved-rollouts-"));
});
afterEach(() => rm(place, { recursive: true }));

interface Life {
  runDir: string;
  attempt?: number;
  digest?: string | null;
  temperature?: number;
  /** The process dies when so many rollouts have come back; default: it ends the evaluation. */
  dies?: number;
  /** Version that samples; default: the one that is evaluated. */
  sampledBy?: number;
  /** Rewards that compare the rollouts of a task are added. */
  compares?: boolean;
  hash?: string;
  /** The second rollout of a task fails. */
  failing?: number;
}

/** One process's evaluation: the rollouts that it asked for, and the line that it logged. */
async function evaluate({ runDir, attempt = 1, digest = "d", dies = Infinity, ...life }: Life) {
  const { temperature = 1, sampledBy = VERSION, compares = false, hash = "h", failing = -1 } = life;
  const config = rlConfigSchema.parse({
    seed: 7,
    model: { name: "m" },
    orchestrator: {
      train: { source: [{ env: { id: "reverse-text" } }] },
      eval: { sampling: { temperature }, source: [{ name: SOURCE, env: { id: "reverse-text" }, group_size: TRIES }] },
    },
  });
  const tasks = Array.from({ length: TASKS }, (_, i) => ({ key: String(i), hash, data: {} }));
  const asked: RunRequest[] = [];
  const compared: number[] = [];
  const death = new AbortController();
  const workers = {
    tasks: async () => ({ tasks, next: null, endless: false, scores_groups: compares }),
    run: async (request: RunRequest) => {
      asked.push(request);
      const [sample = 0] = request.episode_id.split("-").slice(-2).map(Number);
      if (sample === 1 && Number(request.task.key) === failing) return errored(request, "model");
      return scored(request, (request.seed % 7) / 7, sampledBy, sampledBy);
    },
    scoreGroup: async ({ episodes }: { episodes: { traces: { reward: number | null }[] }[] }) => {
      compared.push(episodes.length);
      const best = 1 + Math.max(...episodes.map(({ traces }) => traces[0]?.reward ?? 0));
      // Rewards that already held this one would change it.
      return {
        scores: episodes.map(() => [{ rewards: { best: { score: best, weight: 1 } }, metrics: {} }]),
        error: null,
      };
    },
  } as unknown as EnvWorkers;
  let back = 0;
  let last: Promise<unknown> = Promise.resolve();
  const permits = {
    evaluate: <Result>(work: () => Promise<Result>): Promise<Result> => {
      const result = last.then(async () => {
        death.signal.throwIfAborted();
        return await work();
      });
      last = result.catch(() => undefined);
      return result;
    },
  };
  let line: Record<string, unknown> | null = null;
  const metrics = {
    log: (_step: number, { "time/evaluation": _time, ...values }: Record<string, unknown>) => void (line = values),
    event: () => undefined,
    close: () => undefined,
  };
  const onReturned = () => {
    if (++back === dies) death.abort(new Error("it was killed"));
  };
  const { signal } = death;
  const context = { runDir, attempt, config, modelName: "m", workers, metrics, permits, onReturned, signal };
  await evaluatePolicy(context, { version: VERSION, digest }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  return { asked: asked.map(({ episode_id: id }) => id), compared, line };
}

const files = (runDir: string) => evaluationFiles(runDir, VERSION, SOURCE);
let runs = 0;
function newRun(): string {
  const runDir = join(place, String(runs++));
  mkdirSync(runDir);
  return runDir;
}

describe("an evaluation that a process did not end", () => {
  test("goes on with the rollouts that are missing, after any number of deaths and torn lines", async () => {
    const whole = newRun();
    const undisturbed = await evaluate({ runDir: whole });
    expect(undisturbed.asked).toHaveLength(ALL);
    // With the last death the line of the newest rollout may be torn.
    const deaths = fc.array(fc.record({ dies: fc.integer({ min: 1, max: 4 }), torn: fc.nat(400), next: fc.nat(1) }), {
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(deaths, fc.boolean(), async (lives, compares) => {
        const runDir = newRun();
        const expected = compares ? await evaluate({ runDir: newRun(), compares }) : undisturbed;
        let attempt = 1;
        let saved = 0;
        for (const { dies, torn, next } of lives) {
          const { asked, line } = await evaluate({ runDir, attempt, dies, compares });
          if (line !== null) return;
          expect(asked.length).toBe(dies);
          const { part } = files(runDir);
          const lines = readFileSync(part, "utf8").split("\n").slice(0, -1);
          expect(lines.length).toBe(saved + dies);
          const lastLine = (lines.at(-1) ?? "").length;
          if (torn > 0) truncateSync(part, statSync(part).size - Math.min(lastLine, torn) - 1);
          saved += dies - (torn > 0 ? 1 : 0);
          attempt += next;
        }
        const { asked, line } = await evaluate({ runDir, attempt, compares });
        expect(asked).toHaveLength(ALL - saved);
        expect(line).toEqual(expected.line);
        if (!compares) expect(readFileSync(files(runDir).ended, "utf8")).toBe(readFileSync(files(whole).ended, "utf8"));
      }),
      { numRuns: 40 },
    );
  });

  test.each([
    ["other weights in another attempt", { attempt: 2, digest: "e" }],
    ["weights without a digest in another attempt", { attempt: 2, digest: null }],
    ["another sampling", { temperature: 0.5 }],
    ["other data", { hash: "i" }],
  ])("begins again with %s", async (_name, change) => {
    const runDir = newRun();
    expect((await evaluate({ runDir, dies: 6 })).asked).toHaveLength(6);
    const { asked, line } = await evaluate({ runDir, ...change });
    expect(asked).toHaveLength(ALL);
    expect(line).toMatchObject({ [`eval/${SOURCE}/num`]: ALL });
  });

  test("keeps what a later version has sampled within the attempt only", async () => {
    const runDir = newRun();
    await evaluate({ runDir, dies: 3 });
    await evaluate({ runDir, dies: 3, sampledBy: VERSION + 1 });
    expect((await evaluate({ runDir, attempt: 1, dies: 1 })).asked).toHaveLength(1);
    const { asked, line } = await evaluate({ runDir, attempt: 2 });
    expect(asked).toHaveLength(ALL - 4);
    expect(line).toMatchObject({ [`eval/${SOURCE}/policy_version/max`]: VERSION });
  });

  test("runs failed rollouts again", async () => {
    const runDir = newRun();
    await evaluate({ runDir, dies: 4, failing: 0 });
    expect((await evaluate({ runDir })).asked).toHaveLength(ALL - 3);
  });
});

describe("an evaluation that has ended", () => {
  test("is not sampled again by another attempt, also when the run goes back before its version", async () => {
    for (const compares of [false, true]) {
      const runDir = newRun();
      const first = await evaluate({ runDir, compares });
      expect(await evaluate({ runDir, attempt: 2, compares })).toMatchObject({ asked: [], line: first.line });
      await clearStep(join(runDir, `rollouts/step_${VERSION}`));
      expect((await readdir(files(runDir).folder)).some((name) => name.endsWith(".jsonl"))).toBe(false);
      expect(await evaluate({ runDir, attempt: 3, compares })).toMatchObject({ asked: [], line: first.line });
      expect((await readdir(files(runDir).folder)).some((name) => name.endsWith(".jsonl"))).toBe(true);
    }
  });
});
