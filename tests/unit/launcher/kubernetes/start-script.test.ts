/** The script of the run's pod: what each start of it begins with. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { START } from "../../../../ts/launcher/kubernetes/start-script.ts";

function pods(first: string) {
  const folder = mkdtempSync(join(tmpdir(), "prl-start-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "start.sh"), START);
  const command = [process.execPath, "-e", "process.stdout.write(JSON.stringify(process.argv.slice(1)))", "--"];
  return {
    start: (): string[] => {
      const args = [join(folder, "data/starts/a"), join(folder, "data/runs/it's $x"), first, ...command, "rl", "a b"];
      const { stdout, stderr, status } = spawnSync("/bin/sh", [join(folder, "start.sh"), ...args], {
        encoding: "utf8",
      });
      expect([status, stderr]).toEqual([0, ""]);
      return JSON.parse(stdout) as string[];
    },
    /** As soon as the run has written its config; with an attempt, also dropped what comes after its step. */
    begin: (attempt?: number) => {
      mkdirSync(join(folder, "data/runs/it's $x/configs"), { recursive: true });
      writeFileSync(join(folder, "data/runs/it's $x/configs/rl.json"), "{}");
      if (attempt !== undefined)
        mkdirSync(join(folder, "data/runs/it's $x/logs", `attempt_${attempt}`), { recursive: true });
    },
  };
}

test("the pod that replaces a failed one goes on with the run, as soon as there is one", () => {
  const { start, begin } = pods("new");
  expect(start()).toEqual(["rl", "a b"]);
  expect(start()).toEqual(["rl", "a b"]);
  begin();
  expect(start()).toEqual(["rl", "a b", "--resume"]);
});

test("the first pod of a start does not go on with a run that another start made", () => {
  const { start, begin } = pods("new");
  begin();
  expect(start()).toEqual(["rl", "a b"]);
});

test("the first pod of a resumed run goes on from the step that was asked for, the later ones from the newest", () => {
  const { start, begin } = pods("20");
  begin(9);
  expect(start()).toEqual(["rl", "a b", "--resume", "20"]);
  // The first pod has ended before the run went back to the step.
  expect(start()).toEqual(["rl", "a b", "--resume", "20"]);
  begin(10);
  expect(start()).toEqual(["rl", "a b", "--resume"]);
  expect(start()).toEqual(["rl", "a b", "--resume"]);
  expect(pods("latest").start()).toEqual(["rl", "a b", "--resume"]);
});
