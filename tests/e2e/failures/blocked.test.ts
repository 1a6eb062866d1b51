/** Functions of the user's, and an engine, that stand still where no deadline of JavaScript reaches: the launcher ends that, by name. */
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { prl, readJson, readJsonLines, workspace } from "../../support/prl.ts";

const CONFIGS = join(import.meta.dirname, "../configs");
const STAND_STILL = `${join(CONFIGS, "broken.ts")}#standStill`;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());

const runDir = (name: string) => join(place.dir, "outputs", name);
function run(name: string, ...more: string[]) {
  const args = ["rl", join(CONFIGS, "broken.toml"), "--run.name", name, "--max-steps", "1", ...more];
  return prl(args, { cwd: place.dir, cache: place.cache });
}

// They wait beside each other: silence is taken for death after half a minute.
test("a filter, a loss and a reward that stand still", async () => {
  const filters = JSON.stringify([{ type: "custom", path: STAND_STILL, deadline_s: 1 }]);
  const args = JSON.stringify({ blocks: join(place.dir, "blocked") });
  const loss = ["--trainer.loss.type", "custom", "--trainer.loss.path", STAND_STILL, "--trainer.loss.deadline_s", "1"];
  const [engine, filter, customLoss, reward] = await Promise.all([
    // No step is so short: to the trainer its engine seems to stand still.
    run("engine", "--trainer.call-timeout-s", "0.001", "--deployment.max-restarts", "1"),
    run("filter", "--orchestrator.filters", filters, "--deployment.max-restarts", "0"),
    run("loss", ...loss),
    run("reward", "--orchestrator.train.source.0.env.args", args),
  ]);
  const errorOf = async (name: string) =>
    (await readJson<{ error: { code: string; message: string } }>(join(runDir(name), "summary.json"))).error;

  expect(engine.code, engine.stderr).toBe(1);
  const died = await errorOf("engine");
  expect(died.code).toBe("PRL_PROCESS_DIED");
  expect(died.message).toMatch(/^trainer-0 .*SIGKILL/u);
  expect(died.message).toMatch(/the engine was not ready with .* within 0\.001 s \(trainer\.call_timeout_s\)/u);

  expect(filter.code, filter.stderr).toBe(1);
  const { code, message } = await errorOf("filter");
  expect(code).toBe("PRL_PROCESS_DIED");
  expect(message).toMatch(/^orchestrator-0 gave no sign of life for 30 s; a function of your own may block it/u);

  // Its thread stands still; the trainer had said why before it could not end.
  expect(customLoss.code, customLoss.stderr).toBe(1);
  expect((await errorOf("loss")).code).toBe("PRL_LOSS_DEADLINE");

  // The worker is replaced and its rollouts are run again.
  expect([reward.code, reward.stderr]).toEqual([0, ""]);
  const events = await readJsonLines<Record<string, unknown>>(join(runDir("reward"), "events.jsonl"));
  expect(events.filter(({ type }) => type === "restart")).toMatchObject([
    { process: "env-worker-0", exit: expect.stringContaining("gave no sign of life for 30 s") as string },
  ]);
});
