/** Environments that require sandboxes: when they get them, what is left of them, and who is blamed. */
import { afterEach, describe, expect, test } from "vitest";
import {
  defineEnvironment,
  type EnvironmentDefinition,
  type ReplyClient,
  SandboxSource,
  type Task,
  z,
} from "../../../ts/environments/index.ts";
import { requireRun, type SandboxPool } from "../../../ts/sandbox/index.ts";
import { openWorkerMetrics } from "../../../ts/environments/worker/metrics.ts";
import { commandLine, until } from "./support.ts";

const sources: SandboxSource[] = [];
afterEach(async () => {
  for (const source of sources.splice(0)) await source.close();
});

function newSource(): SandboxSource {
  const source = new SandboxSource({ parked: 1 });
  sources.push(source);
  return source;
}

type Row = { prompt: string };
type Parts = Partial<Pick<EnvironmentDefinition<object, Row>, "requires" | "rollout" | "rewards" | "validate">>;

const config = z.strictObject({});
const task: Task = { key: "0", hash: "", data: { prompt: "say" } };

function environment(parts: Parts) {
  return defineEnvironment<object, Row>({
    name: "boxed",
    version: "1.0.0",
    config,
    tasks: () => [{ prompt: "say" }],
    rollout: async ({ task: row, sample }) => void (await sample(row.prompt)),
    rewards: { one: () => 1 },
    ...parts,
  });
}

/** A policy that takes its time, and knows how many sandboxes are held when it is asked. */
function policy(delayMs: number, seen?: () => Promise<void>): ReplyClient {
  return {
    async reply() {
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await seen?.();
      const message = { role: "assistant", content: "done" } as const;
      return { message, toolCalls: [], finishReason: "stop", usage: null };
    },
  };
}

async function run(parts: Parts, source: SandboxSource, endpoint = policy(0), signal = new AbortController().signal) {
  const configured = environment(parts).configure({}, { sandboxes: source });
  const { episode } = await configured.run({
    episodeId: "e",
    groupId: "g",
    source: "s",
    task,
    endpoint,
    sampling: { temperature: 1, maxCompletionTokens: null, topP: 1, topK: -1 },
    seed: 1,
    run: { type: "eval", step: 0 },
    signal,
  });
  return episode;
}

const held = async (pool: SandboxPool): Promise<number> => (await pool.health()).held;

