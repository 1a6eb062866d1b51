/** The recipe of the images of a run fits the package: no builder of images is at hand in the tests, so they read the file. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";

import { rlConfigSchema } from "../../../ts/config/schema/rl.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const recipe = read("configs/deploy/container/Containerfile.run");
const lines = recipe.split("\n");
const bases = lines.flatMap((line) => /^FROM (\S+) AS (\S+)$/u.exec(line)?.slice(1) ?? []);
const stages = bases.filter((_, index) => index % 2 === 1);
const { name, bin, engines } = JSON.parse(read("package.json")) as {
  name: string;
  bin: Record<string, string>;
  engines: { node: string };
};

describe("Containerfile.run", () => {
  test("has the targets that its head lists, and each stage begins from an image or from an earlier stage", () => {
    const listed = lines.flatMap((line) => /^# \| (\w+) +\|/u.exec(line)?.[1] ?? []).filter((one) => one !== "target");
    expect(listed).toEqual(["orchestrator", "trainer", "inference", "run"]);
    for (const target of listed) expect(stages).toContain(target);
    for (const [index, base] of bases.filter((_, at) => at % 2 === 0).entries())
      expect(base.includes(":") || stages.slice(0, index).includes(base), base).toBe(true);
    for (const [, from = ""] of recipe.matchAll(/--from=(\S+)/gu)) expect(stages).toContain(from);
  });

  test("installs the locked packages, and their interpreters are where its head says", () => {
    const copied = lines.flatMap((line) => /^COPY (ts\/\S+) (\S+)$/u.exec(line)?.slice(1) ?? []);
    expect(copied).toEqual([
      "ts/python/locks/torch.txt",
      "/opt/prl/torch.txt",
      "ts/python/locks/vllm-cuda.txt",
      "/opt/prl/vllm-cuda.txt",
    ]);
    for (const file of copied.filter((path) => path.startsWith("ts/")))
      expect(existsSync(join(ROOT, file)), file).toBe(true);
    const venvs = [...recipe.matchAll(/python3 -m venv (\S+)/gu)].map(([, folder = ""]) => folder);
    const named = [...recipe.matchAll(/(trainer|inference)\.python = "(\S+)\/bin\/python"/gu)].map(
      ([, , at = ""]) => at,
    );
    expect(named).toEqual(venvs);
    expect(recipe.match(/pip install [^\n]*--require-hashes/gu)).toHaveLength(2);
  });

  test("builds with versions that the package takes, and its program is the one that pods start", () => {
    const [, node = ""] = /^FROM node:(\d+)-/mu.exec(recipe) ?? [];
    expect(engines.node).toContain(`>=${node}.`);
    const [, rust = ""] = /^rust-version = "(\S+)"/mu.exec(read("Cargo.toml")) ?? [];
    expect(recipe).toContain(`FROM rust:${rust}-bookworm AS build`);
    expect(recipe).toContain(`mv ${name}-*.tgz`);
    const config = rlConfigSchema.parse({
      model: { name: "m" },
      orchestrator: { batch_size: 1, train: { source: [{ env: { id: "reverse-text" } }] } },
      kubernetes: { image: "prl" },
    });
    const [program = ""] = config.kubernetes?.command ?? [];
    expect(Object.keys(bin)).toContain(program);
    expect(recipe).toContain(`ENTRYPOINT ["/usr/bin/tini", "--", "${program}"]`);
  });

  test("keeps what the checkout has built out of the image", () => {
    const ignored = read("configs/deploy/container/Containerfile.run.dockerignore").split("\n");
    for (const folder of ["**/node_modules", "**/target", "dist", ".git"]) expect(ignored).toContain(folder);
  });
});
