/** The catalogue's list and the hub, as the built command shows them: what stands in help is run, and its output is read. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { CATALOGUE_CATEGORIES, catalogueRows, idOf, logIn } from "../../../ts/environments/internal.ts";
import { environmentManifest, MODULE } from "../../support/hub/hub.ts";
import { prl, type Running, start, workspace } from "../../support/prl.ts";

const START_MS = 60_000;

let place: Awaited<ReturnType<typeof workspace>>;
beforeAll(async () => void (place = await workspace()));
afterAll(() => place.remove());

const run = (args: string[], env: Record<string, string> = {}) =>
  prl(args, { cwd: place.dir, cache: place.cache, env });

describe("prl env list --catalogue", () => {
  test("names every task once with what it asks, by families, and counts them", async () => {
    const { code, stdout, stderr } = await run(["env", "list", "--catalogue"]);
    expect([code, stderr]).toEqual([0, ""]);
    const rows = await catalogueRows();
    const listed = [...stdout.matchAll(/^ {2}(\S+) +(\S.*)$/gmu)].map(([, id, asks]) => `${id}: ${asks}`);
    expect(listed).toEqual(rows.map((placed) => `${idOf(placed)}: ${placed.row.asks}`));
    for (const { category, family } of rows) expect(stdout).toContain(`\n${category}: ${family}\n`.trimStart());
    const mixtures = [...CATALOGUE_CATEGORIES, "all"].map((name) => `catalogue/${name}`).join(", ");
    expect(stdout.trimEnd().split("\n").at(-1)).toBe(`${rows.length} tasks; mixtures: ${mixtures}`);
  });

  test("shows one category with the size of its tasks at a difficulty, also as JSON", async () => {
    const asked = ["env", "list", "--catalogue", "--category", "logic", "--difficulty", "3"];
    const [text, json] = [await run(asked), await run([...asked, "--json"])];
    const { categories, tasks } = JSON.parse(json.stdout) as {
      categories: string[];
      tasks: { id: string; category: string; size: { level: number; characters: number; steps: number } }[];
    };
    expect(categories).toEqual(["logic"]);
    expect(tasks.map(({ id }) => id)).toEqual((await catalogueRows(["logic"])).map(idOf));
    for (const { id, size } of tasks) {
      expect(size.level).toBe(3);
      expect(text.stdout).toMatch(
        new RegExp(`^  ${id} .*\\(${size.characters} characters, ${size.steps} steps\\)$`, "mu"),
      );
    }
  });

  test.each([
    [["--category", "logik"], "logic"],
    [["--difficulty", "6"], "--difficulty"],
    [["logic"], "takes no arguments"],
  ])("%j is refused", async (more, text) => {
    const { code, stdout, stderr } = await run(["env", "list", "--catalogue", ...more]);
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining(text)]);
  });
});

describe("prl hub", () => {
  let served: Running;
  let url: string;
  beforeAll(async () => {
    served = start(["hub", "serve", "--storage", "hub", "--port", "0", "--json"], {
      cwd: place.dir,
      cache: place.cache,
    });
    let said = "";
    served.child.stdout?.on("data", (chunk) => (said += String(chunk)));
    const end = Date.now() + START_MS;
    while (!said.includes("}") && Date.now() < end) await pause(50);
    const document = JSON.parse(said) as { url: string; storage: string };
    expect(document.storage).toBe(join(place.dir, "hub"));
    ({ url } = document);
  });
  afterAll(async () => {
    served.child.kill("SIGTERM");
    await served.finished;
  });

  test("a package that is pushed to a served hub is on its page, and the export is the same page", async () => {
    const token = await logIn({ registry: url, user: "ada", password: "secret12" });
    const npmrc = join(place.dir, "npmrc");
    writeFileSync(npmrc, `${url.replace("http:", "")}:_authToken=${token}\n`, { mode: 0o600 });
    const folder = join(place.dir, "loud");
    mkdirSync(folder);
    const manifest = environmentManifest("@ada/loud", "1.0.0", { type: "module", description: "words in capitals" });
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    writeFileSync(join(folder, "index.js"), MODULE);
    const env = { npm_config_userconfig: npmrc, npm_config_cache: join(place.dir, "npm") };
    const pushed = await run(["env", "push", "loud", "--registry", url], env);
    expect([pushed.code, pushed.code === 0 ? "" : pushed.stderr]).toEqual([0, ""]);

    const exported = await run(["hub", "export", "site", "--storage", "hub", "--url", url]);
    const files = readdirSync(join(place.dir, "site"), { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".html"),
    );
    expect([exported.code, exported.stdout]).toEqual([
      0,
      `${files.length} pages; the first is ${join(place.dir, "site/index.html")}\n`,
    ]);
    for (const file of ["index.html", "environments/@ada/loud/index.html", "tasks/agentic/index.html"]) {
      const response = await fetch(new URL(`-/hub/${file}`, url));
      expect(response.status).toBe(200);
      expect(await response.text()).toBe(readFileSync(join(place.dir, "site", file), "utf8"));
    }
    const page = readFileSync(join(place.dir, "site/environments/@ada/loud/index.html"), "utf8");
    expect(page).toContain(`prl env install ada/loud@1.0.0 --registry ${url}`);
    expect(readFileSync(join(place.dir, "site/index.html"), "utf8")).toContain("words in capitals");
  });

  test("a second hub on the same port says which one is taken", async () => {
    const { port } = new URL(url);
    const { code, stderr } = await run(["hub", "serve", "--storage", "other", "--port", port]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`cannot listen on 127.0.0.1:${port}`)]);
  });

  test.each([
    [["hub", "export", "site", "--storage", "nowhere"], "there is no hub in"],
    [["hub", "export", "site", "--storage", "hub", "--private"], "--private is not for this form"],
    [["hub", "serve", "--url", "http://hub.example.org/"], "--url is not for this form"],
    [["hub", "serve", "--storage", "nowhere", "--publish", "@ada"], 'got "@ada"'],
    [["hub", "serve", "--storage", "nowhere", "--publish", "@ada=$all"], 'got "@ada=$all"'],
    [["hub", "serve", "--storage", "nowhere", "--publish", "*=a,*=b"], "names * twice"],
    [["hub"], "expected serve, or export and one folder"],
  ])("%j is refused, and nothing is written", async (args, text) => {
    const before = readdirSync(place.dir);
    const { code, stderr } = await run(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
    expect([readdirSync(place.dir), existsSync(join(place.dir, "nowhere"))]).toEqual([before, false]);
  });

  test("a signal ends it after its connections, with the signal's exit code", async () => {
    const one = start(["hub", "serve", "--storage", "short", "--port", "0"], { cwd: place.dir, cache: place.cache });
    const said = new Promise<string>((done) => one.child.stdout?.once("data", (chunk) => done(String(chunk))));
    const line = await said;
    const [, at = ""] = /^The hub is at (\S+), its packages in (?:\S+)\n$/u.exec(line) ?? [];
    expect((await fetch(new URL("-/ping", at))).status).toBe(200);
    one.child.kill("SIGINT");
    expect(await one.finished).toMatchObject({ code: 130, signal: null, stderr: "" });
    await expect(fetch(new URL("-/ping", at))).rejects.toThrow("fetch failed");
  });
});
