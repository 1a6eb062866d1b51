// `npm test`: builds the test addon and sandbox daemon (profile `ci`, in target/addon-ci, never over those in native/), then runs every
// check and both test runners, and ends with one line that sums them: `N passed, N failed`. Stops early only when one of them does not
// build.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { arch, platform } from "node:os";
import { join, relative } from "node:path";

const root = join(import.meta.dirname, "..");
const only = new Set(process.argv.slice(2));
const wanted = (part) => only.size === 0 || only.has(part);
const addonDir = join("target", "addon-ci");
const vitestReport = join(root, "target", "vitest.json");
const bin = (name) => join(root, "node_modules", ".bin", name);
const env = { ...process.env, FORCE_COLOR: process.stdout.isTTY ? "1" : "0" };
const failures = [];
/** More broken files than these are no matter of load. */
const RUN_AGAIN_AT_MOST = 6;
let passed = 0;
let failed = 0;

function run(name, command, args, options = {}) {
  const startedAt = Date.now();
  console.log(`\n== ${name}`);
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      env,
      stdio: ["ignore", options.capture ? "pipe" : "inherit", options.capture ? "pipe" : "inherit"],
    });
    let output = "";
    for (const [from, to] of [
      [child.stdout, process.stdout],
      [child.stderr, process.stderr],
    ]) {
      from?.on("data", (chunk) => {
        output += chunk;
        to.write(chunk);
      });
    }
    child.on("error", (error) => resolve({ code: 127, output: String(error) }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  }).then((result) => {
    console.log(
      `== ${name}: ${result.code === 0 ? "ok" : `FAILED (exit ${result.code})`}, ${((Date.now() - startedAt) / 1000).toFixed(1)} s`,
    );
    if (result.code !== 0) failures.push(name);
    return result;
  });
}

function finish() {
  if (failures.length > 0) console.log(`\nfailed: ${failures.join(", ")}`);
  // A check that is no test runner (a build, a lint, a drift check) counts as one failed test, so that the sum cannot hide it.
  const runners = new Set(["rust tests", "typescript tests", "typescript tests that failed, alone"]);
  const others = failures.filter((name) => !runners.has(name) || failed === 0).length;
  console.log(`\n${passed} passed, ${failed + others} failed`);
  process.exit(failures.length === 0 && failed === 0 ? 0 : 1);
}

function rustTarget() {
  const host = /^host: (.*)$/m.exec(spawnSync("rustc", ["-vV"], { encoding: "utf8" }).stdout ?? "");
  return host?.[1] ?? `${arch()}-${platform()}`;
}

const ci = ["--profile", "ci"];
const native = ["native/build.mjs", ...ci, "--output-dir", addonDir];
if ((await run("test addon and sandbox daemon", process.execPath, native)).code !== 0) finish();
env.PRL_NATIVE_ADDON = join(root, addonDir, "index.js");

for (const file of ["index.js", "index.d.ts"]) {
  if (readFileSync(join(root, addonDir, file), "utf8") !== readFileSync(join(root, "native", file), "utf8")) {
    console.log(`native/${file} is not what the Rust sources generate: run \`npm run build:native\` and commit it`);
    failures.push(`drift of native/${file}`);
  }
}

if (wanted("rust")) {
  // The daemon that the Rust tests start has a switch for each of its defences, so that they can prove them.
  const target = ["--target", rustTarget(), "--features", "prl-sandboxd/switch-off"];
  const nextest = spawnSync("cargo", ["nextest", "--version"], { stdio: "ignore" }).status === 0;
  const rust = nextest
    ? await run(
        "rust tests",
        "cargo",
        ["nextest", "run", "--workspace", "--cargo-profile", "ci", ...target, "--no-fail-fast"],
        { capture: true },
      )
    : await run("rust tests", "cargo", ["test", "--workspace", ...ci, ...target, "--no-fail-fast"], { capture: true });
  // nextest repeats what a failed test printed, so that only its own line counts.
  const summaries = rust.output.match(nextest ? /^\s*Summary .*$/gm : /^test result: .*$/gm) ?? [];
  for (const [, count, what] of summaries.join("\n").matchAll(/(\d+) (passed|failed|timed out)/g)) {
    if (what === "passed") passed += Number(count);
    else failed += Number(count);
  }
}

