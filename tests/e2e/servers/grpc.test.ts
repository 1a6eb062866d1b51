/** Runs whose batches and weights go over the network, some of it bad. */
import { access, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openSafetensors, readManifest } from "../../../ts/native/index.ts";
import { type Fault, startFaultyProxy } from "../../support/faulty-proxy.ts";
import { freePorts } from "../../support/free-ports.ts";
import { prl, readJsonLines, start, workspace } from "../../support/prl.ts";
import { longTest } from "../../support/form.ts";
import { undisturbedRun } from "../../support/runs/undisturbed-run.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");
const GRPC = ["--rollout-transport.type", "grpc", "--weight-broadcast.type", "grpc"];

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });
const runDir = (name: string) => join(place.dir, "outputs", name);

/** What a run was: digests of its batches and versions. */
async function historyOf(dir: string, steps: number) {
  const batches = [];
  for (let step = 1; step <= steps; step++) {
    const file = await openSafetensors(join(dir, `rollouts/step_${step}/rank_0.safetensors`));
    batches.push(file.metadata["digest"]);
    file.close();
  }
  const events = await readJsonLines<{ type: string; version: number; digest: string; max_abs: number }>(
    join(dir, "events.jsonl"),
  );
  const versions = events.filter(({ type }) => type === "weights_adopted").map(({ digest }) => digest);
  const canaries = events.filter(({ type }) => type === "canary").map((event) => [event.version, event.max_abs]);
  return { batches, versions, canaries };
}

/** Faults of all kinds, at places that move through headers, contents and answers; every third connection is well. */
function faultOf(n: number): Fault {
  const at = (n * 7919) % 90_000;
  const direction = n % 2 === 0 ? "up" : "down";
  const faults: Fault[] = [
    { kind: "cut", direction, at },
    { kind: "none" },
    { kind: "corrupt", direction, at },
    { kind: "delay", ms: 5 },
    { kind: "none" },
    { kind: "repeat", direction, at },
    { kind: "cut", direction: "down", at: 20 + n },
  ];
  return faults[n % faults.length] ?? { kind: "none" };
}

describe("prl rl over gRPC", () => {
  test("through a bad network is the same run, bit for bit, as by files", async () => {
    const [rolloutPort = 0, weightPort = 0] = await freePorts(2);
    const rollouts = await startFaultyProxy(() => rolloutPort, faultOf);
    const weights = await startFaultyProxy(
      () => weightPort,
      (n) => faultOf(n + 2),
    );
    try {
      const up = ["--rollout-transport.port", String(rolloutPort), "--rollout-transport.connect", rollouts.address];
      const down = ["--weight-broadcast.port", String(weightPort), "--weight-broadcast.connect", weights.address];
      const run = await prl(["rl", SYNC, "--run.name", "network", ...GRPC, ...up, ...down], options());
      expect(run.stderr + run.stdout).toContain("Step 4/4");
      expect(run.code).toBe(0);
      expect(await historyOf(runDir("network"), 4)).toEqual(await historyOf(await undisturbedRun(SYNC), 4));
      expect(rollouts.hurt).toBeGreaterThan(1);
      expect(weights.hurt).toBeGreaterThan(2);
      await expect(access(join(runDir("network"), "spool/step_4"))).rejects.toMatchObject({ code: "ENOENT" });
    } finally {
      await Promise.all([rollouts.close(), weights.close()]);
    }
  });

  longTest("engines pull from each other, and all hold the last version", async () => {
    const args = ["--inference.replicas", "3", "--max-async-level", "1", "--max-steps", "3", "--run.name", "tree"];
    const run = await prl(["rl", SYNC, ...args, ...GRPC], options());
    expect(run.stderr).not.toContain("error");
    expect(run.code).toBe(0);
    const last = await readManifest(join(runDir("tree"), "weights/step_3"));
    for (const engine of [0, 1, 2]) {
      const dir = join(runDir("tree"), `received/inference-${engine}/step_3`);
      expect(await readManifest(dir, { verify: true })).toEqual(last);
      expect(await readFile(join(dir, "config.json"))).toEqual(
        await readFile(join(runDir("tree"), "weights/step_3/config.json")),
      );
    }
  });

  test("a trainer that cannot be reached is named after the time that was given", async () => {
    const [port = 0] = await freePorts(1);
    const connect = ["--rollout-transport.connect", `127.0.0.1:${port}`, "--rollout-transport.timeout-s", "1"];
    const run = await prl(["rl", SYNC, "--run.name", "nobody", ...GRPC, ...connect], options());
    expect(run.code).toBe(1);
    expect(run.stderr).toContain("PRL_TRANSPORT_UNREACHABLE");
    expect(run.stderr).toContain(`127.0.0.1:${port}`);
    expect(await readdir(join(runDir("nobody"), "spool"))).toEqual(["step_1"]);
  });
});

