/** A part on its host, which is a program that stands in for prl. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { type PartOrder, PROTOCOL, readFrame } from "../../../../ts/launcher/ssh/host-protocol.ts";
import { serveOrder } from "../../../../ts/launcher/ssh/on-host/serve-order.ts";
import type { SelfCommand } from "../../../../ts/self-command.ts";
import { folderWith } from "../../config/support.ts";

const standIn: SelfCommand = { command: process.execPath, args: [] };
vi.mock("../../../../ts/self-command.ts", () => ({ selfCommand: () => standIn }));

// A host's process ends itself in time; this one is that of the test.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(async () => {
  await setImmediate();
  vi.useRealTimers();
});

/** The frames of a host whose part is `program`, until it ends by itself. */
async function framesOf(program: string, change: (runDir: string) => Partial<PartOrder>): Promise<unknown[]> {
  const runDir = folderWith({ "program.mjs": program });
  standIn.args = [join(runDir, "program.mjs")];
  const place = { do: "part", protocol: PROTOCOL, name: "inference-0", component: "inference", runDir } as const;
  const kind = { command: "inference", index: 0, kind: "serve", configs: { "rl.toml": "" } } as const;
  const rest = { attempt: 1, resume: null, env: {}, log: { maxBytes: 1_000_000, keep: 1 }, follow: {} } as const;
  const order = { ...place, ...kind, ...rest, ...change(runDir) };
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  stdin.write(`${JSON.stringify(order)}\n`);
  const said = text(stdout);
  const { signal } = new AbortController();
  await serveOrder({ stdin, stdout, signal, survey: () => Promise.resolve([]) });
  stdout.end();
  return (await said).split("\n").map((line) => readFrame(line));
}

test("a file that can no longer be sent ends the part, and the launcher gets the reason", async () => {
  const frames = await framesOf(`setInterval(() => undefined, 1000);`, (runDir) => {
    // A folder opens like a file, and cannot be read.
    mkdirSync(join(runDir, "events.jsonl"));
    writeFileSync(join(runDir, "metrics.jsonl"), "");
    return { follow: { "metrics.jsonl": 0, "events.jsonl": 0 } };
  });
  expect(frames).toContainEqual(
    expect.objectContaining({
      prl: "refused",
      code: "PRL_IO",
      message: expect.stringMatching(/cannot read .*events\.jsonl/u),
    }),
  );
});
