/** Newer versions, needs and bad packages of a hub: each is named, and nothing of a bad package stays. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { npm } from "../../../ts/environments/internal.ts";
import { environmentManifest, testHub, type TestHub } from "../../support/hub/hub.ts";
import { readJson } from "../../support/prl.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await testHub();
  mkdirSync(join(hub.dir, "project"));
  writeFileSync(join(hub.dir, "project/package.json"), '{"name": "project", "version": "1.0.0", "private": true}');
  const login = await hub.prl("project", ["env", "login", "--registry", hub.url, "--user", "ada"], "secret12\n");
  expect([login.code, login.stderr]).toEqual([0, ""]);
});
afterAll(() => hub.close());

/** Publishes as npm does, past the checks of `prl env push`. */
async function publish(manifest: Record<string, unknown>, files?: Record<string, string>): Promise<void> {
  const folder = `packages/${String(manifest["name"])}/${String(manifest["version"])}`;
  // npm keeps what it has published, and would install it from there.
  const env = { ...hub.env, npm_config_cache: join(hub.dir, "publisher-cache") };
  await npm(["publish", "--access", "public"], { cwd: hub.write(folder, manifest, files), env });
}

const install = (spec: string, input?: string) => hub.prl("project", ["env", "install", spec], input);
const refused = (text: string) => ({ code: 2, stderr: expect.stringContaining(text) });
const place = (name: string) => join(hub.dir, "project/node_modules", name);

test("an account has one password", async () => {
  const again = ["env", "login", "--registry", hub.url, "--user", "ada"];
  expect(await hub.prl("project", again, "secret12\n")).toMatchObject({ code: 0 });
  const wrong = await hub.prl("project", again, "secret13\n");
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("refuses the login of ada")]);
  expect(await hub.prl("project", again)).toMatchObject(refused("the input holds no password"));
});

test("newer versions are listed and installed, and a package can be copied, deprecated and removed", async () => {
  await publish(environmentManifest("@ada/loud", "1.0.0"));
  expect(await install("ada/loud@1.0.0")).toMatchObject({ code: 0 });
  await publish(environmentManifest("@ada/loud", "1.1.0"));
  const outdated = await hub.prl("project", ["env", "outdated", "--json"]);
  expect(JSON.parse(outdated.stdout)).toEqual({
    outdated: [{ name: "@ada/loud", current: "1.0.0", wanted: "1.1.0", latest: "1.1.0" }],
  });
  const updated = await hub.prl("project", ["env", "update", "--json"]);
  expect(JSON.parse(updated.stdout)).toEqual({ updated: [{ name: "@ada/loud", version: "1.1.0" }] });
  const lock = join(hub.dir, "project/environments.lock");
  expect(await readJson(lock)).toMatchObject({ environments: { "@ada/loud": { version: "1.1.0" } } });

  expect(await hub.prl("project", ["env", "pull", "ada/loud@1.0.0", "--dir", "copy"])).toMatchObject({ code: 0 });
  expect(await readJson(join(hub.dir, "project/copy/package.json"))).toMatchObject({ version: "1.0.0" });
  expect(await hub.prl("project", ["env", "pull", "ada/loud", "--dir", "copy"])).toMatchObject(refused("is not empty"));

  expect(await hub.prl("project", ["env", "deprecate", "ada/loud@1.0.0", "scores blanks"])).toMatchObject({ code: 0 });
  const info = await hub.prl("project", ["env", "info", "ada/loud@1.0.0", "--remote"]);
  expect(info.stdout).toContain("deprecated: scores blanks");

  expect(await hub.prl("project", ["env", "uninstall", "ada/loud"])).toMatchObject({ code: 0 });
  expect(await readJson(lock)).toEqual({ format: 1, environments: {} });
  const absent = await hub.prl("project", ["env", "uninstall", "ada/loud"]);
  expect(absent).toMatchObject(refused("is not installed"));
});

test("declared needs are shown, and the package is installed when they are accepted", async () => {
  const needs = { sandbox: "rootless", network: ["example.org"], secrets: ["EXAMPLE_KEY"], disk_mb: 200 };
  await publish(environmentManifest("@ada/needy", "1.0.0", { prl: { environment: "./index.js", needs } }));
  const unanswered = await install("ada/needy");
  expect(unanswered).toMatchObject(refused("nothing was installed"));
  for (const line of ["tier rootless or stronger", "example.org", "EXAMPLE_KEY", "200 MB"])
    expect(unanswered.stderr).toContain(line);
  expect(existsSync(place("@ada/needy"))).toBe(false);
  expect(await install("ada/needy", "y\n")).toMatchObject({ code: 0 });
  expect(existsSync(place("@ada/needy"))).toBe(true);
});

describe("an installation refuses", () => {
  test("a package that is no environment, and one that is not there", async () => {
    await publish({ name: "plain", version: "1.0.0" });
    expect(await install("plain")).toMatchObject(refused("is of no environment"));
    expect(existsSync(place("plain"))).toBe(false);
    expect(await install("ada/absent")).toMatchObject(refused("PRL_ENVIRONMENT_UNKNOWN"));
  });

  test("a package with a script, which does not run", async () => {
    const ran = join(hub.dir, "script-ran");
    const scripts = { postinstall: `touch ${ran}` };
    await publish(environmentManifest("@ada/scripted", "1.0.0", { scripts }));
    expect(await install("ada/scripted")).toMatchObject(refused('has the script "postinstall"'));
    expect([existsSync(ran), existsSync(place("@ada/scripted"))]).toEqual([false, false]);
  });

  test("environments that build on each other in a circle", async () => {
    await publish(environmentManifest("@ada/first", "1.0.0", { dependencies: { "@ada/second": "1.0.0" } }));
    await publish(environmentManifest("@ada/second", "1.0.0", { dependencies: { "@ada/first": "1.0.0" } }));
    expect(await install("ada/first")).toMatchObject(refused("@ada/first → @ada/second → @ada/first"));
  });

  test("an archive that was changed in the hub", async () => {
    await publish(environmentManifest("@ada/changed", "1.0.0"));
    const archive = join(hub.storage, "packages/@ada/changed/changed-1.0.0.tgz");
    expect(readFileSync(archive).length).toBeGreaterThan(0);
    writeFileSync(archive, gzipSync("other bytes"));
    const ran = await install("ada/changed");
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining("PRL_ENVIRONMENT_INTEGRITY")]);
    expect(ran.stderr).toContain("EINTEGRITY");
    expect(existsSync(place("@ada/changed"))).toBe(false);
  });
});
