/** Env workers that listen for another machine: who gets in, and what the orchestrator says of workers that it cannot use. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, request as plainRequest } from "node:http";
import { request } from "node:https";
import { connect as connectSocket, type AddressInfo } from "node:net";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startEnvWorker } from "../../../ts/environments/env-worker.ts";
import { type WorkerIdentity, workerIdentity } from "../../../ts/environments/records.ts";
import { rlConfigSchema } from "../../../ts/config/schema/rl.ts";
import { checkRemoteEnvWorkers } from "../../../ts/launcher/checks/remote-env-workers.ts";
import { connectEnvWorkers, remoteEnvWorkers } from "../../../ts/orchestrator/index.ts";
import { certificates, hasOpenssl } from "../../support/certificates.ts";

const MODEL = new URL("../../../configs/reverse-text/model", import.meta.url).pathname;
const TOKEN = { PRL_ENV_WORKER_TOKEN: "right" };
const CONFIG = {
  run_id: "test",
  seed: 1,
  model_dir: MODEL,
  sources: [{ name: "reverse", split: "train" as const, env: { id: "reverse-text" } }],
  max_concurrent: 8,
};
const never = new AbortController().signal;

let dir: string;
let pems: Awaited<ReturnType<typeof certificates>>;
let worker: Awaited<ReturnType<typeof startEnvWorker>>;
let expected: WorkerIdentity;

const listen = (address: string, withTls = true) => ({
  address,
  tls_cert: withTls ? pems.cert : null,
  tls_key: withTls ? pems.key : null,
});

describe.skipIf(!hasOpenssl())("an env worker for another machine", () => {
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "prl-remote-worker-"));
    pems = await certificates(dir);
    worker = await startEnvWorker({ ...CONFIG, listen: listen("127.0.0.1:0") }, TOKEN);
    expected = await workerIdentity(CONFIG);
  });
  afterAll(async () => {
    await worker.stop();
    await rm(dir, { recursive: true });
  });

  const found = (
    url: string,
    { env = TOKEN, ca = pems.ca, patienceMs = 300, identity = expected }: Partial<Found> = {},
  ) => remoteEnvWorkers({ connect: [url], sources: null, tls_ca: ca }, identity, { env, signal: never, patienceMs });

  test("lets in the orchestrator with the token, and lists tasks for it", async () => {
    const workers = connectEnvWorkers([], { connections: 2, remote: await found(worker.url) });
    try {
      const { tasks } = await workers.tasks({ source: "reverse", split: "train", after: null, limit: 2 }, never);
      expect(tasks).toHaveLength(2);
      // The launcher counts the workers that it starts.
      expect(workers.load().workers).toEqual({});
    } finally {
      await workers.close();
    }
  });

  test.each<[string, Partial<Found>, string]>([
    ["a wrong token", { env: { PRL_ENV_WORKER_TOKEN: "wrong" } }, "PRL_ENV_WORKER_AUTH"],
    ["no token", { env: {} }, "PRL_ENV_WORKER_AUTH"],
    ["a certificate of another authority", { ca: null }, "PRL_ENV_WORKER_TLS"],
  ])("is not used with %s", async (_, given, code) => {
    await expect(found(worker.url, given)).rejects.toMatchObject({ code });
  });

  test("is not used when client and worker do not both encrypt", async () => {
    await expect(found(worker.url.replace("https:", "http:"))).rejects.toMatchObject({
      code: "PRL_ENV_WORKER_UNREACHABLE",
    });
    const plain = await startEnvWorker({ ...CONFIG, listen: listen("127.0.0.1:0", false) }, TOKEN);
    try {
      await expect(found(plain.url.replace("http:", "https:"))).rejects.toMatchObject({ code: "PRL_ENV_WORKER_TLS" });
    } finally {
      await plain.stop();
    }
  });

  test.each<[string, Partial<WorkerIdentity>, string]>([
    ["version", { version: "0.0.1" }, "the run is prl 0.0.1"],
    ["seed", { seed: 2 }, "its seed is 1, the run's is 2"],
    ["tokenizer", { tokenizer: null }, "another tokenizer"],
    ["environments", { environments: { "train other": "x" } }, 'the source "train reverse"'],
  ])("of another %s is not used", async (_, other, message) => {
    await expect(found(worker.url, { identity: { ...expected, ...other } })).rejects.toMatchObject({
      code: "PRL_ENV_WORKER_MISMATCH",
      message: expect.stringContaining(message) as string,
    });
  });

  test("is checked for a run: one that fits is taken, and all that cannot take part are named", async () => {
    const gone = await startEnvWorker({ ...CONFIG, listen: listen("127.0.0.1:0") }, TOKEN);
    await gone.stop();
    const check = (seed: number, connect: string[]) =>
      checkRemoteEnvWorkers(
        rlConfigSchema.parse({
          model: { name: MODEL },
          seed,
          orchestrator: {
            train: { source: [{ name: "reverse", env: { id: "reverse-text" } }] },
            remote_env_workers: { connect, tls_ca: pems.ca },
          },
        }),
        { provenance: undefined, signal: never, env: TOKEN, patienceMs: 300 },
      );
    expect(await check(1, [worker.url])).toBeUndefined();
    expect(await check(1, [])).toBeUndefined();
    await expect(check(1, [worker.url, gone.url])).rejects.toMatchObject({
      code: "PRL_ENV_WORKER_UNREACHABLE",
      message: expect.stringMatching(/remote_env_workers\.connect.*did not answer.*start it there/u) as string,
    });
    const refused = await check(2, [worker.url, gone.url]).catch((error: unknown) => String(error));
    expect(refused).toContain(`${new URL(worker.url).origin} does not fit the run: its seed is 1`);
    expect(refused).toContain(`${new URL(gone.url).origin} did not answer`);
  });

  test("that another program answers for is not used, and one that does not answer is given up", async () => {
    const server = createServer((_, response) => response.end("x".repeat(2 ** 21)));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(found(url)).rejects.toMatchObject({ code: "PRL_ENV_WORKER_MISMATCH" });
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
    await expect(found(url)).rejects.toMatchObject({ code: "PRL_ENV_WORKER_UNREACHABLE" });
  });

  test("that comes up later is waited for", async () => {
    const later = await startEnvWorker({ ...CONFIG, listen: listen("127.0.0.1:0") }, TOKEN);
    await later.stop();
    const address = new URL(later.url).host;
    const finding = found(later.url, { patienceMs: 30_000 });
    const again = await startEnvWorker({ ...CONFIG, listen: listen(address) }, TOKEN);
    expect(await finding).toHaveLength(1);
    await again.stop();
  });

  test("refuses every route without the token before it reads the body, and bodies above the limit", async () => {
    for (const path of ["/health", "/metrics", "/tasks?env=reverse&split=train", "/worker"]) {
      expect(await status(path, {})).toBe(401);
    }
    expect(await status("/run", { "content-length": String(2 ** 40) }, "POST")).toBe(401);
    const authorization = "Bearer right";
    expect(await status("/worker", { authorization })).toBe(200);
    const large = { authorization, "content-type": "application/json", "content-length": String(2 ** 40) };
    expect(await status("/run", large, "POST")).toBe(413);
  });

  test("refuses an orchestrator that means the worker which was here before", async () => {
    expect(await status("/health", { authorization: "Bearer right", "x-prl-env-worker": "other" })).toBe(409);
  });

  test("answers no client that does not encrypt", async () => {
    const asked = new Promise((resolve, reject) => {
      plainRequest(worker.url.replace("https:", "http:"), resolve).on("error", reject).end();
    });
    await expect(asked).rejects.toThrow(/hang up|reset|Parse/u);
  });

  test("closes connections above its bound, and serves those within", async () => {
    const { port } = new URL(worker.url);
    const sockets = Array.from({ length: 4 * CONFIG.max_concurrent + 64 + 20 }, () =>
      connectSocket(Number(port), "127.0.0.1"),
    );
    let closed = 0;
    for (const socket of sockets) socket.on("error", () => undefined).on("close", () => closed++);
    await expect.poll(() => closed, { timeout: 5000 }).toBeGreaterThanOrEqual(20);
    expect(closed).toBeLessThan(30);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => status("/worker", { authorization: "Bearer right" }).catch(() => 0)).toBe(200);
  });

  test.each<[string, boolean, object]>([
    ["a token", true, {}],
    ["a certificate", false, TOKEN],
  ])("does not start beyond loopback without %s", async (_, withTls, env) => {
    await expect(
      startEnvWorker({ ...CONFIG, listen: listen("0.0.0.0:0", withTls) }, env as Record<string, string>),
    ).rejects.toMatchObject({ code: "PRL_ENV_WORKER_ADDRESS" });
  });
});

interface Found {
  env: Record<string, string>;
  ca: string | null;
  patienceMs: number;
  identity: WorkerIdentity;
}

function status(path: string, headers: Record<string, string>, method = "GET"): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(new URL(path, worker.url), { ca: readFileSync(pems.ca), headers, method }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
      asked.destroy();
    });
    asked.on("error", reject);
    if (method === "GET") asked.end();
    else asked.flushHeaders();
  });
}
