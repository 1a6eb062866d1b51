/**
 * Processes are killed and stopped while a run goes on: the launcher starts them again. A run whose launcher is killed is resumed. At level 0 the run ends
 * with the bits of an undisturbed one.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { openSafetensors } from "../../../ts/native/weights/index.ts";
import { childPids, isAlive, prl, readJson, readJsonLines, type Running, start, workspace } from "../../support/prl.ts";
import { IS_LONG, longTest } from "../../support/form.ts";
import { writeBoxedRun } from "../boxed-run.ts";

const MODEL = join(import.meta.dirname, "../../../configs/reverse-text/model");
const DEADLINE_MS = IS_LONG ? 3_000_000 : 250_000;
const TEST = { timeout: IS_LONG ? 3_600_000 : 600_000 };

let place: Awaited<ReturnType<typeof workspace>>;
beforeAll(async () => {
  place = await workspace();
  const source = `env = { id = "reverse-text", args = { min_len = 2, max_len = 4 } }`;
  const sampling = "[orchestrator.train.sampling]\nmax_completion_tokens = 8\n";
  await writeFile(
    join(place.dir, "rl.toml"),
    `seed = 5\nseq_len = 256\n[model]\nname = "${MODEL}"\n[trainer.optim]\nlr = 1e-4\n[ckpt]\ninterval = 1\n` +
      `[orchestrator]\nbatch_size = 16\ngroup_size = 8\n${sampling}[[orchestrator.train.source]]\n${source}\n`,
  );
  await writeFile(
    join(place.dir, "sft.toml"),
    `seed = 3\nseq_len = 256\n[model]\nname = "${MODEL}"\n[data]\nbatch_size = 4\n${source}\n[optim]\nlr = 1e-3\n[ckpt]\ninterval = 2\n`,
  );
});
afterAll(() => place.remove());

const options = () => ({ cwd: place.dir, cache: place.cache, deadlineMs: DEADLINE_MS });
const runDir = (name: string) => join(place.dir, "outputs", name);
const rlArgs = (name: string, steps: number, ...more: string[]) => [
  "rl",
  "rl.toml",
  "--run.name",
  name,
  "--max-steps",
  String(steps),
  ...more,
];

interface Line extends Record<string, unknown> {
  component: string;
  attempt: number;
  step: number;
}

/** Lines of metrics, without those that a later attempt voids: for equal component, step and kind the last attempt counts. */
async function committed(name: string): Promise<Line[]> {
  const lines = await readJsonLines<Line>(join(runDir(name), "metrics.jsonl"));
  const last = new Map<string, number>();
  const kindOf = (line: Line) =>
    `${line.component} ${line.step} ${Object.keys(line).some((key) => key.startsWith("eval/")) ? "eval" : "step"}`;
  for (const line of lines) last.set(kindOf(line), Math.max(last.get(kindOf(line)) ?? 0, line.attempt));
  return lines.filter((line) => line.attempt === last.get(kindOf(line)));
}

/** What has to be equal: batches, final weights, metrics but times and loads. */
async function historyOf(name: string, steps: number) {
  const batches = [];
  for (let step = 1; step <= steps; step++) {
    const file = await openSafetensors(join(runDir(name), `rollouts/step_${step}/rank_0.safetensors`));
    batches.push(file.metadata["digest"]);
    file.close();
  }
  const { digest } = await readJson<{ digest: string }>(join(runDir(name), `weights/step_${steps}/manifest.json`));
  const metrics = new Map<string, unknown[]>();
  for (const { time: _time, attempt: _attempt, component, step, ...values } of await committed(name)) {
    const kept = Object.entries(values).filter(
      ([key]) =>
        !/^(time|timing|perf|event_loop_lag|dispatcher|concurrency|inference|watcher|system)\//.test(key) &&
        !/timing|_ms|loop/.test(key),
    );
    const key = `${component} ${step}`;
    if (kept.length > 0) metrics.set(key, [...(metrics.get(key) ?? []), Object.fromEntries(kept)]);
  }
  return { batches, digest, metrics };
}

