/** What every built-in environment has: a README with its arguments, defaults that run, a check of its gold answers, tests, a place in `prl`. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Environment, loadEnvironment, OWN_SANDBOXES, validateEnvironment, z } from "prl-lm/environments";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { chatCompletion, mockEndpoint, type MockEndpoint } from "../../support/mock-endpoint.ts";
import { prl, readJson, readJsonLines, ROOT, workspace } from "../../support/prl.ts";

/** Arguments of those whose tasks are a dataset of the hub. */
const OFFLINE: Readonly<Record<string, object>> = { gsm8k: { data: "generated" } };
/** Of environments that run programs. */
const SANDBOXED_TASKS = 2;

const FOLDER = join(ROOT, "ts/environments/builtin");
const ids = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const tests = testFiles(join(ROOT, "tests"));

function testFiles(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    return entry.isDirectory()
      ? testFiles(path)
      : path.endsWith(".test.ts") && path !== import.meta.filename
        ? [path]
        : [];
  });
}

let place: Awaited<ReturnType<typeof workspace>>;
let endpoint: MockEndpoint;
beforeAll(async () => {
  place = await workspace();
  endpoint = await mockEndpoint(() => chatCompletion("I do not know."));
});
afterAll(async () => {
  await endpoint.close();
  await OWN_SANDBOXES.close();
  await place.remove();
});
const here = (...args: string[]) => prl(args, { cwd: place.dir, cache: place.cache, env: { HF_HUB_OFFLINE: "1" } });

test("every one is listed, and every listed one exists", async () => {
  const { stdout } = await here("env", "list", "--json");
  const { builtin } = JSON.parse(stdout) as { builtin: { id: string }[] };
  expect(builtin.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
});

describe.each(ids)("%s", (id) => {
  let environment: Environment;
  beforeAll(async () => {
    environment = await loadEnvironment(id);
  });

  test("has a README that names every argument, and every argument has a description", () => {
    const path = join(FOLDER, id, "README.md");
    expect(existsSync(path)).toBe(true);
    const readme = readFileSync(path, "utf8");
    expect(readme.startsWith(`# ${id}\n`)).toBe(true);
    expect(readme).toContain(`env = { id = "${id}"`);
    const { properties = {} } = z.toJSONSchema(environment.config, { io: "input", unrepresentable: "any" });
    const named = (key: string) => readme.includes(`\`${key}\``) || readme.includes("config.ts");
    expect(Object.keys(properties).filter((key) => !named(key))).toEqual([]);
    const described = (schema: unknown) => (schema as { description?: string }).description ?? "";
    expect(Object.keys(properties).filter((key) => described(properties[key]) === "")).toEqual([]);
  });

  test("is named in the README of the whole", () => {
    expect(readFileSync(join(ROOT, "README.md"), "utf8")).toContain(`\`${id}\``);
  });

  test("has its own tests", () => {
    expect(tests.some((path) => readFileSync(path, "utf8").includes(id))).toBe(true);
  });

  test("is valid with its defaults", async () => {
    expect(environment.validates).toBe(true);
    const tasks = environment.requires.sandbox === undefined ? 20 : SANDBOXED_TASKS;
    const { failures, passed } = await validateEnvironment(environment.configure(OFFLINE[id]), { tasks });
    expect(failures).toEqual([]);
    expect(passed).toEqual(expect.arrayContaining(["tasks", "gold", "deterministic", "rollouts"]));
  });
});

test("all of them run with prl eval, whatever the model says", async () => {
  const tables = ids.map(
    (id) => `[[eval]]\nenv = { id = "${id}"${id in OFFLINE ? ', args = { data = "generated" }' : ""} }\n`,
  );
  const top = `model = "m"\nbase_url = "${endpoint.url}/v1"\napi = "chat"\nnum_examples = 2\nrollouts = 2\n`;
  await writeFile(join(place.dir, "eval.toml"), top + tables.join(""));
  const ran = await here("eval", "eval.toml", "--run.name", "all");
  expect([ran.code, ran.code === 0 ? "" : ran.stderr]).toEqual([0, ""]);
  const dir = join(place.dir, "outputs/all");
  const episodes = await readJsonLines<{ env: { id: string }; errors: unknown[] }>(join(dir, "traces.jsonl"));
  expect(episodes.filter(({ errors }) => errors.length > 0)).toEqual([]);
  expect(new Set(episodes.map(({ env }) => env.id)).size).toBe(ids.length);
  const records = await readJson<{ source: string; origin: object }[]>(join(dir, "configs/environments.json"));
  expect(records.map(({ source, origin }) => [source, origin])).toEqual(ids.map((id) => [id, { kind: "builtin" }]));
});

test("all of them are accepted by prl rl", async () => {
  const sources = ids.map((id) => ({ env: { id, args: OFFLINE[id] ?? {} } }));
  const rl = ["rl", join(ROOT, "configs/reverse-text/rl.toml"), "--orchestrator.train.source", JSON.stringify(sources)];
  const ran = await here(...rl, "--orchestrator.eval", "None", "--warm-start", "None", "--dry-run", "--run.name", "rl");
  expect([ran.code, ran.code === 0 ? "" : ran.stderr]).toEqual([0, ""]);
});
