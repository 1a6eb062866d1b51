/** The lines of `prl doctor` about GPUs: the driver for the CUDA of a torch, NCCL, shared and locked memory. */
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { cudaChecks } from "../../../../ts/cli/doctor/cuda.ts";
import { lockedMemoryCheck, sharedMemoryCheck } from "../../../../ts/cli/doctor/machine.ts";
import { cudaBuild } from "../../../../ts/python/index.ts";
import { prl } from "../run.ts";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-doctor-"));
});
afterAll(() => rm(root, { recursive: true }));

const gpusWith = (driver: string, count = 1) =>
  Array.from({ length: count }, () => ({ name: "NVIDIA H200", driver, bytes: 1, usedBytes: 0, errors: null }));

describe("the driver for the CUDA of a torch", () => {
  test.each([
    ["13.2", "580.95.05", "ok", undefined],
    ["13.2", "580.65.06", "ok", undefined],
    [
      "13.2",
      "580.65.05",
      "problem",
      "install driver 580.65.06 or newer, or name an interpreter with a torch for CUDA 12",
    ],
    ["13.2", "570.10", "problem", "CUDA 12"],
    [
      "12.8",
      "470.57.02",
      "problem",
      "install driver 525.60.13 or newer, or name an interpreter with a torch for CUDA 11",
    ],
    ["12.8", "390.1", "problem", "install driver 525.60.13 or newer"],
    ["12.8", "595.1.2", "ok", undefined],
    ["14.0", "600.1", "ok", undefined],
  ])("CUDA %s and driver %s: %s", (cuda, driver, status, fix) => {
    const [check] = cudaChecks("torch", { cuda, nccl: "2.30.7" }, gpusWith(driver), "again");
    expect(check).toMatchObject({ name: "CUDA for torch", status });
    if (fix === undefined) expect(check?.fix).toBeUndefined();
    else expect(check?.fix).toContain(fix);
  });

  test("without a GPU nothing is a problem, and a torch for processors beside GPUs is one to make anew", () => {
    expect(cudaChecks("torch", { cuda: "13.2", nccl: null }, [], "again")).toMatchObject([
      { status: "ok", detail: "13.2; without a GPU it computes on processors" },
    ]);
    expect(cudaChecks("torch", { cuda: null, nccl: null }, [], "again")).toMatchObject([{ status: "ok" }]);
    expect(cudaChecks("torch", { cuda: null, nccl: null }, gpusWith("580.95.05"), "again")).toMatchObject([
      { status: "warning", fix: "again" },
    ]);
  });

  test("several GPUs want NCCL", () => {
    const checks = (nccl: string | null) =>
      cudaChecks("torch", { cuda: "13.2", nccl }, gpusWith("580.95.05", 2), "again");
    expect(checks("2.30.7")[1]).toMatchObject({ name: "NCCL for torch", status: "ok", detail: "2.30.7" });
    expect(checks(null)[1]).toMatchObject({ status: "warning", fix: "again" });
  });
});

test("CUDA and NCCL are read from the files of an interpreter, whose torch is not imported", async () => {
  const packages = join(root, "packages");
  await mkdir(join(packages, "torch"), { recursive: true });
  await writeFile(join(packages, "torch/__init__.py"), "raise SystemExit('imported')\n");
  await writeFile(
    join(packages, "torch/version.py"),
    "debug = False\ncuda: Optional[str] = '13.2'\nhip: Optional[str] = None\n",
  );
  for (const [name, version] of [
    ["torch", "2.15.0"],
    ["nvidia-nccl-cu13", "2.30.7"],
  ] as const) {
    const info = join(packages, `${name.replaceAll("-", "_")}-${version}.dist-info`);
    await mkdir(info);
    await writeFile(join(info, "METADATA"), `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`);
    await writeFile(join(info, "RECORD"), "");
  }
  const python = join(root, "python");
  await writeFile(python, `#!/bin/sh\nPYTHONPATH='${packages}' exec python3 "$@"\n`);
  await chmod(python, 0o755);
  expect(await cudaBuild(python)).toEqual({ cuda: "13.2", nccl: "2.30.7" });
  await writeFile(join(packages, "torch/version.py"), "cuda: Optional[str] = None\n");
  expect(await cudaBuild(python)).toMatchObject({ cuda: null });
  await expect(cudaBuild(join(root, "none"))).rejects.toMatchObject({ code: "PRL_PYTHON_MISSING" });
});

test("shared memory: several GPUs want more of it than sandboxes, and a missing folder says who needs it", async () => {
  expect((await sharedMemoryCheck(0, root)).status).toBe("ok");
  const missing = join(root, "none");
  expect(await sharedMemoryCheck(2, missing)).toMatchObject({
    status: "warning",
    fix: expect.stringContaining("NCCL"),
  });
  expect(await sharedMemoryCheck(0, missing)).toMatchObject({ fix: expect.stringContaining("only sandboxes") });
});

test("locked memory is to be unlimited", () => {
  const limits = (soft: string) =>
    `Limit Soft Hard\nMax locked memory         ${soft}              ${soft}              bytes\n`;
  expect(lockedMemoryCheck(limits("unlimited"))).toMatchObject({ status: "ok" });
  expect(lockedMemoryCheck(limits("8388608"))).toMatchObject({ status: "warning", detail: "at most 8388608 bytes" });
  expect(lockedMemoryCheck(null)).toMatchObject({ status: "warning", detail: "the limit is not known here" });
});

test("prl doctor names the driver and the GPUs, also where there are none", async () => {
  const { stdout } = await prl(["doctor", "--json"]);
  const { checks } = JSON.parse(stdout) as { checks: { name: string; detail: string }[] };
  const of = (name: string) => checks.find((check) => check.name === name);
  expect(of("Driver")?.detail).toBeTruthy();
  expect(of("GPUs")?.detail).toBeTruthy();
  if (of("Driver")?.detail.startsWith("none") === true) expect(of("GPUs")?.detail).toBe("none");
});
