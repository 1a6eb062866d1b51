/** The package as npm packs it, and what its code says where a compiled part is missing. */
import { execFile } from "node:child_process";
import { cp, mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

import { readJson, ROOT } from "../../support/prl.ts";

const run = promisify(execFile);
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-package-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

test("a tarball holds the built files, and neither sources nor tests", async () => {
  // Without scripts: `prepare` would build.
  const { stdout } = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: ROOT });
  const [packed] = JSON.parse(stdout) as { name: string; files: { path: string }[] }[];
  const files = packed?.files.map(({ path }) => path) ?? [];
  expect(packed?.name).toBe("prl-lm");
  expect(files).toEqual(
    expect.arrayContaining([
      "bundle/LICENSES.txt",
      "bundle/cli/main.js",
      "dist/index.d.ts",
      "native/index.js",
      "native/prepare.mjs",
      "configs/reverse-text/rl.toml",
      "configs/reverse-text/model/tokenizer.json",
      "ts/python/locks/torch.txt",
      "ts/inference/vllm/python/prl_vllm/cpu_worker.py",
      "ts/trainer/torch/python/prl_torch/worker.py",
    ]),
  );
  // Python runs from its sources.
  const python = /^ts\/(python\/locks|inference\/vllm\/python\/prl_vllm|trainer\/torch\/python\/prl_torch)\//u;
  const others = files.filter((path) => !python.test(path));
  expect(others.filter((path) => /^(ts|tests|crates|benches)\/|\.map$|^native\/src/u.test(path))).toEqual([]);
});

test("every name that package.json exports is a file of the tarball's kind", async () => {
  const { exports } = await readJson<{ exports: Record<string, string | { default: string; types: string }> }>(
    join(ROOT, "package.json"),
  );
  const paths = Object.values(exports).flatMap((entry) =>
    typeof entry === "string" ? [] : [entry.default, entry.types],
  );
  for (const path of paths) expect(path).toMatch(/^\.\/dist\//u);
});

/** What code in `folder`, a copy of the package's output, says when it needs the addon. */
async function complaint(folder: string): Promise<string> {
  const module = pathToFileURL(join(folder, "dist/native/addon.js")).href;
  const script = `import(${JSON.stringify(module)}).then(({ addon }) => addon()).catch((error) => console.log(error.code, error.message))`;
  const { PRL_NATIVE_ADDON: _, ...env } = process.env;
  return (await run(process.execPath, ["-e", script], { env })).stdout;
}

async function copyOutput(name: string): Promise<string> {
  const folder = join(dir, name);
  await mkdir(join(folder, "dist"), { recursive: true });
  for (const file of ["errors.js", "native"])
    await cp(join(ROOT, "dist", file), join(folder, "dist", file), { recursive: true });
  return folder;
}

test("an installed package without the addon says how to pack one with it", async () => {
  const folder = await copyOutput("installed");
  await mkdir(join(folder, "native"));
  await cp(join(ROOT, "package.json"), join(folder, "package.json"));
  await cp(join(ROOT, "native/index.js"), join(folder, "native/index.js"));
  const said = await complaint(folder);
  expect(said).toContain("PRL_NATIVE_MISSING");
  expect(said).toContain("this copy of prl-lm was packed without the native addon");
  expect(said).toContain("npm pack");
});

test("code that was bundled away from its package says so", async () => {
  const folder = await copyOutput("bundled");
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  expect(await complaint(folder)).toContain("--external:prl-lm");
});
