// Makes `bundle/` of what tsc compiled: the command `prl` with the packages that it needs, in few files. Node reads, resolves and compiles
// up to 800 modules for one process of a run otherwise, which is half of the processor time of its start.
//
// The other entries of the bundle are loaded by name while `prl` runs: threads, hooks, and what user code imports as `prl-lm/...`, which has
// to be the code that runs. Modules that several entries need are in `bundle/chunks` once. `bundle/` is as deep as `dist/`, so that paths
// from a module to the package's other files hold in both.
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { rolldown } from "rolldown";

const root = join(import.meta.dirname, "..");
const compiled = join(root, "dist");
const bundle = join(root, "bundle");

/** Packages that stay outside: optional ones, and one with a compiled part. */
const OUTSIDE = ["onnxruntime-node", "oxc-transform", "verdaccio"];

const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const entries = Object.values(exports)
  .filter((target) => typeof target !== "string")
  .map((target) => /^\.\/dist\/(.*)\.js$/u.exec(target.default)[1]);
const names = ["cli/main", ...scripts(), ...entries];
/** The folder of each package that is inside. */
const packages = new Set();

/** Gives a module of ours the URL that it would have as a separate file in `bundle/`; its text ends up in a file of `bundle/chunks`. */
const moduleUrl = {
  name: "module-url",
  transform(code, id) {
    const inside = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//u.exec(id);
    if (inside !== null) packages.add(inside[1]);
    if (!id.startsWith(compiled) || !code.includes("import.meta.url")) return null;
    const url = `new URL(${JSON.stringify(`../${relative(compiled, id)}`)}, import.meta.url).href`;
    return { code: code.replaceAll("import.meta.url", url), map: null };
  },
};

/**
 * The parts of undici that prl uses. Its index loads also fetch, WebSocket, caches and mocks, which is most of its size and 80 ms of the start
 * of each process. An import of another name fails the build.
 */
const PARTS = join(root, "ts", "undici-parts.js");
/** Loaded only where a proxy is named. */
const PROXY_PARTS = join(root, "ts", "undici-proxy-parts.js");
const PARTS_OF_UNDICI = new Map([
  [
    PARTS,
    `import api from "undici/lib/api/index.js";
import Dispatcher from "undici/lib/dispatcher/dispatcher.js";
Object.assign(Dispatcher.prototype, api);
export { Dispatcher };
export { default as Client } from "undici/lib/dispatcher/client.js";
export { default as buildConnector } from "undici/lib/core/connect.js";
`,
  ],
  [
    PROXY_PARTS,
    `import api from "undici/lib/api/index.js";
import Dispatcher from "undici/lib/dispatcher/dispatcher.js";
Object.assign(Dispatcher.prototype, api);
export { default as EnvHttpProxyAgent } from "undici/lib/dispatcher/env-http-proxy-agent.js";
`,
  ],
]);
const partOfUndici = {
  name: "part-of-undici",
  resolveId(id, importer) {
    if (id !== "undici") return null;
    const parts = importer === join(compiled, "proxied-fetch.js") ? PROXY_PARTS : PARTS;
    return { id: parts, moduleSideEffects: true };
  },
  load: (id) => PARTS_OF_UNDICI.get(id) ?? null,
};

rmSync(bundle, { recursive: true, force: true });
const build = await rolldown({
  cwd: root,
  input: Object.fromEntries(names.map((name) => [name, join(compiled, `${name}.js`)])),
  platform: "node",
  external: (id) => id.startsWith("#") || OUTSIDE.some((name) => id === name || id.startsWith(`${name}/`)),
  plugins: [partOfUndici, moduleUrl],
});
const { output } = await build.write({
  dir: bundle,
  format: "esm",
  chunkFileNames: "chunks/[name]-[hash].js",
  // Code and names stay as they are, because they are in stacks.
  comments: false,
});
for (const file of output) {
  const isDeep = dirname(file.fileName) !== "chunks";
  if (isDeep && file.type === "chunk" && file.code.includes("import.meta.url")) {
    throw new Error(`bundle/${file.fileName} has a module that needs its URL: it must be shared by two entries`);
  }
}
writeFileSync(join(bundle, "LICENSES.txt"), licences());
// npx makes a command executable only when it links it for the first time.
chmodSync(join(bundle, "cli", "main.js"), 0o755);

/** Scripts that a process of prl starts or loads by their path: the modules whose compiled file another module names beside itself. */
function scripts() {
  const modules = readdirSync(compiled, { recursive: true }).filter((path) => path.endsWith(".js"));
  return modules.flatMap((path) => {
    const code = readFileSync(join(compiled, path), "utf8");
    const beside = [...code.matchAll(/new URL\("\.\/([\w-]+)\.js", import\.meta\.url\)/gu)];
    return beside.map(([, name]) => join(dirname(path), name));
  });
}

/** The licence texts of the packages inside, as they ask for. */
function licences() {
  return [...packages]
    .toSorted((a, b) => a.localeCompare(b))
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const file = readdirSync(folder).find((entry) => /^licen[cs]e/iu.test(entry));
      const text = file === undefined ? "" : readFileSync(join(folder, file), "utf8");
      return `${name} ${version} (${license})\n\n${text}`;
    })
    .join(`\n${"-".repeat(80)}\n`);
}
