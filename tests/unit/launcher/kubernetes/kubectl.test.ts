/** The waits of `kubectl`'s calls, with a stand-in for it that does what a test says. */
import { chmodSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { applyFolder, followLogs } from "../../../../ts/launcher/kubernetes/kubectl.ts";
import { folderWith, prlErrorOf } from "../../config/support.ts";
import { deadlineTest } from "../../../support/clusters/short-calls.ts";

const most = vi.hoisted(() => ({ ms: Infinity }));
vi.mock(import("node:child_process"), async (original) => {
  const { shortCalls } = await import("../../../support/clusters/short-calls.ts");
  return shortCalls(await original(), most);
});

/** Longer than any wait of a call. */
const LONG_MS = 600_000;
const PLACE = { context: null, namespace: null, selector: "s" };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** An environment whose kubectl runs `script`. */
function kubectl(script: string): { PATH: string } {
  const folder = folderWith({});
  writeFileSync(join(folder, "kubectl"), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, "kubectl"), 0o755);
  return { PATH: `${folder}${delimiter}${process.env["PATH"] ?? ""}` };
}

/** Follows logs of a kubectl that runs `script`; `said` resolves with its first line. */
function logs(script: string, isFollowing: boolean, signal = new AbortController().signal) {
  const env = kubectl(script);
  let say: (line: string) => void = () => undefined;
  const said = new Promise<string>((resolve) => (say = resolve));
  return { said, ended: followLogs({ ...PLACE, isFollowing }, say, env, signal) };
}

test("logs that are not followed end when kubectl says nothing for a minute, also where another program has its output", async () => {
  const { said, ended } = logs("sleep 300 & echo $!; exec sleep 300", false);
  const error = prlErrorOf(ended);
  const other = Number(await said);
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(await error).toMatchObject({ code: "PRL_KUBERNETES", message: "kubectl logs said nothing for 60 s" });
  process.kill(other, "SIGKILL");
});

test("logs that are followed may be silent for long, and end with the signal", async () => {
  const stopped = new AbortController();
  const { said, ended } = logs("echo one; exec sleep 300", true, stopped.signal);
  expect(await said).toBe("one");
  await vi.advanceTimersByTimeAsync(LONG_MS);
  stopped.abort("SIGINT");
  await ended;
});

deadlineTest("a call ends at its deadline, also where kubectl passes over SIGTERM", async () => {
  const env = kubectl("trap '' TERM; exec sleep 300");
  most.ms = 1_000;
  try {
    const error = await prlErrorOf(applyFolder("x", { context: null, namespace: null }, env));
    expect(error).toMatchObject({ code: "PRL_KUBERNETES", message: "kubectl apply did not end within 60 s" });
  } finally {
    most.ms = Infinity;
  }
});
