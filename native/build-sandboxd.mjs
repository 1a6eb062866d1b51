// Builds the sandbox daemon and puts it beside an addon: `native/` (what users run) or `target/addon-ci/` (the tests').
// Same profile and --target as the addon's build (`napi build` always passes one), so that what both need is compiled once.
//   node native/build-sandboxd.mjs [--release | --profile <name>] [--output-dir <dir>]
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { arch, platform } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const args = process.argv.slice(2);
const after = (flag) => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined);
const profile = after("--profile") ?? (args.includes("--release") ? "release" : "dev");
const outputDir = resolve(root, after("--output-dir") ?? "native");

if (platform() !== "linux") {
  console.log("prl: sandboxes need Linux; the sandbox daemon is not built");
  process.exit(0);
}
const host = /^host: (.*)$/m.exec(spawnSync("rustc", ["-vV"], { encoding: "utf8" }).stdout ?? "");
const target = host?.[1] ?? `${arch()}-unknown-linux-gnu`;
const build = ["build", "--package", "prl-sandboxd", "--target", target, "--profile", profile];
const { status } = spawnSync("cargo", build, { cwd: root, stdio: "inherit" });
if (status !== 0) process.exit(status ?? 1);

const targetDir = resolve(root, process.env.CARGO_TARGET_DIR ?? "target");
const built = join(targetDir, target, profile === "dev" ? "debug" : profile, "prl-sandboxd");
const place = join(outputDir, "prl-sandboxd");
if (!existsSync(place) || !readFileSync(place).equals(readFileSync(built))) {
  // A daemon that runs keeps its old file; writing into it would be "text file busy".
  mkdirSync(outputDir, { recursive: true });
  const fresh = `${place}.${process.pid}.tmp`;
  try {
    copyFileSync(built, fresh);
    chmodSync(fresh, 0o755);
    renameSync(fresh, place);
  } finally {
    rmSync(fresh, { force: true });
  }
}
