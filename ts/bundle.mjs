// Makes `bundle/` of what tsc compiled: the command `prl` with the packages that it needs, in few files. Node reads, resolves and compiles
// up to 800 modules for one process of a run otherwise, which is half of the processor time of its start.
//
// The other entries of the bundle are loaded by name while `prl` runs: threads, hooks, and what user code imports as `prl-lm/...`, which has
// to be the code that runs. Modules that several entries need are in `bundle/chunks` once. `bundle/` is as deep as `dist/`, so that paths
// from a module to the package's other files hold in both.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { rolldown } from "rolldown";

const root = join(import.meta.dirname, "..");
const compiled = join(root, "dist");
const bundle = join(root, "bundle");

/** Scripts that a process of prl starts or loads by its path. */
const SCRIPTS = [
  "cli/main",
  "cli/chaos/inside/hook",
  "config/user-module-hooks",
  "trainer/rl/loss-worker",
  "verify/match/worker",
  "verify/math/worker",
  "verify/scorers/worker",
];
/** Packages that stay outside: optional ones, and one with a compiled part. */
const OUTSIDE = ["onnxruntime-node", "oxc-transform", "verdaccio"];

const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const entries = Object.values(exports)
  .filter((target) => typeof target !== "string")
  .map((target) => /^\.\/dist\/(.*)\.js$/u.exec(target.default)[1]);
const names = [...SCRIPTS, ...entries];
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

rmSync(bundle, { recursive: true, force: true });
const build = await rolldown({
  cwd: root,
  input: Object.fromEntries(names.map((name) => [name, join(compiled, `${name}.js`)])),
  platform: "node",
  external: (id) => id.startsWith("#") || OUTSIDE.some((name) => id === name || id.startsWith(`${name}/`)),
  plugins: [moduleUrl],
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
