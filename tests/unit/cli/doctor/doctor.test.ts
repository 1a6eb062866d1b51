import { describe, expect, test } from "vitest";
import { bytesText } from "../../../../ts/cli/doctor/check.ts";
import { vllmCheck } from "../../../../ts/cli/doctor/python.ts";
import { isaCheck, nodeCheck, rustCheck } from "../../../../ts/cli/doctor/toolchain.ts";
import { folderWith } from "../../config/support.ts";
import { prl } from "../run.ts";

interface Report {
  ok: boolean;
  checks: { name: string; status: string; detail: string; fix?: string }[];
}

describe("prl doctor", () => {
  test("checks everything on this machine, and exits with 1 exactly when there is a problem", async () => {
    const cwd = folderWith({});
    const { code, stdout } = await prl(["doctor", "--json"], cwd, { PRL_CACHE_DIR: `${cwd}/not/yet` });
    const { ok, checks } = JSON.parse(stdout) as Report;
    const names = [
      "Node",
      "Rust",
      "Native addon",
      "Cores",
      "Memory",
      "Open files",
      "Disk of the cache",
      "Shared memory",
    ];
    expect(checks.map((check) => check.name)).toEqual(expect.arrayContaining(names));
    expect(checks.find((check) => check.name === "Node")?.status).toBe("ok");
    expect(checks.find((check) => check.name === "Disk of the cache")?.detail).toContain(`will be made in ${cwd}`);
    const hasProblem = checks.some((check) => check.status === "problem");
    expect([ok, code]).toEqual([!hasProblem, hasProblem ? 1 : 0]);
    for (const check of checks) expect(check.fix === undefined, check.name).toBe(check.status === "ok");
  });

  test("prints a line for each check and how to mend a failed one", async () => {
    const { stdout } = await prl(["doctor"]);
    expect(stdout).toMatch(/^ok +Node +\d+\./m);
    expect(stdout.match(/to mend:/g)?.length ?? 0).toBe(stdout.match(/^(warning|PROBLEM) /gm)?.length ?? 0);
  });

  test.each([
    ["20.18.0", "problem"],
    ["20.19.0", "ok"],
    ["21.9.0", "problem"],
    ["22.11.0", "problem"],
    ["22.12.0", "ok"],
    ["24.0.0", "ok"],
  ])("judges Node %s: %s", (version, status) => {
    expect(nodeCheck(version).status).toBe(status);
  });

  test.each([
    ["0.32.0+cpu", false, "ok"],
    ["0.32.0+cpu", true, "warning"],
    ["0.32.0", false, "problem"],
    ["0.32.0", true, "ok"],
    ["0.33.0", true, "warning"],
  ])("judges vLLM %s (NVIDIA driver: %s): %s", (version, hasDriver, status) => {
    expect(vllmCheck("Python for vllm", "", version, hasDriver).status).toBe(status);
  });

  test.each([
    [null, false, "problem"],
    [null, true, "warning"],
    ["1.94.9", false, "problem"],
    ["1.95.0", false, "ok"],
    ["2.0.0", false, "ok"],
  ] as const)("judges Rust %s (addon built: %s): %s", (version, hasAddon, status) => {
    expect(rustCheck(version, hasAddon).status).toBe(status);
  });

  test("judges the instruction sets and PRL_ISA", () => {
    expect(isaCheck(["portable", "avx2"], undefined)).toMatchObject({
      status: "ok",
      detail: "portable, avx2; the engine uses avx2",
    });
    expect(isaCheck(["portable"], undefined).status).toBe("warning");
    expect(isaCheck(["portable", "avx2"], "avx512").status).toBe("problem");
  });

  test("writes sizes in words", () => {
    expect([0, 1023, 1536, 5 * 1024 ** 3].map(bytesText)).toEqual(["0 B", "1023 B", "1.5 KiB", "5.0 GiB"]);
  });
});
