/** A model of a hub on this machine, by its name in a config and on a command line. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { mockModelHub, type MockHub } from "../support/hub/mock-hub.ts";
import { prl, readJson, ROOT, start, workspace } from "../support/prl.ts";
import { tinyModel } from "../unit/models/tiny-model.ts";

let place: Awaited<ReturnType<typeof workspace>>;
let hub: MockHub;
beforeEach(async () => {
  place = await workspace("empty");
  hub = await mockModelHub({ "org/tiny": await tinyModel() });
});
afterEach(async () => {
  await hub.close();
  await place.remove();
});

/** The shipped warm start of one step, with this model. */
async function smallConfig(dir: string, model: string): Promise<string> {
  const shipped = await readFile(join(ROOT, "configs/reverse-text/sft.toml"), "utf8");
  const path = join(dir, "sft.toml");
  const small = shipped.replace('name = "./model"', `name = ${JSON.stringify(model)}`);
  const short = small
    .replace("max_steps = 640", "max_steps = 1")
    .replace(/^\[scheduler\][\s\S]*?(?=^\[|$(?![\s\S]))/mu, "");
  await writeFile(path, short.replace("batch_size = 32", "batch_size = 2"));
  return path;
}

test("a dry run downloads nothing, a run downloads, and the next one asks no hub", async () => {
  const config = await smallConfig(place.dir, "org/tiny");
  const cache = join(place.dir, "hf");
  const options = { cwd: place.dir, cache: place.cache, env: { HF_ENDPOINT: hub.url, HF_HUB_CACHE: cache } };
  const dry = await prl(["sft", config, "--dry-run"], options);
  expect(dry.code, dry.stderr).toBe(0);
  expect(dry.stderr).toContain("org/tiny is not in the cache: a run downloads");
  await expect(readdir(cache)).rejects.toThrow("ENOENT");

  const ran = await prl(["sft", config, "--run.name", "one"], options);
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stdout).toMatch(/^Download org\/tiny: 100 % of /mu);
  expect(await readJson(join(place.dir, "outputs/one/summary.json"))).toMatchObject({ status: "completed" });

  const asked = hub.requests.length;
  const again = await prl(["sft", config, "--run.name", "two"], options);
  expect(again.code, again.stderr).toBe(0);
  expect(again.stdout).not.toContain("Download");
  expect(hub.requests).toHaveLength(asked);

  const server = start(["inference", "org/tiny", "--port", "0"], options);
  const url = await new Promise<string>((resolve, reject) => {
    server.child.stdout?.once("data", (line) => resolve(String(line).trim()));
    void server.finished.then(({ stderr }) => reject(new Error(stderr)));
  });
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual(["org/tiny"]);
  server.child.kill("SIGTERM");
  await server.finished;
});

test("two processes that pull at once fetch each file once", async () => {
  const options = { cwd: place.dir, cache: place.cache, env: { HF_ENDPOINT: hub.url, HF_HOME: join(place.dir, "hf") } };
  const pulls = await Promise.all([1, 2, 3].map(() => prl(["model", "pull", "org/tiny", "--json"], options)));
  expect(pulls.map(({ code }) => code)).toEqual([0, 0, 0]);
  const fetched = hub.requests.filter((request) => request.includes("/resolve/"));
  expect(fetched.length).toBe(new Set(fetched).size);
  expect(new Set(pulls.map(({ stdout }) => (JSON.parse(stdout) as { folder: string }).folder)).size).toBe(1);
});
