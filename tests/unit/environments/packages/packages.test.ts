/** Checks of environment packages that need no hub, and the hub's own settings. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import {
  checkPackage,
  contentDigest,
  logIn,
  packageNeeds,
  setNpmrc,
  startHub,
  tokenFor,
  tokenKey,
} from "../../../../ts/environments/internal.ts";

import { fetchedPackages } from "../../../../ts/environments/packages/installed-tree.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "prl-packages-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

function write(manifest: Record<string, unknown>, folder = "."): string {
  const place = join(dir, folder);
  mkdirSync(place, { recursive: true });
  const whole = { name: "my-env", version: "1.0.0", prl: { environment: "./index.js" }, ...manifest };
  writeFileSync(join(place, "package.json"), JSON.stringify(whole));
  writeFileSync(join(place, "index.js"), "throw new Error('a check imports nothing');");
  return place;
}

const invalid = (text: string) =>
  expect.objectContaining({ code: "PRL_ENVIRONMENT_INVALID", message: expect.stringContaining(text) });

describe("a package is refused that", () => {
  test("is none of an environment, or has no built module", () => {
    expect(() => checkPackage(write({ prl: {} }))).toThrow(invalid("is of no environment"));
    expect(() => checkPackage(write({ prl: { environment: "./absent.js" } }))).toThrow(invalid("absent.js"));
  });

  test.each([2, "1", 0, null])("is written for version %j of the API", (api) => {
    const check = (): void => checkPackage(write({ prl: { environment: "./index.js", api } }));
    if (api === null) expect(check).not.toThrow();
    else expect(check).toThrow(invalid(`version ${JSON.stringify(api)} of the environments API`));
  });

  test.each(["preinstall", "install", "postinstall"])("has the script %s", (script) => {
    expect(() => checkPackage(write({ scripts: { build: "tsc", [script]: "true" } }))).toThrow(invalid(script));
  });

  test("has binding.gyp, for which npm runs node-gyp", () => {
    writeFileSync(join(write({}), "binding.gyp"), "{}");
    expect(() => checkPackage(dir)).toThrow(invalid("binding.gyp"));
    expect(() => checkPackage(write({ gypfile: false }))).not.toThrow();
  });

  test.each(["sudoku", "@math/mine", "@catalogue/logic"])("hides or is hidden by prl's own: %s", (name) => {
    expect(() => checkPackage(write({ name }))).toThrow(invalid(name));
  });

  test("declares needs that do not exist", () => {
    const prl = (needs: unknown) => ({ environment: "./index.js", needs });
    expect(() => checkPackage(write({ prl: prl({ root: true }) }))).toThrow(invalid("prl.needs"));
    expect(() => checkPackage(write({ prl: prl({ sandbox: "weak" }) }))).toThrow(invalid("prl.needs.sandbox"));
    expect(packageNeeds({ prl: prl({ disk_mb: 5 }) })).toEqual({ disk_mb: 5 });
  });

  test("builds on itself, directly or by another", () => {
    expect(() => checkPackage(write({ dependencies: { "my-env": "*" } }))).toThrow(invalid("my-env → my-env"));
    const home = write({ dependencies: { middle: "*" } });
    write({ name: "middle", dependencies: { last: "*" } }, "node_modules/middle");
    write({ name: "last", peerDependencies: { "my-env": "*" } }, "node_modules/last");
    expect(() => checkPackage(home)).toThrow(invalid("my-env → middle → last → my-env"));
  });
});

test("a package with other scripts and dependencies passes", () => {
  const home = write({ scripts: { build: "tsc", prepack: "tsc" }, dependencies: { plain: "*", other: "*" } });
  write({ name: "plain", prl: undefined, dependencies: { "my-env": "*" } }, "node_modules/plain");
  write({ name: "other" }, "node_modules/other");
  expect(() => checkPackage(home)).not.toThrow();
});

test("the digest of a package is of the paths and bytes of its files, without what npm puts into it", async () => {
  const home = write({}, "package");
  const first = await contentDigest(home);
  mkdirSync(join(home, "node_modules/words"), { recursive: true });
  writeFileSync(join(home, "node_modules/words/index.js"), "");
  symlinkSync("index.js", join(home, "link.js"));
  expect(await contentDigest(home)).toBe(first);
  writeFileSync(join(home, "data.txt"), "");
  const more = await contentDigest(home);
  expect(more).not.toBe(first);
  rmSync(join(home, "data.txt"));
  expect(await contentDigest(home)).toBe(first);
});

test("tokens go into npm's settings, beside what is there, for their owner only", async () => {
  const path = join(dir, "npmrc");
  const registry = "http://127.0.0.1:4873/";
  writeFileSync(path, `registry=https://example.org/\n${tokenKey(registry)}=old\n`);
  await setNpmrc(path, { [tokenKey(registry)]: "new", "@ada:registry": registry });
  expect(readFileSync(path, "utf8")).toBe(
    "registry=https://example.org/\n//127.0.0.1:4873/:_authToken=new\n@ada:registry=http://127.0.0.1:4873/\n",
  );
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(await tokenFor("http://127.0.0.1:4873", { npm_config_userconfig: path })).toBe("new");
  expect(await tokenFor("http://127.0.0.1:4874", { npm_config_userconfig: path })).toBeNull();
});

test("no other user may read the tokens at any time", async () => {
  const path = join(dir, "npmrc");
  const seen = new Set<number>();
  const file = { isWritten: false };
  const writing = setNpmrc(path, { a: "secret" }).finally(() => (file.isWritten = true));
  while (!file.isWritten) {
    if (existsSync(path)) seen.add(statSync(path).mode & 0o777);
    await new Promise((done) => setImmediate(done));
  }
  await writing;
  expect([...seen, statSync(path).mode & 0o777].every((mode) => mode === 0o600)).toBe(true);
});

test("a package has the name of its registry where one asks for it by an alias, else that of its folder", async () => {
  const resolved = "https://example.org/real/-/real-1.0.0.tgz";
  const entry = { name: "real", version: "1.0.0", integrity: "sha512-x", resolved };
  const packages = { "node_modules/alias": entry, "node_modules/other": entry };
  write({ name: "project", dependencies: { alias: "npm:real@^1.0.0", other: "^1.0.0" } });
  for (const place of Object.keys(packages)) write({ name: "real" }, place);
  // What a registry says of its packages is no request.
  const all = { ...packages, "node_modules/third": { version: "1.0.0", dependencies: { other: "npm:real@1.0.0" } } };
  write({ name: "third", dependencies: { other: "1.0.0" } }, "node_modules/third");
  writeFileSync(join(dir, "node_modules/.package-lock.json"), JSON.stringify({ packages: all }));
  expect((await fetchedPackages(dir)).map(({ name }) => name)).toEqual(["real", "other"]);
});

test("a hub that sends a login elsewhere gets none: the password stands in its body", async () => {
  const bodies: string[] = [];
  const listening = async (answer: RequestListener) => {
    const server = createServer(answer);
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
  };
  const other = await listening((request, response) => {
    request.on("data", (piece: Buffer) => bodies.push(piece.toString()));
    request.on("end", () => response.end('{"token": "t"}'));
  });
  const hub = await listening((_, response) => response.writeHead(307, { location: other.url }).end());
  const login = logIn({ registry: hub.url, user: "ada", password: "secret12" });
  await expect(login).rejects.toMatchObject({ code: "PRL_ENVIRONMENT_HUB" });
  expect(bodies).toEqual([]);
  for (const { server } of [hub, other]) server.closeAllConnections();
  await Promise.all([hub, other].map(({ server }) => new Promise((done) => server.close(done))));
});

test("a hub without verdaccio says which command installs it", async () => {
  const options = { storage: dir, host: "127.0.0.1", port: 0, uplink: null, isPrivate: false, isOpen: true };
  await expect(startHub(options, "verdaccio-is-absent")).rejects.toMatchObject({
    code: "PRL_ENVIRONMENT_HUB",
    message: expect.stringContaining("npm install verdaccio@6"),
  });
});