const testFolders = ["unit", "integration", "e2e", "chaos"].filter((part) => only.has(part));
const runsTypeScript = wanted("typescript") || testFolders.length > 0;
// The TypeScript tests run what this compiles. When tsc fails, part of dist may be old: the tests then run the sources.
if (wanted("checks") || runsTypeScript) {
  const compiled = await run("tsc", bin("tsc"), ["-p", "."]);
  // The command that the tests start is the bundle, as it is installed.
  const bundled = compiled.code === 0 && (await run("bundle", process.execPath, ["ts/bundle.mjs"])).code === 0;
  if (bundled) env.PRL_TEST_COMPILED = "1";
  else delete env.PRL_TEST_COMPILED;
}

if (wanted("checks")) {
  await run("rustfmt", "cargo", ["fmt", "--all", "--check"]);
  await run("clippy", "cargo", [
    "clippy",
    "--workspace",
    "--all-targets",
    "--features",
    "prl-sandboxd/switch-off",
    "--quiet",
    "--",
    "-D",
    "warnings",
  ]);
  await run("tsc (tests)", bin("tsc"), ["-p", "tests/tsconfig.json"]);
  // They use what is no public entry, and no test runs them: one that calls what has changed would fail only when someone measures.
  await run("tsc (benches)", bin("tsc"), ["-p", "tests/tsconfig.benches.json"]);
  const declarations = "--ignoreConfig --noEmit --skipLibCheck false --types node --module nodenext --target es2023";
  await run("tsc (addon's declarations)", bin("tsc"), [...declarations.split(" "), "native/index.d.ts"]);
  await run("oxlint", bin("oxlint"), ["--type-aware", "--deny-warnings", "ts", "tests", "benches", "configs"]);
  await run("oxfmt", bin("oxfmt"), [
    "--check",
    "ts",
    "tests",
    "benches",
    "configs",
    "native/prepare.mjs",
    "native/build.mjs",
  ]);
}

if (runsTypeScript) {
  const first = await runVitest(
    "typescript tests",
    testFolders.map((part) => `tests/${part}`),
  );
  const broken = first === undefined ? [] : first.testResults.filter(({ status }) => status === "failed");
  if (first !== undefined) passed += first.numPassedTests;
  // A test that fails beside two others may lack processor time. Its file runs once more, alone; what passes then is listed by name.
  if (broken.length === 0 || broken.length > RUN_AGAIN_AT_MOST) failed += first?.numFailedTests ?? 0;
  else await runAgain(broken);
}
finish();

async function runVitest(name, paths, ...more) {
  rmSync(vitestReport, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${vitestReport}`];
  await run(name, bin("vitest"), [
    "run",
    "--config",
    "tests/vitest.config.ts",
    "--root",
    ".",
    ...paths,
    ...more,
    ...reporters,
  ]);
  return existsSync(vitestReport) ? JSON.parse(readFileSync(vitestReport, "utf8")) : undefined;
}

/** Runs files with failed tests again, one at a time, and counts the tests that failed. A file that fails outside of its tests has none. */
async function runAgain(files) {
  const paths = files.map(({ name }) => relative(root, name));
  const failedTests = testsOf(files, "failed");
  failures.pop();
  const second = await runVitest("typescript tests that failed, alone", paths, "--maxWorkers", "1");
  const passedAlone = testsOf(second?.testResults ?? [], "passed");
  for (const test of failedTests) {
    const isFlaky = passedAlone.has(test);
    if (isFlaky) passed += 1;
    else failed += 1;
    console.log(`${isFlaky ? "flaky (passed alone)" : "failed twice"}: ${test}`);
  }
}

function testsOf(files, status) {
  const tests = files.flatMap(({ name, assertionResults }) =>
    assertionResults.map((test) => [test.status, `${relative(root, name)} > ${test.fullName}`]),
  );
  return new Set(tests.filter(([is]) => is === status).map(([, test]) => test));
}
