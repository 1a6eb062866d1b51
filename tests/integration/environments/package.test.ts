/** A new environment package builds, tests and trains as it is, and can be installed. */
import { execFile } from "node:child_process";
import { mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

import { prl, readJson, ROOT, workspace } from "../../support/prl.ts";

/** npm finds no registry, at once. */
const OFFLINE = { npm_config_registry: "http://127.0.0.1:9", npm_config_fetch_retries: "0" };

let place: Awaited<ReturnType<typeof workspace>>;
let dir: string;
beforeAll(async () => {
  place = await workspace();
  const made = await prl(["env", "init", "owner/loud"], { cwd: place.dir, cache: place.cache });
  expect([made.code, made.stderr]).toEqual([0, ""]);
  dir = join(place.dir, "loud");
  // What `npm install` does, without a network.
  const modules = join(dir, "node_modules");
  await mkdir(join(modules, ".bin"), { recursive: true });
  await mkdir(join(modules, "@types"));
  await symlink(ROOT, join(modules, "prl-lm"));
  for (const name of ["typescript", "@types/node"])
    await symlink(join(ROOT, "node_modules", name), join(modules, name));
  await symlink("../typescript/bin/tsc", join(modules, ".bin/tsc"));
  await promisify(execFile)("npm", ["test"], { cwd: dir, timeout: 200_000 });
});
afterAll(() => place.remove());

const here = (...args: string[]) => prl(args, { cwd: dir, cache: place.cache });

test("it builds, passes its own test (above) and is valid", async () => {
  const { code, stdout } = await here("env", "validate", ".", "--tasks", "20", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    name: "loud",
    valid: true,
    notes: [],
    origin: { kind: "package", name: "@owner/loud", version: "0.1.0" },
  });
});

test("it passes prl env test, which checks the package too", async () => {
  const { code, stdout } = await here("env", "test", ".", "--tasks", "20", "--json");
  expect([code, code === 0 ? "" : stdout]).toEqual([0, ""]);
  const { rows } = JSON.parse(stdout) as { rows: { part: string; check: string; status: string }[] };
  const ofPackage = rows.filter(({ part }) => part === "package").map(({ check, status }) => [check, status]);
  expect(ofPackage).toEqual([
    ...["manifest", "scripts", "name", "needs", "circle", "publishing"].map((check) => [check, "passed"]),
    ["build", "stated"],
  ]);
});

test("in its own folder its id names it, as the package that it will be", async () => {
  const { code, stdout } = await here("env", "info", "owner/loud");
  expect([code, stdout]).toEqual([0, expect.stringContaining("letters = 6 (integer)  letters per word")]);
});

test("its config is one, and one step of it trains", async () => {
  const dry = await here("rl", "rl.toml", "--dry-run", "--run.name", "dry");
  expect(dry.code).toBe(0);
  const small = ["--max-steps", "1", "--warm-start", "None", "--orchestrator.batch-size", "16"];
  const ran = await here("rl", "rl.toml", ...small, "--orchestrator.eval", "None", "--run.name", "short");
  expect(ran.code).toBe(0);
  expect(await readJson(join(dir, "outputs/short/configs/environments.json"))).toMatchObject([
    { source: "train/loud", name: "loud", version: "0.1.0", origin: { kind: "path" } },
  ]);
  expect(await readJson(join(dir, "outputs/short/summary.json"))).toMatchObject({ status: "completed", steps: 1 });
});

test("the eval config is one too", async () => {
  const ran = await here("eval", "eval.toml", "--base-url", "http://127.0.0.1:9/v1", "--max-retries", "0", "-n", "1");
  expect(ran.stderr).toContain("PRL_INFERENCE_UNREACHABLE");
  expect(ran.code).toBe(1);
});

test("a folder that is not empty and an invalid name are refused", async () => {
  const again = await prl(["env", "init", "loud"], { cwd: place.dir, cache: place.cache });
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("is not empty")]);
  for (const name of ["Loud", "../loud", "a/b/c", "loud@1.0.0", "-x"]) {
    const refused = await prl(["env", "init", "--", name], { cwd: place.dir, cache: place.cache });
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("is not a valid name")]);
  }
});

