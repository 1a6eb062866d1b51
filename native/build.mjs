// Builds the native addon and, on Linux, the sandbox daemon, and puts both into one folder: `native/` (for users) or `target/addon-ci/` (for tests).
// One call of cargo builds both, because crates that both need are then compiled once, with the union of the features.
//   node native/build.mjs [--release | --profile <name>] [--output-dir <dir>]
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { arch, cpus, platform } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const args = process.argv.slice(2);
const after = (flag) => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined);
const profile = after("--profile") ?? (args.includes("--release") ? "release" : "dev");
const outputDir = after("--output-dir") ?? "native";
const hasSandboxes = platform() === "linux";
const napi = `build --platform --esm --manifest-path native/Cargo.toml --js index.js --dts index.d.ts`;

const targetDir = resolve(root, process.env.CARGO_TARGET_DIR ?? "target");
const host = /^host: (.*)$/m.exec(spawnSync("rustc", ["-vV"], { encoding: "utf8" }).stdout ?? "");
const target = host?.[1] ?? `${arch()}-unknown-linux-gnu`;
const programs = join(targetDir, target, profile === "dev" ? "debug" : profile);

const what = hasSandboxes ? "the native addon and the sandbox daemon" : "the native addon (sandboxes need Linux)";
const duration = existsSync(programs)
  ? ""
  : `; on ${cpus().length} cores the first time takes some ${minutes()} minutes`;
console.log(`prl: cargo builds ${what}, profile ${profile}${duration}`);
const startedAt = Date.now();
const profileArgs = profile === "dev" ? [] : ["--profile", profile];
const packages = hasSandboxes ? ["--", "--package", "prl-native", "--package", "prl-sandboxd"] : [];
// The Rust tests need tokio with this feature: without it here, tokio and what is built on it would be compiled twice.
if (hasSandboxes && profile === "ci") packages.push("--features", "prl-sandboxd/test-clock");
const { status } = spawnSync(
  join(root, "node_modules", ".bin", "napi"),
  [...napi.split(" "), "--output-dir", outputDir, ...profileArgs, ...packages],
  { cwd: root, stdio: "inherit" },
);
if (status !== 0) process.exit(status ?? 1);
if (hasSandboxes) placeDaemon(join(programs, "prl-sandboxd"), join(resolve(root, outputDir), "prl-sandboxd"));
console.log(`prl: built in ${Math.round((Date.now() - startedAt) / 1000)} s`);

/** An estimate: the profile `ci` took six minutes on two cores; the release profile compiles the same crates without their assertions. */
function minutes() {
  return Math.max(2, Math.ceil(12 / cpus().length));
}

function placeDaemon(built, place) {
  if (existsSync(place) && readFileSync(place).equals(readFileSync(built))) return;
  // A daemon that runs keeps its old file; writing into it would be "text file busy".
  mkdirSync(dirname(place), { recursive: true });
  const fresh = `${place}.${process.pid}.tmp`;
  try {
    copyFileSync(built, fresh);
    chmodSync(fresh, 0o755);
    renameSync(fresh, place);
  } finally {
    rmSync(fresh, { force: true });
  }
}
