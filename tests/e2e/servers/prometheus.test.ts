/** Every process of a run answers `GET /metrics`: how late its event loop is, what waits in it, how old the data are, what was started again. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, test } from "vitest";

import { childPids, type Finished, readJson, type Running, start, workspace } from "../../support/prl.ts";
import { writeBoxedRun } from "../boxed-run.ts";
import { longTest } from "../../support/form.ts";

const CONFIGS = join(import.meta.dirname, "../configs");
const PATIENCE_MS = 60_000;
/** Where the orchestrator answers; the others on the next three. Below the ports that the system gives to others. */
const PORT = 20_000 + 4 * (process.pid % 3_000);

let place: Awaited<ReturnType<typeof workspace>>;
let running: Running[];
beforeEach(async () => {
  place = await workspace();
  running = [];
});
afterEach(async () => {
  for (const { child } of running) child.kill("SIGTERM");
  await Promise.all(running.map(({ finished }) => finished));
  await place.remove();
});

function begin(...args: string[]): string {
  const options = { cwd: place.dir, cache: place.cache };
  running.push(start([...args, "--run.name", "watched", "--monitors.prometheus.port", String(PORT)], options));
  return join(place.dir, "outputs/watched");
}

/** The values that it shows, by name with labels, once it shows all that are wanted. */
async function shown(address: string, ...wanted: RegExp[]): Promise<string> {
  let text = "";
  let ended: Finished | undefined;
  void running[0]?.finished.then((how) => (ended = how));
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(100)) {
    text = await fetch(address).then(
      (answer) => answer.text(),
      () => "",
    );
    if (wanted.every((line) => line.test(text))) return text;
    if (ended !== undefined)
      throw new Error(`the run ended (${ended.code}) before that:\n${ended.stdout}${ended.stderr}`);
  }
  throw new Error(`${address} never showed ${wanted.join(", ")}:\n${text}`);
}

const own = (port: number) => `http://127.0.0.1:${port}/metrics`;
const LAG = /^nodejs_eventloop_lag_p99_seconds\{.*\} [\d.e-]+$/m;
const gauge = (name: string) => new RegExp(`^${name}(\\{[^}]*\\})? [\\d.e+-]+$`, "m");
const metric = (name: string) => new RegExp(`^prl_metric\\{name="${name}",.*\\} [\\d.e+-]+$`, "m");

test("orchestrator, trainer, launcher, inference servers, env workers and the sandbox daemon of one run", async () => {
  const two = ["--inference.replicas", "2", "--inference.threads", "1"];
  const config = await writeBoxedRun(place.dir);
  const runDir = begin("rl", config, "--max-steps", "5000", "--max-async-level", "1", ...two);
  const queues = [gauge("prl_rollouts_in_flight"), gauge("prl_groups_queued"), gauge("prl_groups_open")];
  const staleness = [metric("off_policy/mean"), metric("off_policy/max"), metric("event_loop_lag/p99")];
  await shown(own(PORT), LAG, gauge("prl_step"), ...queues, ...staleness);
  await shown(own(PORT + 1), LAG, gauge("prl_step"), metric("mismatch_kl/all/mean"), metric("time/step"));

  const addressOf = async (name: string) => (await readJson<{ url: string }>(join(runDir, "run", `${name}.json`))).url;
  for (const name of ["inference-0", "inference-1"]) {
    const waiting = [gauge("vllm:num_requests_running"), gauge("vllm:num_requests_waiting")];
    await shown(`${await addressOf(name)}/metrics`, LAG, ...waiting, gauge("prl:policy_version"));
  }
  const inside = [gauge("prl_env_rollouts_in_flight"), gauge("prl_env_rollouts_waiting")];
  await shown(`${await addressOf("env-worker-0")}/metrics`, LAG, ...inside);

  const ended = /^prl_sandbox_runs_total\{cause="EXITED"\} [1-9]\d*$/m;
  const lag = gauge("prl_sandbox_executor_lag_seconds_count");
  const sandboxes = [gauge("prl_sandbox_queued"), gauge("prl_sandbox_held"), gauge("prl_sandbox_running")];
  await shown(own(PORT + 3), lag, ended, ...sandboxes, gauge("prl_sandbox_birth_seconds_count"));

  await shown(own(PORT + 2), LAG, /^prl_restarts_sandboxd\{.*\} 0$/m);
  await shown(own(PORT + 2), LAG, /^prl_restarts_env_worker\{.*\} 0$/m, /^prl_restarts_inference\{.*\} 0$/m);
  process.kill((await childPids(runDir))["env-worker-0"] ?? 0, "SIGKILL");
  await shown(own(PORT + 2), /^prl_restarts_env_worker\{.*\} 1$/m, /^prl_events_total\{type="restart",.*\} 1$/m);
});

longTest("trainer and orchestrator of a supervised run that is evaluated", async () => {
  begin("sft", join(CONFIGS, "sft-evaluated.toml"), "--max-steps", "5000");
  await shown(own(PORT), LAG, metric("eval/held-out/num"), /component="orchestrator"/);
  await shown(own(PORT + 1), LAG, metric("loss/mean"), /component="sft"/);
});
