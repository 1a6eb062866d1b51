import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

import { PrlError } from "../../../../ts/errors.ts";
import { RunSession, type SessionOptions } from "../../../../ts/launcher/run/run-session.ts";
import type { RunEvent } from "../../../../ts/monitors/index.ts";

function opened(path: string, options: Partial<SessionOptions>): Promise<RunSession> {
  const { signal } = new AbortController();
  return RunSession.open({
    directory: { name: "mine", path, attempt: 1 },
    startStep: 0,
    maxSteps: 3,
    sftSteps: null,
    supervised: false,
    evaluationSources: [],
    signal,
    hurry: signal,
    onEvent: () => undefined,
    logRules: { maxBytes: 1_000_000, keep: 1, attempts: 1 },
    prometheusPort: null,
    ...options,
  });
}

test("a batch that is smaller for lack of advantages is noted once, with advice to keep its size", async () => {
  const path = await mkdtemp(join(tmpdir(), "prl-session-"));
  const events: RunEvent[] = [];
  try {
    await mkdir(join(path, "configs"));
    const session = await opened(path, { onEvent: (event) => events.push(event) });
    const { onLine } = session.stage;
    for (const [step, zero] of [0, 4, 8].entries()) {
      const line = { attempt: 1, step: step + 1, time: 0 };
      onLine({ ...line, component: "trainer", loss: 1 });
      onLine({ ...line, component: "orchestrator", "batch/zero_advantage": zero, "batch/rollouts": 16 - zero });
    }
    await session.finish(undefined);
    expect(events.filter(({ type }) => type === "step")).toHaveLength(3);
    const notes = events.flatMap((event) => (event.type === "note" ? [event.message] : []));
    expect(notes).toHaveLength(1);
    expect(notes[0]).toMatch(/smaller batches.*step 2 trains 12 of 16 traces.*batch\/zero_advantage.*advantage_range/u);
  } finally {
    await rm(path, { recursive: true, force: true });
  }
});

test("a signal ends the run in order, also when its events cannot be written any more", async () => {
  const path = await mkdtemp(join(tmpdir(), "prl-session-"));
  const stop = new AbortController();
  const notes: string[] = [];
  try {
    // A pipe whose reader goes away fails as a full disk does.
    const file = join(path, "events.jsonl");
    execFileSync("mkfifo", [file]);
    const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const session = await opened(path, {
      signal: stop.signal,
      onEvent(event) {
        if (event.type === "note") notes.push(event.message);
      },
    });
    closeSync(reader);
    // An error of the listener would be an uncaught exception, which ends the launcher at once.
    stop.abort("SIGINT");
    const summary = await session.finish(new PrlError("PRL_RUN_INTERRUPTED", "the run was interrupted by SIGINT"));
    expect(summary.status).toBe("interrupted");
    expect(notes.join("\n")).toMatch(/Stopping every process[^]*Warning: .*events\.jsonl/u);
  } finally {
    await rm(path, { recursive: true, force: true });
  }
});