/** Numbers in [0, 1) that follow from a seed (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

async function pidOf(name: string, process: string): Promise<number | null> {
  const path = join(runDir(name), "run", `${process}.json`);
  const text = await readFile(path, "utf8").catch(() => null);
  if (text === null) return null;
  try {
    return (JSON.parse(text) as { pid: number }).pid;
  } catch {
    return null;
  }
}

/** Steps that the trainer has noted in the newest attempt, and the number of that attempt. */
async function progressOf(name: string): Promise<{ attempt: number; step: number }> {
  const lines = await readJsonLines<Line>(join(runDir(name), "metrics.jsonl")).catch(() => []);
  const trained = lines.filter(({ component }) => ["trainer", "sft"].includes(component));
  const attempt = Math.max(0, ...trained.map((line) => line.attempt));
  return { attempt, step: Math.max(0, ...trained.filter((line) => line.attempt === attempt).map(({ step }) => step)) };
}

/** Resolves when the trainer has noted this step in this attempt or a later one; rejects when the run has ended before. */
async function reached(
  name: string,
  run: Running,
  { attempt, step }: { attempt: number; step: number },
): Promise<void> {
  const end = new AbortController();
  void run.finished.then(() => end.abort());
  for (;;) {
    const now = await progressOf(name);
    if (now.attempt >= attempt && now.step >= step) return;
    if (end.signal.aborted) throw new Error(`${name} ended before step ${step} of attempt ${attempt}`);
    await sleep(20);
  }
}

/** Resolves to the orchestrator's number when it and all others are ready, as the launcher has noted; rejects when the run has ended before. */
async function whenAtWork(name: string, run: Running): Promise<number> {
  const end = new AbortController();
  void run.finished.then(() => end.abort());
  for (;;) {
    const events = await readJsonLines<Line>(join(runDir(name), "events.jsonl")).catch(() => []);
    const orchestrator = await pidOf(name, "orchestrator-0");
    if (orchestrator !== null && events.some(({ phase }) => phase === "training")) return orchestrator;
    if (end.signal.aborted) throw new Error(`${name} ended before it was at work`);
    await sleep(20);
  }
}

async function signal(name: string, victim: string, what: NodeJS.Signals): Promise<void> {
  const pid = await pidOf(name, victim);
  if (pid === null) throw new Error(`${victim} of ${name} is not there`);
  process.kill(pid, what);
}

/** Stops a process with SIGSTOP; resolves when it was killed for its silence and another one is ready in its place. */
async function standStill(name: string, run: Running, victim: string): Promise<void> {
  const end = new AbortController();
  void run.finished.then(() => end.abort());
  let pid: number | null = null;
  for (let isReplaced = false; !isReplaced;) {
    if (end.signal.aborted) throw new Error(`${name} ended before ${victim} was replaced`);
    const found = await pidOf(name, victim);
    // On a loaded machine a process may be taken for a hanging one before it is stopped here.
    if (pid === null && found !== null && isAlive(found)) {
      pid = found;
      process.kill(found, "SIGSTOP");
    }
    const restarts = (await restartsOf(name)).filter((restart) => restart["process"] === victim);
    const wasSilent = restarts.some(({ exit }) => String(exit).includes("gave no sign of life for 10 s"));
    isReplaced = wasSilent && found !== null && found !== pid;
    await sleep(20);
  }
}

interface Kill {
  process: string;
  /** It comes after this step of the trainer is noted. */
  step: number;
  /** And this much later. */
  delayMs: number;
}

/** Kills one process after the other while the run is at work; returns how many it killed. */
async function killAll(name: string, run: Running, kills: readonly Kill[]): Promise<number> {
  const end = new AbortController();
  void run.finished.then(() => end.abort());
  let done = 0;
  for (const { process: victim, step, delayMs } of kills) {
    while (!end.signal.aborted && (await progressOf(name)).step < step) await sleep(20);
    await sleep(delayMs);
    let pid = await pidOf(name, victim);
    while (!end.signal.aborted && pid === null) {
      await sleep(20);
      pid = await pidOf(name, victim);
    }
    if (end.signal.aborted || pid === null) break;
    try {
      process.kill(pid, "SIGKILL");
      done++;
    } catch {
      // It is between its end and its start.
    }
    // Its file stays until the launcher has noticed, that of a trainer until another one is ready, after a pause of up to 10 s.
    for (let i = 0; i < 3000 && !end.signal.aborted && (await pidOf(name, victim)) === pid; i++) await sleep(20);
  }
  return done;
}

