/** Signatures of a registry: a proxy before a hub signs its packages as npm's registry does, well or badly; npm's own pacote is the oracle. */
import { execFileSync } from "node:child_process";
import { createSign, generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { npm } from "../../../ts/environments/internal.ts";
import { environmentManifest, type Ran, testHub, type TestHub } from "../../support/hub/hub.ts";

/** What the proxy does with the packages that it passes on. */
type Way =
  | "signs"
  | "signs nothing"
  | "signs other bytes"
  | "signs with an unknown key"
  | "signs with an old key"
  | "signs no base64";

const OLD = "2020-01-01T00:00:00.000Z";
const key = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const spki = key.publicKey.export({ type: "spki", format: "der" }).toString("base64");

let hub: TestHub;
let proxy: Server;
let url: string;
let way: Way = "signs";
let attestations: object | undefined;
beforeAll(async () => {
  hub = await testHub();
  proxy = createServer((request, response) => void pass(request, response));
  await new Promise<void>((done) => void proxy.listen(0, "127.0.0.1", done));
  url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`;
  mkdirSync(join(hub.dir, "project"));
  writeFileSync(join(hub.dir, "project/package.json"), '{"name": "project", "version": "1.0.0", "private": true}');
  const login = await hub.prl("project", ["env", "login", "--registry", hub.url, "--user", "ada"], "secret12\n");
  expect([login.code, login.stderr]).toEqual([0, ""]);
  const publish = async (manifest: Record<string, unknown>): Promise<void> => {
    const env = { ...hub.env, npm_config_cache: join(hub.dir, "publisher-cache") };
    await npm(["publish", "--access", "public"], { cwd: hub.write(String(manifest["name"]), manifest), env });
  };
  await publish({ name: "helper", version: "1.0.0" });
  await publish(environmentManifest("@ada/loud", "1.0.0", { dependencies: { helper: "1.0.0" } }));
  await publish(environmentManifest("@ada/quiet", "1.0.0", { dependencies: { alias: "npm:helper@1.0.0" } }));
});
afterAll(async () => {
  proxy.closeAllConnections();
  await new Promise((done) => proxy.close(done));
  await hub.close();
});

function registryKeys(): { keyid: string; key: string; expires: string | null }[] {
  return [
    { keyid: "SHA256:now", key: spki, expires: null },
    { keyid: "SHA256:old", key: spki, expires: OLD },
  ];
}

async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? "/";
  if (path === "/-/npm/v1/keys") {
    response.end(JSON.stringify({ keys: registryKeys() }));
    return;
  }
  const answer = await fetch(new URL(path, hub.url));
  const bytes = Buffer.from(await answer.arrayBuffer());
  const isJson = answer.headers.get("content-type")?.includes("json") === true;
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
  response.end(isJson ? JSON.stringify(signedRecord(JSON.parse(bytes.toString()) as Version)) : bytes);
}

interface Version {
  name: string;
  version?: string;
  versions?: Record<string, Version>;
  dist?: { integrity: string; tarball: string; signatures?: object[]; attestations?: object | undefined };
}

function signedRecord(record: Version): Version {
  for (const one of [record, ...Object.values(record.versions ?? {})]) {
    if (one.dist === undefined || one.version === undefined) continue;
    const { pathname } = new URL(one.dist.tarball);
    one.dist = { ...one.dist, tarball: new URL(pathname, url).href, attestations };
    if (way !== "signs nothing") one.dist.signatures = [signature(one.name, one.version, one.dist.integrity)];
  }
  return record;
}

function signature(name: string, version: string, integrity: string): { keyid: string; sig: string } {
  const text = `${name}@${version}:${way === "signs other bytes" ? "sha512-other" : integrity}`;
  const sig = createSign("SHA256").update(text).sign(key.privateKey, "base64");
  const keyid = { "signs with an unknown key": "SHA256:other", "signs with an old key": "SHA256:old" }[way as string];
  return { keyid: keyid ?? "SHA256:now", sig: way === "signs no base64" ? "?" : sig };
}

let round = 0;
const install = (...more: string[]): Promise<Ran> => installOf("ada/loud", ...more);
const installOf = (name: string, ...more: string[]): Promise<Ran> => {
  // npm keeps what it has read of a registry; each round begins without it.
  const cache = join(hub.dir, `cache-${round++}`);
  const project = `project-${round}`;
  mkdirSync(join(hub.dir, project));
  writeFileSync(join(hub.dir, project, "package.json"), '{"name": "project", "version": "1.0.0", "private": true}');
  return hub.prl(project, ["env", "install", name, "--json", ...more], "", {
    npm_config_cache: cache,
    npm_config_registry: url,
  });
};
const installed = (): boolean => existsSync(join(hub.dir, `project-${round}`, "node_modules"));

/** The code of npm's own verdict on a package; null: its signature holds, or there is none. */
async function npmsVerdict(name: string): Promise<string | null> {
  const root = execFileSync("npm", ["root", "--global"], { encoding: "utf8" }).trim();
  const pacote = createRequire(join(root, "npm/package.json"))("pacote") as {
    manifest(spec: string, options: object): Promise<unknown>;
  };
  const { host } = new URL(url);
  const keys = registryKeys().map((one) => ({
    ...one,
    pemkey: `-----BEGIN PUBLIC KEY-----\n${one.key}\n-----END PUBLIC KEY-----`,
  }));
  const options = {
    registry: url,
    verifySignatures: true,
    cache: join(hub.dir, `pacote-${round}`),
    [`//${host}/:_keys`]: keys,
  };
  return pacote.manifest(name, options).then(
    () => null,
    (error: unknown) => (error as { code: string }).code,
  );
}

test.each<[Way, string | null]>([
  ["signs other bytes", "EINTEGRITYSIGNATURE"],
  ["signs no base64", "EINTEGRITYSIGNATURE"],
  ["signs with an unknown key", "EMISSINGSIGNATUREKEY"],
  ["signs with an old key", "EEXPIREDSIGNATUREKEY"],
])("a registry that %s is refused, as npm refuses it (%s), and nothing is installed", async (chosen, verdict) => {
  way = chosen;
  const ran = await install();
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining("PRL_ENVIRONMENT_INTEGRITY")]);
  expect(installed()).toBe(false);
  // --unsigned is for missing signatures only.
  expect(await install("--unsigned")).toMatchObject({ code: 1 });
  expect(await npmsVerdict("@ada/loud@1.0.0")).toBe(verdict);
});

test("signatures that hold are counted, of dependencies too", async () => {
  way = "signs";
  const ran = await install();
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("2 packages are signed by their registry")]);
  expect(await npmsVerdict("@ada/loud@1.0.0")).toBeNull();
  expect(readdirSync(join(hub.dir, `project-${round}`, "node_modules"))).toContain("helper");
});

test("a dependency under an alias has the signature of its name in the registry", async () => {
  way = "signs";
  const ran = await installOf("ada/quiet");
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("2 packages are signed by their registry")]);
});

test("a missing signature is refused where the registry signs, unless it is accepted", async () => {
  way = "signs nothing";
  const ran = await install();
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringMatching(/has no signature[\s\S]*--unsigned/u)]);
  expect(installed()).toBe(false);
  expect(await install("--unsigned")).toMatchObject({ code: 0 });
});

test("a statement of provenance that cannot be checked is refused", async () => {
  way = "signs";
  attestations = {
    url: `${url}-/npm/v1/attestations/none`,
    provenance: { predicateType: "https://slsa.dev/provenance/v1" },
  };
  const ran = await install();
  attestations = undefined;
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringMatching(/the provenance of .*@ada\/loud@1\.0\.0/u)]);
  expect(installed()).toBe(false);
});
