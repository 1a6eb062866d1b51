/** A run whose inference server other machines can reach: it serves the run, and nothing to others; the key is nowhere to be seen. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";

import { argumentsWith, filesWith, keyOf } from "../../support/hidden-key.ts";
import { childPids, type Finished, prl, readJson, start, workspace } from "../../support/prl.ts";
import { runResult } from "../../support/runs/run-result.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");
const STEPS = 3;
const ROUTES = ["/inference/v1/generate", "/v1/completions", "/v1/models", "/metrics", "/version", "/pause", "/resume"];

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());

const runDir = (name: string) => join(place.dir, "outputs", name);
const args = (name: string, ...more: string[]) =>
  ["rl", SYNC, "--max-steps", String(STEPS), "--orchestrator.eval", "None", "--warm-start", "None"].concat([
    "--run.name",
    name,
    ...more,
  ]);
const call = (...given: string[]): Promise<Finished> => prl(given, { cwd: place.dir, cache: place.cache });

interface Ready {
  pid: number;
  url: string;
}

/** The ready file of a process of the run, as soon as it is there. */
async function readyProcess(name: string, process: string, finished: Promise<unknown>): Promise<Ready> {
  let isOver = false;
  void finished.then(() => (isOver = true));
  for (;;) {
    const ready = await readJson<Ready>(join(runDir(name), `run/${process}.json`)).catch(() => null);
    if (ready !== null) return ready;
    if (isOver) throw new Error(`the run ended before ${process} was ready`);
    await sleep(20);
  }
}

// Arguments of processes are read from /proc.
test.skipIf(process.platform !== "linux")(
  "prl rl makes a key for servers that other machines reach: strangers get 401, and the key is in no file and no argument",
  async () => {
    expect((await call(...args("closed"))).code).toBe(0);
    const run = start(args("open", "--inference.server.host", "0.0.0.0"), { cwd: place.dir, cache: place.cache });
    const { pid, url } = await readyProcess("open", "inference-0", run.finished);
    const key = await keyOf(pid);
    expect(key).toMatch(/^[0-9a-f]{64}$/u);
    const shown = await argumentsWith(key ?? "");
    // Code of environments gets no key.
    const worker = await readyProcess("open", "env-worker-0", run.finished);
    expect(await keyOf(worker.pid)).toBeNull();
    for (const path of ROUTES) {
      const headers = { "content-type": "application/json", authorization: "Bearer EMPTY" };
      for (const method of ["GET", "POST"]) {
        const answer = await fetch(url + path, { method, headers, ...(method === "POST" && { body: "{}" }) });
        expect([method, path, answer.status]).toEqual([method, path, 401]);
      }
    }
    expect((await fetch(`${url}/health`)).status).toBe(200);
    expect(Object.keys(await childPids(runDir("open")))).toContain("inference-0");
    const { code, stdout, stderr } = await run.finished;
    expect([code, stderr]).toEqual([0, ""]);
    expect(await runResult(runDir("open"), STEPS)).toEqual(await runResult(runDir("closed"), STEPS));
    expect(shown).toEqual([]);
    expect(stdout).not.toContain(key);
    expect(await filesWith(runDir("open"), key ?? "")).toEqual([]);
  },
);
