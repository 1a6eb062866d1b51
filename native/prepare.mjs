// Runs on `npm install` in a checkout and for git dependencies. An installed tarball holds what its checkout built: nothing to do there.
// Plain JavaScript without dependencies: it must be able to say what is missing when nothing else is there.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const run = (command, args) => spawnSync(command, args, { cwd: root, stdio: "inherit" }).status ?? 1;

// `npx prl` in a checkout links it into npx's own cache and runs this again: `npm install` has done the work.
if (process.env.npm_command === "exec" && existsSync(join(root, "bundle", "cli", "main.js"))) process.exit(0);

if (!existsSync(join(root, "native", "Cargo.toml"))) process.exit(0);

const tsc = join(root, "node_modules", ".bin", "tsc");

if (!existsSync(tsc)) {
  console.log("prl: development dependencies are not installed, nothing built (run `npm install` without --omit=dev)");
  process.exit(0);
}
const compiled = run(tsc, ["-p", root]) || run(process.execPath, [join(root, "ts", "bundle.mjs")]);
if (compiled !== 0) process.exit(compiled);
if (process.env.PRL_SKIP_NATIVE === "1") process.exit(0);

if (spawnSync("cargo", ["--version"], { stdio: "ignore" }).status !== 0) {
  console.log(
    "prl: Rust is missing (cargo not found): install Rust 1.95 or newer, then run `npm run build:native -- --release`",
  );
  process.exit(0);
}
// Always: cargo decides what is stale; a build with nothing to do takes seconds.
process.exit(run(process.execPath, [join(root, "native", "build.mjs"), "--release"]));