test("installed by folder or archive, its id works everywhere, and the run's record has its version", async () => {
  const project = join(place.dir, "project");
  await mkdir(project);
  await writeFile(join(project, "package.json"), '{"name": "project", "version": "1.0.0", "private": true}');
  const there = (...args: string[]) => prl(args, { cwd: project, cache: place.cache, env: OFFLINE });

  const linked = await there("env", "install", "../loud", "--json");
  expect([linked.code, linked.code === 0 ? "" : linked.stderr]).toEqual([0, ""]);
  expect(JSON.parse(linked.stdout)).toMatchObject({
    installed: [{ name: "loud", version: "0.1.0", origin: { kind: "package", name: "@owner/loud" } }],
  });
  const needy = join(place.dir, "needy");
  await mkdir(needy);
  const prlKeys = { environment: "./index.js", needs: { secrets: ["EXAMPLE_KEY"] } };
  const manifest = { name: "@owner/needy", version: "1.0.0", type: "module", prl: prlKeys };
  await writeFile(join(needy, "package.json"), JSON.stringify(manifest));
  await writeFile(join(needy, "index.js"), "export default {};");
  const unanswered = await there("env", "install", "../needy");
  expect([unanswered.code, unanswered.stderr]).toEqual([2, expect.stringContaining("EXAMPLE_KEY")]);
  expect(await there("env", "install", "../needy", "--yes")).toMatchObject({ code: 0 });
  await promisify(execFile)("npm", ["pack", "--ignore-scripts", "--pack-destination", project], { cwd: dir });
  const packed = await there("env", "install", "owner-loud-0.1.0.tgz");
  expect([packed.code, packed.stdout]).toEqual([0, expect.stringContaining("package @owner/loud 0.1.0 in ")]);

  const evaluation = [
    "eval",
    "owner/loud@0.1.0",
    "-m",
    "m",
    "-b",
    "http://127.0.0.1:9/v1",
    "--max-retries",
    "0",
    "-n1",
  ];
  await there(...evaluation, "--run.name", "a");
  expect(await readJson(join(project, "outputs/a/configs/environments.json"))).toMatchObject([
    {
      source: "owner--loud@0.1.0",
      name: "loud",
      version: "0.1.0",
      origin: {
        kind: "package",
        name: "@owner/loud",
        version: "0.1.0",
        dir: join(await realpath(project), "node_modules/@owner/loud"),
      },
    },
  ]);

  const source = JSON.stringify([{ env: { id: "owner/loud" } }]);
  const small = ["--max-steps", "1", "--warm-start", "None", "--orchestrator.eval", "None", "--run.name", "b"];
  const trained = await there("rl", "../loud/rl.toml", "--orchestrator.train.source", source, ...small);
  expect([trained.code, trained.code === 0 ? "" : trained.stderr]).toEqual([0, ""]);
  expect(await readJson(join(project, "outputs/b/configs/environments.json"))).toMatchObject([
    { source: "train/owner--loud", origin: { kind: "package", name: "@owner/loud", version: "0.1.0" } },
  ]);

  const absent = await there("env", "install", "owner/absent");
  expect([absent.code, absent.stderr]).toEqual([1, expect.stringContaining("PRL_ENVIRONMENT_INSTALL")]);
  expect((await there("env", "install", "./nowhere")).stderr).toContain("there is no");
  expect((await there("env", "install")).code).toBe(2);

  const plain = join(place.dir, "plain");
  await mkdir(plain);
  await writeFile(join(plain, "package.json"), '{"name": "plain", "version": "1.0.0"}');
  const useless = await there("env", "install", "../plain");
  expect([useless.code, useless.stderr]).toEqual([2, expect.stringContaining("is of no environment")]);
  expect(JSON.stringify(await readJson(join(project, "package.json")))).not.toContain("plain");
});