function seededKills(seed: number, count: number, steps: number, victims: readonly string[]): Kill[] {
  const next = numbersFrom(seed);
  return Array.from({ length: count }, (_, index) => ({
    process: victims[index % victims.length] ?? "trainer-0",
    step: Math.floor((index * (steps - 1)) / count),
    delayMs: Math.floor(next() * 400),
  }));
}

const halves = (kills: readonly Kill[]) => [kills.slice(0, kills.length / 2), kills.slice(kills.length / 2)];

/** Runs to the end through kills of its processes, and returns their number. Between two parts of them the launcher is killed, too, and the run resumed. */
async function throughKills(name: string, args: readonly string[], parts: readonly (readonly Kill[])[]) {
  let kills = 0;
  for (const [index, part] of parts.entries()) {
    const run = start([...args, ...(index > 0 ? ["--resume"] : [])], options());
    kills += await killAll(name, run, part);
    if (index < parts.length - 1) {
      const pids = Object.values(await childPids(runDir(name)));
      run.child.kill("SIGKILL");
      expect(await run.finished).toMatchObject({ signal: "SIGKILL" });
      // They notice that their launcher is gone.
      while (pids.some(isAlive)) await sleep(50);
    } else {
      const { code, stdout, stderr } = await run.finished;
      expect(code, stdout + stderr).toBe(0);
    }
  }
  return kills;
}

interface Summary {
  status: string;
  steps: number;
  restarts?: Record<string, number>;
  error?: { code: string; message: string };
}
const summaryOf = (name: string) => readJson<Summary>(join(runDir(name), "summary.json"));

/** What holds however often a run goes back: each step once, in order, no rollout in two batches, no token staler than the level. */
async function expectInvariants(name: string, steps: number, level: number): Promise<void> {
  const lines = await committed(name);
  const all = Array.from({ length: steps }, (_, index) => index + 1);
  for (const component of ["trainer", "orchestrator"]) {
    const done = lines.filter((line) => line.component === component && line.step >= 1);
    expect([...new Set(done.map(({ step }) => step))].toSorted((a, b) => a - b)).toEqual(all);
  }
  const staleness = lines.flatMap((line) => ("off_policy/max" in line ? [Number(line["off_policy/max"])] : []));
  expect(staleness).toHaveLength(steps);
  expect(Math.max(...staleness)).toBeLessThanOrEqual(level);
  const rollouts = [];
  for (const step of all) {
    const path = join(runDir(name), `rollouts/step_${step}/traces.jsonl`);
    const found = await readJsonLines<{ id: string; traces: { id: string }[] }>(path);
    rollouts.push(...found.flatMap(({ id, traces }) => traces.map((trace) => `${id} ${trace.id}`)));
  }
  expect(new Set(rollouts).size).toBe(rollouts.length);
  expect(await summaryOf(name)).toMatchObject({ status: "completed", steps });
}

const restartsOf = async (name: string) =>
  (await readJsonLines<Line>(join(runDir(name), "events.jsonl"))).filter(({ type }) => type === "restart");

