// A hub of environments on this machine: `prl env install` of one package into an empty project with an empty cache of npm, the whole
// command; and a search over 1,000 packages. Needs verdaccio.
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { logIn, searchHub, setNpmrc, startHub, tokenKey } from "../dist/environments/internal.js";
import { best, report } from "./measurement/report.mjs";

const PACKAGES = 1_000;
const AT_ONCE = 20;
const ROUNDS = 5;
const MAIN = join(import.meta.dirname, "..", "bundle/cli/main.js");
const dir = mkdtempSync(join(tmpdir(), "prl-hub-bench-"));
const hub = await startHub({
  storage: join(dir, "hub"),
  host: "127.0.0.1",
  port: 0,
  uplink: null,
  isPrivate: false,
  isOpen: true,
});
const token = await logIn({ registry: hub.url, user: "bench", password: "secret12" });
const npmrc = join(dir, "npmrc");
await setNpmrc(npmrc, { [tokenKey(hub.url)]: token, registry: hub.url });

const source = join(dir, "source");
mkdirSync(source);
writeFileSync(join(source, "index.js"), "export default 1;\n");
const manifest = (name) => ({
  name,
  version: "1.0.0",
  description: "one of a thousand",
  keywords: ["prl-environment"],
  type: "module",
  prl: { environment: "./index.js", api: 1 },
});

/** The archive of a package. */
function archiveOf(name) {
  writeFileSync(join(source, "package.json"), JSON.stringify(manifest(name)));
  const packed = execFileSync("npm", ["pack", "--json", "--ignore-scripts"], {
    cwd: source,
    encoding: "utf8",
    stdio: "pipe",
  });
  const [{ filename }] = JSON.parse(packed);
  return readFileSync(join(source, filename));
}

/** What `npm publish` sends. */
async function publish(name, archive) {
  const file = `${name}-1.0.0.tgz`;
  const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  const shasum = createHash("sha1").update(archive).digest("hex");
  const version = { ...manifest(name), dist: { integrity, shasum, tarball: `${hub.url}${name}/-/${file}` } };
  const body = {
    _id: name,
    name,
    "dist-tags": { latest: "1.0.0" },
    versions: { "1.0.0": version },
    _attachments: {
      [file]: { content_type: "application/octet-stream", data: archive.toString("base64"), length: archive.length },
    },
  };
  const response = await fetch(`${hub.url}${name}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`);
}

try {
  const archive = archiveOf("env-0");
  for (let i = 0; i < PACKAGES; i += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => publish(`env-${i + at}`, archive)));

  const found = await searchHub("env-7", { registry: hub.url, token });
  if (!found.some(({ name }) => name === "env-7")) throw new Error("the search does not find a package that is there");
  const search = await best(ROUNDS, () => searchHub("env-7", { registry: hub.url, token }));
  report({ name: "hub-search", unit: "ms (1,000 packages)", better: "lower", ours: 1000 * search });

  let round = 0;
  const install = await best(ROUNDS, async () => {
    const project = join(dir, `project-${round}`);
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{"name": "project", "version": "1.0.0", "private": true}');
    const env = { ...process.env, npm_config_userconfig: npmrc, npm_config_cache: join(dir, `cache-${round++}`) };
    // The hub answers from this process, so it must not wait for the command.
    const child = spawn(process.execPath, [MAIN, "env", "install", "env-0"], { cwd: project, env, stdio: "ignore" });
    const code = await new Promise((done) => child.once("close", done));
    if (code !== 0) throw new Error(`prl env install ended with ${code}`);
  });
  report({ name: "hub-install", unit: "s (whole command)", better: "lower", ours: install });
} finally {
  await hub.close();
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
