/** Environment packages: published in a hub on the loopback interface, installed from it, locked and used. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { logIn, npm, searchHub, startHub } from "../../../ts/environments/internal.ts";
import { environmentManifest, type Ran, testHub, type TestHub } from "../../support/hub/hub.ts";
import { chatCompletion, mockEndpoint } from "../../support/mock-endpoint.ts";
import { readJson } from "../../support/prl.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await testHub();
  mkdirSync(join(hub.dir, "project"));
  writeFileSync(join(hub.dir, "project/package.json"), '{"name": "project", "version": "1.0.0", "private": true}');
  const login = ["env", "login", "--registry", hub.url, "--user", "ada", "--owner", "ada"];
  expect(await hub.prl("project", login, "secret12\n")).toMatchObject({ code: 0 });
});
afterAll(() => hub.close());

const json = ({ stdout }: Ran): unknown => JSON.parse(stdout);
const succeeded = (ran: Ran): Ran => {
  expect([ran.code, ran.code === 0 ? "" : ran.stderr]).toEqual([0, ""]);
  return ran;
};

interface Lock {
  environments: Record<string, { version: string; integrity: string; content: string }>;
}

let integrity: string;

test("a package is pushed once, and found", async () => {
  hub.write("loud", environmentManifest("@ada/loud", "1.0.0", { description: "words in capital letters" }));
  ({ integrity } = json(succeeded(await hub.spawned("loud", ["env", "push", "--json", "--registry", hub.url]))) as {
    integrity: string;
  });
  expect(integrity).toMatch(/^sha512-/u);
  const again = npm(["publish"], { cwd: join(hub.dir, "loud"), env: hub.env });
  await expect(again).rejects.toMatchObject({
    code: "PRL_ENVIRONMENT_HUB",
    message: expect.stringContaining("has this version already"),
  });

  const search = await hub.prl("project", ["env", "search", "loud", "--registry", hub.url, "--json"]);
  expect(json(succeeded(search))).toEqual({
    found: [{ name: "@ada/loud", version: "1.0.0", description: "words in capital letters" }],
  });
  const info = await hub.prl("project", ["env", "info", "ada/loud", "--remote", "--json"]);
  expect(json(succeeded(info))).toMatchObject({ version: "1.0.0", versions: ["1.0.0"], integrity });
});

test("its page has the checks that were made when it was pushed, and a sample", async () => {
  const first = await fetch(hub.url);
  expect([first.status, first.url]).toEqual([200, `${hub.url}-/hub/index.html`]);
  expect(await first.text()).toContain("words in capital letters");
  const response = await fetch(`${hub.url}-/hub/environments/@ada/loud/index.html`);
  expect([response.status, response.headers.get("content-security-policy")]).toEqual([
    200,
    expect.stringContaining("default-src 'none'"),
  ]);
  const text = await response.text();
  expect(text).toMatch(/\d+ checks passed/u);
  expect(text).toMatch(/the gold reply, reward 1[\s\S]*say \w{8} loudly/u);
  expect((await fetch(`${hub.url}-/hub/environments/@ada/quiet/`)).status).toBe(404);
  // The author's own package.json has no report.
  expect(readFileSync(join(hub.dir, "loud/package.json"), "utf8")).not.toContain("report");
});

test("it is installed and locked", async () => {
  succeeded(await hub.prl("project", ["env", "install", "ada/loud@^1"]));
  const lockPath = join(hub.dir, "project/environments.lock");
  const { environments } = await readJson<Lock>(lockPath);
  expect(environments).toMatchObject({ "@ada/loud": { version: "1.0.0", integrity } });
  // npm's own lock file is the oracle of the integrity.
  const npms = await readJson<{ packages: Record<string, { integrity: string }> }>(
    join(hub.dir, "project/package-lock.json"),
  );
  expect(npms.packages["node_modules/@ada/loud"]?.integrity).toBe(environments["@ada/loud"]?.integrity);
});

test("an evaluation uses it, refuses it when its files were changed, and is not resumed with another version", async () => {
  const mock = await mockEndpoint(({ body }) => {
    const [message] = body["messages"] as { content: string }[];
    return chatCompletion((/say (\w+)/u.exec(message?.content ?? "")?.[1] ?? "").toUpperCase());
  });
  const evaluation = ["eval", "ada/loud", "-m", "m", "-b", mock.url, "-n", "3", "--json"];
  try {
    const ran = await hub.spawned("project", [...evaluation, "--run.name", "first"]);
    expect([ran.code, ran.code === 0 ? "" : ran.stderr]).toEqual([0, ""]);
    expect(JSON.parse(ran.stdout)).toMatchObject({ status: "completed", evaluations: [{ reward: { mean: 1 } }] });
    const recorded = await readJson<Lock>(join(hub.dir, "project/outputs/first/configs/environments.lock"));
    expect(recorded.environments["@ada/loud"]).toMatchObject({ version: "1.0.0", integrity });

    const file = join(hub.dir, "project/node_modules/@ada/loud/index.js");
    writeFileSync(file, `${readFileSync(file, "utf8")}// more\n`);
    const refused = await hub.spawned("project", [...evaluation, "--run.name", "second"]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("PRL_ENVIRONMENT_UNLOCKED")]);
    expect(refused.stderr).toContain("its files were changed");

    hub.write("loud", environmentManifest("@ada/loud", "1.0.1"));
    await npm(["publish"], { cwd: join(hub.dir, "loud"), env: hub.env });
    succeeded(await hub.prl("project", ["env", "install", "ada/loud"]));
    const resumed = await hub.spawned("project", [...evaluation, "--run.name", "first", "--resume"]);
    expect([resumed.code, resumed.stderr]).toEqual([2, expect.stringContaining("PRL_RUN_DRIFT")]);
    expect(resumed.stderr).toContain("version 1.0.1 instead of 1.0.0");
  } finally {
    await mock.close();
  }
});

test("packages of a scope are published, deprecated and changed by its accounts only", async () => {
  const publishers = new Map([
    ["@ada", ["ada"]],
    ["*", ["root"]],
  ]);
  const options = { storage: join(hub.dir, "scoped"), host: "127.0.0.1", port: 0, uplink: null };
  const scoped = await startHub({ ...options, isPrivate: false, isOpen: true, publishers });
  const as = async (user: string) => {
    const token = await logIn({ registry: scoped.url, user, password: "secret12" });
    const npmrc = join(hub.dir, `npmrc-${user}`);
    writeFileSync(npmrc, `${scoped.url.replace("http:", "")}:_authToken=${token}\n`);
    return { ...hub.env, npm_config_userconfig: npmrc, npm_config_registry: scoped.url };
  };
  const publish = async (user: string, name: string, version: string) => {
    const folder = hub.write(`scoped/${user}/${name}/${version}`, environmentManifest(name, version));
    await npm(["publish", "--access", "public"], { cwd: folder, env: await as(user) });
  };
  try {
    const refused = { code: "PRL_ENVIRONMENT_HUB", message: expect.stringContaining("no right") as unknown };
    await publish("ada", "@ada/first", "1.0.0");
    await expect(publish("bob", "@ada/first", "1.0.1")).rejects.toMatchObject(refused);
    await expect(publish("root", "@ada/second", "1.0.0")).rejects.toMatchObject(refused);
    await expect(publish("ada", "elsewhere", "1.0.0")).rejects.toMatchObject(refused);
    await publish("root", "elsewhere", "1.0.0");
    const deprecate = ["deprecate", "@ada/first@1.0.0", "scores blanks"];
    await expect(npm(deprecate, { cwd: hub.dir, env: await as("bob") })).rejects.toMatchObject(refused);
    const text = await (await fetch(new URL("@ada%2ffirst", scoped.url))).text();
    expect(Object.keys((JSON.parse(text) as { versions: object }).versions)).toEqual(["1.0.0"]);
    expect(text).not.toContain("scores blanks");
  } finally {
    await scoped.close();
  }
});

test("a private hub is searched with a token only", async () => {
  const options = { storage: join(hub.dir, "private"), host: "127.0.0.1", port: 0, uplink: null };
  const hidden = await startHub({ ...options, isPrivate: true, isOpen: true });
  try {
    const token = await logIn({ registry: hidden.url, user: "ada", password: "secret12" });
    const search = (given: string | null) => searchHub("loud", { registry: hidden.url, token: given });
    expect(await search(token)).toEqual([]);
    const refused = { code: "PRL_ENVIRONMENT_HUB", message: expect.stringContaining("wants a token") };
    await expect(search(null)).rejects.toMatchObject(refused);
    await expect(search("forged")).rejects.toMatchObject(refused);
    const pages = `${hidden.url}-/hub/index.html`;
    const asked = (authorization: string) => fetch(pages, { headers: { authorization } });
    expect((await fetch(pages)).headers.get("www-authenticate")).toContain("Basic");
    expect((await asked(`Basic ${btoa("ada:wrong")}`)).status).toBe(401);
    expect((await asked(`Basic ${btoa("ada:secret12")}`)).status).toBe(200);
    // A path that is no URL ends with an answer, and the hub goes on.
    expect((await fetch(`${hidden.url}/`)).status).toBeGreaterThanOrEqual(200);
    expect(await search(token)).toEqual([]);
  } finally {
    await hidden.close();
  }
});