describe("a run whose trainer and orchestrator are killed", () => {
  const bits = { steps: IS_LONG ? 40 : 6, level: ["--max-async-level", "0"] };
  let undisturbed: ReturnType<typeof prl> | undefined;
  /** The history of a run that nothing disturbs. */
  async function wholeHistory() {
    undisturbed ??= prl(rlArgs("whole", bits.steps, ...bits.level), options());
    expect((await undisturbed).code).toBe(0);
    return historyOf("whole", bits.steps);
  }

  test("ends at level 0 with the weights, batches and metrics of an undisturbed run", TEST, async () => {
    const { steps, level } = bits;
    const whole = await wholeHistory();
    const args = rlArgs("killed", steps, ...level, "--deployment.max-restarts", "100");
    const state = ["trainer-0", "orchestrator-0"];
    const victims = IS_LONG ? [...state, "inference-0", "env-worker-0"] : state;
    const kills = seededKills(11, IS_LONG ? 32 : 3, steps, victims);
    const done = await throughKills("killed", args, IS_LONG ? halves(kills) : [kills]);
    expect(done).toBeGreaterThanOrEqual(IS_LONG ? 30 : 1);
    expect(await historyOf("killed", steps)).toEqual(whole);
    expect(await summaryOf("killed")).toMatchObject({ status: "completed", steps });
    expect((await restartsOf("killed")).length).toBeGreaterThanOrEqual(done);
  });

  longTest("loses its sandbox daemon and its launcher as well, and ends with the same bits", TEST, async () => {
    const steps = 12;
    const dir = join(place.dir, "boxed");
    await mkdir(dir);
    const config = await writeBoxedRun(dir);
    const more = ["--warm-start", "None", "--orchestrator.eval", "None", "--ckpt.interval", "1"];
    const argsOf = (name: string) => [...rlArgs(name, steps, ...bits.level, ...more)].with(1, config);
    expect((await prl(argsOf("boxed-whole"), options())).code).toBe(0);
    const args = [...argsOf("boxed-killed"), "--deployment.max-restarts", "100"];
    const kills = seededKills(31, 8, steps, ["sandboxd-0", "trainer-0", "sandboxd-0", "orchestrator-0"]);
    expect(await throughKills("boxed-killed", args, halves(kills))).toBeGreaterThanOrEqual(6);
    expect(await historyOf("boxed-killed", steps)).toEqual(await historyOf("boxed-whole", steps));
    const lost = (await restartsOf("boxed-killed")).map(({ process: name }) => name);
    expect(new Set(lost)).toEqual(new Set(["sandboxd-0", "trainer-0", "orchestrator-0"]));
  });

  test.each(IS_LONG ? ["filesystem", "grpc"] : ["filesystem"])(
    "keeps its trainer when the orchestrator is killed, and at level 0 ends with the same bits (%s)",
    TEST,
    async (transport) => {
      const { steps, level } = bits;
      const whole = await wholeHistory();
      const name = `alone-${transport}`;
      const types = ["--rollout-transport.type", transport, "--weight-broadcast.type", transport];
      const run = start(rlArgs(name, steps, ...level, ...types, "--deployment.max-restarts", "100"), options());
      // The orchestrator is ready after the trainer. However fast the run is, it cannot be at its end then.
      const early = await killAll(name, run, [{ process: "orchestrator-0", step: 0, delayMs: 0 }]);
      const trainer = await pidOf(name, "trainer-0");
      const later = await killAll(name, run, seededKills(7, IS_LONG ? 31 : 2, steps, ["orchestrator-0"]).slice(1));
      const kills = early + later;
      const { code, stdout, stderr } = await run.finished;
      expect(code, stdout + stderr).toBe(0);
      expect(early).toBe(1);
      expect(kills).toBeGreaterThanOrEqual(IS_LONG ? 16 : 1);
      expect(Object.keys((await summaryOf(name)).restarts ?? {})).toEqual(["orchestrator"]);
      const lines = await readJsonLines<Line>(join(runDir(name), "metrics.jsonl"));
      expect([...new Set(lines.map(({ attempt }) => attempt))]).toEqual([1]);
      // One process has trained each step once.
      const trained = lines.filter(({ component }) => component === "trainer").map(({ step }) => step);
      expect(trained).toEqual(Array.from({ length: steps }, (_, i) => i + 1));
      expect(await pidOf(name, "trainer-0")).toBe(trainer);
      expect(await historyOf(name, steps)).toEqual(whole);
    },
  );

  test.each(IS_LONG ? ["filesystem", "grpc"] : ["grpc"])(
    "keeps its orchestrator when the trainer is killed, which trains again what no checkpoint covers (%s)",
    TEST,
    async (transport) => {
      const { steps, level } = bits;
      const whole = await wholeHistory();
      const name = `again-${transport}`;
      const types = ["--rollout-transport.type", transport, "--weight-broadcast.type", transport];
      // Checkpoints are rare, so that steps have to be trained again.
      const args = [...level, ...types, "--ckpt.interval", "4", "--deployment.max-restarts", "100"];
      const run = start(rlArgs(name, steps, ...args), options());
      const orchestrator = await whenAtWork(name, run);
      // However fast the run is, it cannot be at its end then.
      const early = await killAll(name, run, [{ process: "trainer-0", step: 0, delayMs: 0 }]);
      // The second one hits a trainer that does steps again.
      const after = [1, 1, ...(IS_LONG ? Array.from({ length: 14 }, (_, i) => 2 * i + 2) : [])];
      const next = numbersFrom(17);
      const later = after.map((step) => ({ process: "trainer-0", step, delayMs: Math.floor(next() * 250) }));
      const kills = early + (await killAll(name, run, later));
      const { code, stdout, stderr } = await run.finished;
      expect(code, stdout + stderr).toBe(0);
      expect(early).toBe(1);
      expect(kills).toBeGreaterThanOrEqual(IS_LONG ? 16 : 1);
      expect(Object.keys((await summaryOf(name)).restarts ?? {})).toEqual(["trainer"]);
      expect(await pidOf(name, "orchestrator-0")).toBe(orchestrator);
      const lines = await readJsonLines<Line>(join(runDir(name), "metrics.jsonl"));
      expect([...new Set(lines.map(({ attempt }) => attempt))]).toEqual([1]);
      const trained = lines.filter(({ component }) => component === "trainer").map(({ step }) => step);
      expect(trained).toEqual(Array.from({ length: steps }, (_, i) => i + 1));
      expect(await historyOf(name, steps)).toEqual(whole);
    },
  );

  test("goes back by name when the trainer cannot do its steps again", TEST, async () => {
    // It has steps enough for any machine, and is interrupted in the end.
    const run = start(rlArgs("gone", 100_000, ...bits.level, "--ckpt.interval", "50000"), options());
    await whenAtWork("gone", run);
    await reached("gone", run, { attempt: 1, step: 1 });
    await rm(join(runDir("gone"), "rollouts/step_1"), { recursive: true });
    await signal("gone", "trainer-0", "SIGKILL");
    await reached("gone", run, { attempt: 2, step: 1 });
    run.child.kill("SIGINT");
    const { code, stdout, stderr } = await run.finished;
    expect(code, stdout + stderr).toBe(130);
    expect(stdout).toMatch(
      /Warning: the orchestrator goes back with the trainer: \[PRL_TRAIN_REPLAY\] .* has no batch of step 1 any more/u,
    );
    expect((await restartsOf("gone")).map(({ process: lost, step }) => [lost, step])).toEqual([
      ["trainer-0", undefined],
      ["trainer-0", 0],
    ]);
  });

  longTest("goes on after each kind of process stood still, and at level 1 keeps every invariant", TEST, async () => {
    const steps = IS_LONG ? 40 : 8;
    // The level bounds what is opened; what trains is bounded by the other key, whose default is 8.
    const level = ["--max-async-level", "1", "--orchestrator.max-off-policy-steps", "1"];
    // It has steps enough for any machine, and is interrupted in the end.
    const silence = ["--deployment.silence-timeout-s", "10", "--deployment.max-restarts", "100"];
    const hanging = start(rlArgs("hanging", 100_000, ...level, ...silence), options());
    const stopped = (async () => {
      for (const victim of ["trainer-0", "orchestrator-0", "inference-0", "env-worker-0"]) {
        await reached("hanging", hanging, { attempt: 1, step: 1 });
        await standStill("hanging", hanging, victim);
      }
      hanging.child.kill("SIGINT");
    })();
    const killed = start(rlArgs("async", steps, ...level, "--deployment.max-restarts", "100"), options());
    const victims = ["orchestrator-0", "trainer-0", "inference-0", "env-worker-0"];
    const kills = await killAll("async", killed, seededKills(23, IS_LONG ? 32 : 4, steps, victims));
    await stopped;
    const { code, stdout, stderr } = await killed.finished;
    expect(code, stdout + stderr).toBe(0);
    expect(kills).toBeGreaterThanOrEqual(IS_LONG ? 30 : 1);
    await expectInvariants("async", steps, 1);
    expect((await hanging.finished).code).toBe(130);
  });

  test("fails when the budget is spent, and at once when a process fails by itself", TEST, async () => {
    const spent = start(rlArgs("spent", 5000, "--deployment.max-restarts", "1"), options());
    // A reward that is always the same gives nothing to train on.
    const broken = join(import.meta.dirname, "../configs/broken.toml");
    const args = JSON.stringify({ how: "zero" });
    const starved = start(
      ["rl", broken, "--run.name", "starved", "--orchestrator.train.source.0.env.args", args],
      options(),
    );
    const kill = { process: "trainer-0", step: 1, delayMs: 0 };
    expect(await killAll("spent", spent, [kill, kill])).toBe(2);
    const { code, stderr } = await spent.finished;
    expect([code, stderr]).toEqual([1, expect.stringContaining("trainer-0 ended unexpectedly: signal SIGKILL")]);
    expect(stderr).toContain("trainer was started again 1 time within 3600 s already (deployment.max_restarts)");
    expect(stderr).toContain("go on with --resume");
    expect(await summaryOf("spent")).toMatchObject({
      status: "failed",
      error: { code: "PRL_PROCESS_DIED" },
      restarts: { trainer: 1 },
    });
    expect((await starved.finished).code).toBe(1);
    expect(await summaryOf("starved")).toMatchObject({
      status: "failed",
      error: { code: "PRL_ORCHESTRATOR_STARVED" },
    });
    expect(await restartsOf("starved")).toEqual([]);
  });
});