describe("an environment that requires a sandbox", () => {
  test("shares one between rollout and rewards, made while the policy speaks, closed at the end", async () => {
    const source = newSource();
    const pool = await source.pool();
    let isThere = false;
    // Whatever time it takes, it is there before the rollout's code has asked for it.
    const endpoint = policy(0, async () => void (isThere = await until(async () => (await held(pool)) === 1, 20_000)));
    const episode = await run(
      {
        requires: { sandbox: { limits: { processes: 7 }, env: { WHO: "me" } } },
        rollout: async ({ task: row, sample, sandbox }) => {
          await sample(row.prompt);
          requireRun(await (await sandbox()).exec(["sh", "-c", "echo $WHO > left.txt"]));
        },
        rewards: { left: async ({ sandbox }) => (await (await sandbox()).read("left.txt")).toString() === "me\n" },
      },
      source,
      endpoint,
    );
    expect(episode).toMatchObject({ ok: true, traces: [{ reward: 1 }] });
    expect(isThere).toBe(true);
    expect(episode.traces[0]?.metrics["timing/sandbox_wait"]).toBeGreaterThanOrEqual(0);
    expect(await held(pool)).toBe(0);
  });

  test.each([
    ["the rollout throws", { rollout: () => Promise.reject(new Error("no")) }],
    ["a reward throws", { rewards: { bad: () => Promise.reject(new Error("no")) } }],
  ] satisfies [string, Parts][])("has it closed when %s", async (_, parts) => {
    const source = newSource();
    const episode = await run({ requires: { sandbox: true }, ...parts }, source);
    expect(episode).toMatchObject({ ok: false, errors: [{ class: "environment" }] });
    const pool = await source.pool();
    expect(await until(async () => (await held(pool)) === 0, 5_000)).toBe(true);
  });

  test("has it closed when the rollout is cancelled before it is ready", async () => {
    const source = newSource();
    const stop = new AbortController();
    const running = run({ requires: { sandbox: true } }, source, policy(60_000), stop.signal);
    stop.abort(new Error("enough"));
    expect((await running).ok).toBe(false);
    const pool = await source.pool();
    expect(await until(async () => (await held(pool)) === 0, 5_000)).toBe(true);
  });

  test("is an infra error, never scored, when the daemon dies; the next rollout has a new one", async () => {
    const source = newSource();
    const pool = await source.pool();
    const parts: Parts = {
      requires: { sandbox: true },
      rollout: async ({ task: row, sample, sandbox }) => {
        const box = await sandbox();
        await sample(row.prompt);
        requireRun(await box.exec(["true"]));
      },
    };
    const pid = pool.daemonPid ?? 0;
    const endpoint = policy(0, async () => {
      process.kill(pid, "SIGKILL");
      await until(() => commandLine(pid) === null, 5_000);
    });
    const episode = await run(parts, source, endpoint);
    expect(episode).toMatchObject({ ok: false, errors: [{ class: "infra", code: "PRL_SANDBOX_INFRA" }] });
    expect(episode.traces.map(({ reward }) => reward)).toEqual([null]);
    expect(await run(parts, source)).toMatchObject({ ok: true });
    expect((await source.pool()).daemonPid).not.toBe(pid);
  });

  test("is an infra error when no daemon can be reached", async () => {
    const source = new SandboxSource({ addresses: ["unix:/nonexistent/sandboxd.sock"] });
    const episode = await run(
      { requires: { sandbox: "pool" }, rewards: { any: async ({ sandboxes }) => (await sandboxes()).daemonPid === 0 } },
      source,
    );
    expect(episode.errors).toMatchObject([{ class: "infra", code: "PRL_SANDBOX_UNREACHABLE" }]);
  });
});

test("checks and scores without a rollout get sandboxes when they ask for them", async () => {
  const source = newSource();
  const parts: Parts = {
    requires: { sandbox: "pool" },
    rewards: {
      ran: async ({ sandboxes, trace }) => {
        const result = requireRun(await (await sandboxes()).runOnce({ command: ["echo", trace.lastReply] }));
        return result.stdout.toString() === "gold\n";
      },
    },
    validate: async ({ score, sandboxes }) => {
      expect((await sandboxes()).daemonPid).not.toBeNull();
      expect([await score("gold"), await score("lead")]).toEqual([1, 0]);
    },
  };
  await environment(parts).configure({}, { sandboxes: source }).validate(task);
});

test("one that uses a sandbox without requiring it gets an error that says so", async () => {
  const rewards: Parts["rewards"] = {
    any: async ({ sandbox }) => (await (await sandbox()).exec(["true"])).exitCode === 0,
  };
  for (const parts of [{ rewards }, { rewards, requires: { sandbox: "pool" } }] satisfies Parts[]) {
    const episode = await run(parts, newSource());
    expect(episode.errors).toMatchObject([{ class: "environment", code: "PRL_ENVIRONMENT_INVALID" }]);
  }
  // @ts-expect-error There is no such thing to require.
  expect(() => environment({ requires: { gpu: true } })).toThrowError(/requires "gpu"/u);
});

test("an env worker shows the load of the daemon that it started, and of no other", async () => {
  const source = newSource();
  const metrics = await openWorkerMetrics(
    "r",
    () => ({ active: 0, waiting: 0 }),
    () => source.localHealth(),
  );
  const shown = async () => (await metrics.text()).split("\n").filter((line) => line.startsWith("prl_env_sandboxes{"));
  expect(await shown()).toEqual([]);
  const pool = await source.pool();
  const box = await pool.create();
  const shownHeld = (count: number) => `prl_env_sandboxes{state="held",component="env-worker",run="r"} ${count}`;
  expect(await shown()).toContain(shownHeld(1));
  await box.close();
  await expect.poll(shown).toContain(shownHeld(0));
  metrics.close();
});
