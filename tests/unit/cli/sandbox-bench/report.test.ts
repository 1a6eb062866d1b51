/** Which figures of the bench reach their bars. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { Report } from "../../../../ts/cli/sandbox-bench/report.ts";

test("a bar counts where its rival was measured", () => {
  const lines: string[] = [];
  const directory = mkdtempSync(join(tmpdir(), "prl-report-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const report = new Report({ write: (text: string) => void lines.push(text) }, directory, { cores: 2 });
  const figure = { unit: "runs/s", better: "higher", ours: 100 } as const;
  const bars = [
    { of: "bubblewrap", factor: 2.5 },
    { of: "floor", factor: 0.8 },
  ];
  report.add({ ...figure, name: "without", rivals: { floor: 120 }, bars });
  report.add({ ...figure, name: "with", rivals: { floor: 120, bubblewrap: 50 }, bars });
  report.add({ ...figure, name: "alone", rivals: {}, bars: [{ of: null, factor: 99 }] });
  expect(report.missed).toEqual(["with"]);
  expect(lines).toEqual([
    "without 100 runs/s | floor 120 (0.83x) | not judged: at least 2.5 x bubblewrap | ok: at least 0.8 x floor\n",
    "with 100 runs/s | floor 120 (0.83x) | bubblewrap 50.0 (2.00x) | MISSED: at least 2.5 x bubblewrap | ok: at least 0.8 x floor\n",
    "alone 100 runs/s | ok: at least 99.0 runs/s\n",
  ]);
  const written = JSON.parse(readFileSync(join(directory, "with.json"), "utf8")) as { ratio: number };
  expect(written.ratio).toBeCloseTo(100 / 120);
});