longTest("a supervised run whose process is killed ends with the weights of an undisturbed one", TEST, async () => {
  const steps = 120;
  const args = (name: string) => ["sft", "sft.toml", "--run.name", name, "--max-steps", String(steps)];
  expect((await prl(args("sft-whole"), options())).code).toBe(0);
  const run = start(args("sft-killed"), options());
  await reached("sft-killed", run, { attempt: 1, step: 3 });
  await signal("sft-killed", "sft-0", "SIGKILL");
  const { code, stdout, stderr } = await run.finished;
  expect(code, stdout + stderr).toBe(0);
  const weights = (name: string) => readFile(join(runDir(name), "model/model.safetensors"));
  expect((await weights("sft-killed")).equals(await weights("sft-whole"))).toBe(true);
  expect(await summaryOf("sft-killed")).toMatchObject({ status: "completed", steps, restarts: { sft: 1 } });
});

longTest("a warm start whose process is killed begins again, and logs each step once", TEST, async () => {
  const steps = 60;
  const sft = join(place.dir, "warm.toml");
  await writeFile(sft, `max_steps = ${steps}\n${await readFile(join(place.dir, "sft.toml"), "utf8")}`);
  const run = start(rlArgs("warm", 1, "--warm-start.sft", sft), options());
  await reached("warm", run, { attempt: 1, step: 1 });
  // On a loaded machine it may have ended meanwhile.
  const restarts = await signal("warm", "sft-0", "SIGKILL").then(
    () => ({ sft: 1 }),
    () => ({}),
  );
  const { code, stdout, stderr } = await run.finished;
  expect(code, stdout + stderr).toBe(0);
  expect(stdout.includes("sft-0 ended (signal SIGKILL): the warm start begins again")).toBe("sft" in restarts);
  expect(await summaryOf("warm")).toMatchObject({ status: "completed", steps: 1, restarts });
  const lines = await readJsonLines<Line>(join(runDir("warm"), "metrics.jsonl"));
  const logged = lines.filter(({ component }) => component === "sft").map(({ step }) => step);
  expect(logged).toEqual(Array.from({ length: steps }, (_, i) => i + 1));
  if (!IS_LONG) return;
  const calm = { ...options(), cache: join(place.dir, "other-cache") };
  expect((await prl(rlArgs("warm-calm", 1, "--warm-start.sft", sft), calm)).code).toBe(0);
  expect((await historyOf("warm-calm", 1)).digest).toBe((await historyOf("warm", 1)).digest);
});