describe("prl weights", () => {
  test("serve, relay and pull bring a version through a relay that joins late", async () => {
    const trained = await prl(["rl", SYNC, "--max-steps", "1", "--run.name", "served"], options());
    expect(trained.code).toBe(0);
    const weights = join(runDir("served"), "weights");
    const serve = start(["weights", "serve", weights], options());
    const publisher = await addressOf(serve);
    const relay = start(["weights", "relay", "relayed", "--from", publisher], options());
    const relayAddress = await addressOf(relay);
    const pulled = await prl(
      ["weights", "pull", "pulled", "--from", `${relayAddress},${publisher}`, "--json"],
      options(),
    );
    expect(pulled.code).toBe(0);
    const { dir, version, digest } = JSON.parse(pulled.stdout) as { dir: string; version: number; digest: string };
    expect(await readManifest(dir, { verify: true })).toMatchObject({ version: 1, digest });
    expect(version).toBe(1);
    expect((await prl(["weights", "verify", dir], options())).code).toBe(0);
    serve.child.kill("SIGTERM");
    expect((await serve.finished).code).toBe(143);
    // What the relay has it serves without its publisher.
    for (let i = 0; i < 200; i++) {
      if ((await readdir(join(place.dir, "relayed"))).includes("step_1")) break;
      await sleep(20);
    }
    const late = await prl(["weights", "pull", "late", "--from", `${publisher},${relayAddress}`], options());
    expect(late.code).toBe(0);
    expect(late.stdout).toContain(digest);
    const never = ["weights", "pull", "never", "--from", relayAddress, "--policy-version", "9", "--timeout-s", "1"];
    const missing = await prl(never, options());
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain("PRL_TRANSPORT_VERSION");
    relay.child.kill("SIGINT");
    expect((await relay.finished).code).toBe(130);
  });

  test("refuses to be reachable by other machines without a token, and callers without the token", async () => {
    const open = await prl(["weights", "serve", ".", "--listen", "0.0.0.0:0"], options());
    expect(open.code).toBe(1);
    expect(open.stderr).toContain("PRL_TRANSPORT_TOKEN");
    const guarded = start(["weights", "serve", "."], { ...options(), env: { PRL_TRANSPORT_TOKEN: "secret" } });
    const refused = await prl(["weights", "pull", "x", "--from", await addressOf(guarded)], options());
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("PRL_TRANSPORT_AUTH");
    guarded.child.kill("SIGTERM");
    await guarded.finished;
  });
});

/** Where a node says that it listens. */
function addressOf({ child, finished }: ReturnType<typeof start>): Promise<string> {
  return new Promise((found, failed) => {
    let seen = "";
    child.stdout?.on("data", (chunk) => {
      seen += String(chunk);
      const address = /at (\S+)\n/.exec(seen)?.[1];
      if (address !== undefined) found(address);
    });
    finished.then(({ stderr }) => failed(new Error(`it ended before it listened: ${stderr}`)), failed);
  });
}
