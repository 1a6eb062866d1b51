import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { rlConfigSchema } from "../../../ts/config/schema/rl.ts";
import { withInterpreter } from "../../../ts/launcher/checks/trainer-backend.ts";
import { lacking } from "../../../ts/python/index.ts";

let cache: string;
let before: string | undefined;
beforeAll(async () => {
  cache = await mkdtemp(join(tmpdir(), "prl-python-"));
  before = process.env["PRL_CACHE_DIR"];
  process.env["PRL_CACHE_DIR"] = cache;
});
afterAll(async () => {
  if (before === undefined) delete process.env["PRL_CACHE_DIR"];
  else process.env["PRL_CACHE_DIR"] = before;
  await rm(cache, { recursive: true, force: true });
});

const trainer = (block: Record<string, unknown>) =>
  rlConfigSchema.safeParse({
    model: { name: "m" },
    trainer: block,
    orchestrator: { train: { source: [{ name: "a", env: { id: "reverse-text" } }] } },
    ...(block["ranks"] === 3 && { rollout_transport: { type: "grpc" } }),
  });

describe("an interpreter", () => {
  test("lacks what is absent or too old, each with the version that is needed", () => {
    const packages = { torch: "2.15.0+cu132", transformers: "4.57.1", safetensors: null };
    expect(lacking("torch", { python: "3.11.7", packages })).toEqual([
      "transformers 4.57.1 (5.0 or newer is needed)",
      "no safetensors (0.8 or newer)",
    ]);
    const all = { torch: "2.10.0", transformers: "5.23.0", safetensors: "0.8.0" };
    expect(lacking("torch", { python: "3.11.7", packages: all })).toEqual([]);
    const old = { ...all, safetensors: "0.7.0" };
    expect(lacking("torch", { python: "3.11.7", packages: old })).toEqual([
      "safetensors 0.7.0 (0.8 or newer is needed)",
    ]);
    expect(lacking("torch", { python: "3.9.2", packages: all })).toEqual(["Python 3.9.2 (3.11 or newer is needed)"]);
  });
});

describe("a run with the torch backend", () => {
  test("is refused with the command that makes the environment, when there is none", async () => {
    const { data } = trainer({ backend: "torch" });
    if (data === undefined) throw new Error();
    await expect(withInterpreter(data.trainer, ["trainer"], undefined)).rejects.toMatchObject({
      code: "PRL_PYTHON_MISSING",
      message: expect.stringMatching(/trainer\.backend.*npx prl python setup torch/),
    });
  });

  test("is refused when the interpreter of the config is none", async () => {
    const { data } = trainer({ backend: "torch", python: process.execPath });
    if (data === undefined) throw new Error();
    await expect(withInterpreter(data.trainer, ["trainer"], undefined)).rejects.toMatchObject({
      code: "PRL_PYTHON_MISSING",
      message: expect.stringContaining("does not run as a Python interpreter"),
    });
  });

  test.each([
    [{ ranks: 2 }, "the engine trains in one process"],
    [{ backend: "torch", ranks: 4, parallel: { context: 3 } }, "context = 3 does not divide ranks = 4"],
    [{ backend: "torch", ranks: 4, parallel: { tensor: 3 } }, "tensor = 3 does not divide ranks = 4"],
    [
      { backend: "torch", ranks: 4, parallel: { context: 4, tensor: 2 } },
      "context = 4 times tensor = 2 does not divide ranks = 4",
    ],
    [
      { backend: "torch", ranks: 4, parallel: { replicas: 4, tensor: 2 } },
      "replicas = 4 times tensor = 2 does not divide ranks = 4",
    ],
    [{ backend: "torch", ranks: 4, parallel: { expert: 3 } }, "expert = 3 does not divide ranks = 4"],
    [
      { backend: "torch", ranks: 4, parallel: { replicas: 2, expert: 4 } },
      "replicas = 2 times expert = 4 does not divide ranks = 4",
    ],
    [
      { backend: "torch", ranks: 4, parallel: { tensor: 2, expert: 2 } },
      "expert = 2 and tensor = 2: ranks share experts or matrices, not both",
    ],
    [{ python: "/usr/bin/python3" }, 'is not read by backend = "engine"'],
    [{ backend: "torch", loss: { type: "custom", path: "./a.ts#b" } }, "a custom loss is a function of JavaScript"],
    [{ backend: "torch", ranks: 3 }, "over gRPC there is one trainer address"],
  ])("is refused by name for %j", (block, message) => {
    const { error } = trainer(block);
    expect(error?.issues.map((issue) => issue.message).join("\n")).toContain(message);
  });
});
