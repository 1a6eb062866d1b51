/** The checks of one host for `prl fleet check`: from texts of programs and of the kernel, and from a real all-reduce where there is PyTorch. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";

import { allReduceCheck, busBandwidth } from "../../../../ts/cli/fleet/checks/all-reduce.ts";
import { diskSpeedCheck } from "../../../../ts/cli/fleet/checks/disk-speed.ts";
import { fabricChecks, fabricPorts } from "../../../../ts/cli/fleet/checks/fabric.ts";
import { findGpus, gpuChecks, parseGpus } from "../../../../ts/cli/doctor/gpus.ts";
import { folderWith } from "../../config/support.ts";
import { IS_LONG } from "../../../support/form.ts";
import { deadlineTest } from "../../../support/clusters/short-calls.ts";

const most = vi.hoisted(() => ({ ms: Infinity }));
vi.mock(import("node:child_process"), async (original) => {
  const { shortCalls } = await import("../../../support/clusters/short-calls.ts");
  return shortCalls(await original(), most);
});

const H100 = "NVIDIA H100 80GB HBM3, 570.86.15, 81559";
const GONE = new AbortController().signal;

describe("GPUs", () => {
  test("are read with their driver, their memory and their errors", () => {
    expect(parseGpus(`0, ${H100}, 4, 0\n1, ${H100}, 4, [N/A]\n`)).toEqual([
      {
        name: "NVIDIA H100 80GB HBM3",
        driver: "570.86.15",
        bytes: 81559 * 1024 ** 2,
        usedBytes: 4 * 1024 ** 2,
        errors: 0,
      },
      {
        name: "NVIDIA H100 80GB HBM3",
        driver: "570.86.15",
        bytes: 81559 * 1024 ** 2,
        usedBytes: 4 * 1024 ** 2,
        errors: null,
      },
    ]);
  });

  test.each([
    [`0, ${H100}, 4, 0\n1, ${H100}, 4, 0\n`, "ok", "2 × NVIDIA H100 80GB HBM3 79.6 GiB"],
    [`0, ${H100}, 4, 0\n1, ${H100}, 4, 3\n`, "problem", "uncorrected memory errors on 1"],
    [`0, ${H100}, 40000, 0\n1, ${H100}, 4, 0\n`, "warning", "memory is in use on 0"],
  ])("of %j are %s", async (text, status, detail) => {
    const [driver, gpus] = await gpuChecks(parseGpus(text));
    expect(driver).toEqual({ name: "Driver", status: "ok", detail: "570.86.15", alike: "570.86.15" });
    expect(gpus?.status).toBe(status);
    expect(gpus?.detail).toContain(detail);
  });

  deadlineTest("that nvidia-smi hangs on are a problem, also where it passes over SIGTERM", async () => {
    const bin = folderWith({ "nvidia-smi": "#!/bin/sh\ntrap '' TERM\nexec sleep 300\n" });
    chmodSync(join(bin, "nvidia-smi"), 0o755);
    vi.stubEnv("PATH", `${bin}${delimiter}${process.env["PATH"] ?? ""}`);
    most.ms = 1_000;
    onTestFinished(() => {
      vi.unstubAllEnvs();
      most.ms = Infinity;
    });
    expect((await gpuChecks(await findGpus()))[0]).toMatchObject({
      status: "problem",
      detail: "nvidia-smi: no answer within 60 s",
    });
  });

  test("that nvidia-smi does not reach are a problem with its words, and none is not", async () => {
    const bin = folderWith({
      "nvidia-smi": "#!/bin/sh\necho 'NVIDIA-SMI has failed because it could not talk to the driver'\nexit 9\n",
    });
    chmodSync(join(bin, "nvidia-smi"), 0o755);
    vi.stubEnv("PATH", `${bin}${delimiter}${process.env["PATH"] ?? ""}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const [driver] = await gpuChecks(await findGpus());
    expect(driver).toMatchObject({
      status: "problem",
      detail: expect.stringContaining("NVIDIA-SMI has failed") as string,
    });
    vi.stubEnv("PATH", folderWith({}));
    expect(await findGpus()).toBeNull();
    expect(await gpuChecks([])).toMatchObject([{ status: "problem" }, {}]);
  });
});

describe("InfiniBand", () => {
  const folder = () => {
    const root = folderWith({});
    for (const [port, state] of [
      ["mlx5_0/ports/1", "4: ACTIVE"],
      ["mlx5_1/ports/1", "1: DOWN"],
    ] as const) {
      mkdirSync(join(root, port), { recursive: true });
      writeFileSync(join(root, port, "state"), `${state}\n`);
      writeFileSync(join(root, port, "rate"), "400 Gb/sec (4X NDR)\n");
    }
    return root;
  };

  test("has the state and the rate of each port", async () => {
    const ports = (await fabricPorts(folder())).filter(({ name }) => name.startsWith("mlx5"));
    expect(ports).toEqual([
      { name: "mlx5_0/1", state: "4: ACTIVE", rate: "400 Gb/sec (4X NDR)" },
      { name: "mlx5_1/1", state: "1: DOWN", rate: "400 Gb/sec (4X NDR)" },
    ]);
    const limits = "Max locked memory         65536                65536                bytes\n";
    expect(fabricChecks(ports, limits)).toMatchObject([
      { name: "InfiniBand", status: "warning", detail: "mlx5_0/1 400 Gb/sec (4X NDR), mlx5_1/1 is 1: DOWN" },
      { name: "Locked memory", status: "warning", detail: "at most 65536 bytes" },
    ]);
    expect(fabricChecks(ports.slice(1), limits)[0]).toMatchObject({ status: "problem" });
    expect(fabricChecks(ports.slice(0, 1), "Max locked memory unlimited unlimited bytes")).toMatchObject([
      { status: "ok" },
      { status: "ok" },
    ]);
  });

  test("that is not there is said by name", async () => {
    expect(fabricChecks(await fabricPorts("/no/such/folder"), null)).toMatchObject([
      { status: "ok", detail: "none: /sys/class/infiniband has no device" },
    ]);
  });
});

test("the speed of a disk is measured with a file that is gone afterwards", async () => {
  const folder = folderWith({});
  const before = readdirSync(folder);
  expect((await diskSpeedCheck(folder)).detail).toMatch(/^[\d.]+ (KiB|MiB|GiB)\/s for [\d.]+ MiB in \//u);
  expect(readdirSync(folder)).toEqual(before);
  expect(await diskSpeedCheck("/no/such/folder")).toMatchObject({ status: "problem" });
});

describe("an all-reduce", () => {
  const python = process.env["PRL_TEST_PYTHON"] ?? "python3";
  const LOOK = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)";
  const hasTorch = spawnSync(python, ["-c", LOOK]).status === 0;
  const asked = { python, backend: "gloo", bytes: 1024 ** 2, rounds: 2, gone: GONE } as const;

  test.skipIf(!hasTorch || !IS_LONG)(
    `of two ranks gives a rate${hasTorch ? "" : " (not installed: torch)"}`,
    async () => {
      expect(await busBandwidth({ ...asked, ranks: 2 })).toBeGreaterThan(0);
    },
  );

  test("names the rank that failed, with its last words", async () => {
    const folder = folderWith({
      python: "#!/bin/sh\necho 'a long story' >&2\necho \"no GPU for rank $3\" >&2\nexit 1\n",
    });
    chmodSync(join(folder, "python"), 0o755);
    await expect(busBandwidth({ ...asked, python: join(folder, "python"), ranks: 1 })).rejects.toThrow(
      "rank 0: no GPU for rank 0",
    );
  });

  test("without GPUs or PyTorch is not measured, and says so", async () => {
    expect(await allReduceCheck(0, "/none", GONE)).toMatchObject({ status: "ok", detail: "not measured: no GPUs" });
    expect(await allReduceCheck(8, "/none", GONE)).toMatchObject({
      status: "warning",
      detail: "not measured: there is no PyTorch",
      fix: expect.stringContaining("prl python setup torch") as string,
    });
  });
});
