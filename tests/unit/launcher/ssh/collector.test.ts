/** What the launcher of a run over ssh has received from its hosts, as its files say. */
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";

import { Collector, receivedBytes, removeTornLines } from "../../../../ts/launcher/ssh/collector.ts";
import { LineFollower } from "../../../../ts/files/line-follower.ts";
import { FRAME_BYTES } from "../../../../ts/launcher/ssh/host-protocol.ts";
import { folderWith } from "../../config/support.ts";

const line = (component: string, more = "") => `${JSON.stringify({ component, attempt: 1, more })}\n`;
const OF_HOST = line("orchestrator", "é".repeat(200_000)) + line("trainer");
const OWN = line("launcher");

test("the part of a line that a launcher has left which died is removed, and counts for no host with the next line", async () => {
  const folder = folderWith({ "events.jsonl": `${OWN}${OF_HOST}{"component":"orch` });
  await removeTornLines(folder);
  appendFileSync(join(folder, "events.jsonl"), OWN);
  expect(readFileSync(join(folder, "events.jsonl"), "utf8")).toBe(OWN + OF_HOST + OWN);
  expect(await receivedBytes(folder, "all")).toEqual({
    "metrics.jsonl": 0,
    "events.jsonl": Buffer.byteLength(OF_HOST),
  });
});

test("a torn line longer than what is read at once is removed whole", async () => {
  const folder = folderWith({ "events.jsonl": OWN + OF_HOST.slice(0, 190_000) });
  await removeTornLines(folder);
  expect(readFileSync(join(folder, "events.jsonl"), "utf8")).toBe(OWN);
});

test("a line of a host whose process died within a character counts as many bytes here as there", async () => {
  const bytes = Buffer.from(line("orchestrator", "é"));
  const torn = bytes.subarray(0, bytes.indexOf("é") + 1);
  const there = Buffer.concat([torn, bytes, bytes]);
  const path = join(folderWith({}), "events.jsonl");
  writeFileSync(path, there);
  const folder = folderWith({});
  const collector = new Collector(folder, folder);
  for await (const piece of new LineFollower(path, 0, FRAME_BYTES).poll()) await collector.lines("events.jsonl", piece);
  expect((await receivedBytes(folder, "all"))["events.jsonl"]).toBe(there.length);
  expect(readFileSync(join(folder, "events.jsonl"), "utf8").split("\n")[1]).toBe(String(bytes).trim());
});

test("a line that the launcher adds while the bytes are counted stays", async () => {
  const folder = folderWith({ "events.jsonl": OF_HOST });
  const path = join(folder, "events.jsonl");
  const probe = await open(path);
  const handle = Object.getPrototypeOf(probe) as typeof probe;
  await probe.close();
  const stat = Reflect.get(handle, "stat") as (this: typeof probe) => Promise<Stats>;
  vi.spyOn(handle, "stat").mockImplementation(async function (this: typeof probe) {
    const found = await stat.call(this);
    // Ctrl-C is noted between two steps of the count.
    if (readFileSync(path, "utf8") === OF_HOST) writeFileSync(path, OWN, { flag: "a" });
    return found;
  });
  onTestFinished(() => void vi.restoreAllMocks());
  expect(await receivedBytes(folder, "all")).toEqual({
    "metrics.jsonl": 0,
    "events.jsonl": Buffer.byteLength(OF_HOST),
  });
  expect(readFileSync(path, "utf8")).toBe(OF_HOST + OWN);
});

test.runIf(process.getuid?.() === 0)("a full disk leaves no part of a line", async () => {
  const folder = join(folderWith({}), "small");
  mkdirSync(folder);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "prl-test", folder]);
  try {
    const collector = new Collector(folder, folder);
    await collector.lines("events.jsonl", OWN);
    const text = line("orchestrator", "x".repeat(100_000));
    // The lines of two hosts come at the same time.
    const texts = [text, line("trainer"), text, line("trainer")];
    const added = await Promise.allSettled(texts.map((one) => collector.lines("events.jsonl", one)));
    const message = expect.stringMatching(/cannot append to .*events\.jsonl/u) as string;
    const refused = { status: "rejected", reason: { code: "PRL_IO", message } };
    expect(added).toMatchObject([refused, { status: "fulfilled" }, refused, { status: "fulfilled" }]);
    expect(readFileSync(join(folder, "events.jsonl"), "utf8")).toBe(OWN + line("trainer") + line("trainer"));
  } finally {
    execFileSync("umount", [folder]);
  }
});
