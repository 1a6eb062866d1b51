/** The lines between launcher and host, the files that they carry, and what the launcher has of them. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import * as fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";

import { Collector, receivedBytes } from "../../../../ts/launcher/ssh/collector.ts";
import { type Frame, linesOf, readFrame } from "../../../../ts/launcher/ssh/host-protocol.ts";
import { LineFollower } from "../../../../ts/files/line-follower.ts";

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "prl-ssh-unit-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Cuts bytes at some places. */
function chunks(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

describe("lines", () => {
  test("come out as they went in, however the stream is cut", async () => {
    const line = fc.string({ unit: "binary" }).map((text) => text.replaceAll("\n", " "));
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.array(fc.nat()), async (lines, cuts) => {
        const bytes = Buffer.from(lines.map((one) => `${one}\n`).join(""));
        const expected = lines.map((one) => Buffer.from(one).toString());
        expect(await collected(linesOf(Readable.from(chunks(bytes, cuts))))).toEqual(expected);
      }),
    );
  });

  test("above the bound are an error, not memory", async () => {
    const endless = Readable.from(Array.from({ length: 200 }, () => Buffer.alloc(64 * 1024, "x")));
    await expect(collected(linesOf(endless))).rejects.toThrow("a line of more than");
  });

  test("that are no frames are not taken for one", () => {
    const end: Frame = { prl: "end", code: null, signal: "SIGKILL", note: null };
    expect(readFrame(JSON.stringify(end))).toEqual(end);
    const others = [
      "",
      "Welcome to host",
      "{",
      '{"prl":"end"}',
      '{"prl":"other"}',
      '{"prl":"beat","more":1}',
      "[]",
      "null",
    ];
    expect(others.map((line) => readFrame(line))).toEqual(others.map(() => null));
    fc.assert(fc.property(fc.string(), (line) => readFrame(line) === null));
  });
});

describe("a followed file", () => {
  test("is sent whole, in whole lines, however it grows", async () => {
    const line = fc.string({ unit: "binary", maxLength: 40 }).map((text) => `${text.replaceAll("\n", " ")}\n`);
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.array(fc.nat()), fc.nat(), async (lines, cuts, skip) => {
        const path = join(folder(), "log");
        const bytes = Buffer.from(lines.join(""));
        const from = skip % (lines.length + 1);
        const offset = Buffer.byteLength(lines.slice(0, from).join(""));
        const follower = new LineFollower(path, offset, 256);
        const pieces: string[] = [];
        for (const chunk of chunks(bytes, cuts)) {
          appendFileSync(path, chunk);
          pieces.push(...(await collected(follower.poll())));
        }
        expect(pieces.join("")).toBe(bytes.subarray(offset).toString());
        expect(pieces.every((piece) => piece.endsWith("\n"))).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  test("has its torn last line only when it grows no more, and a line above a piece in pieces of whole characters", async () => {
    const path = join(folder(), "log");
    writeFileSync(path, `whole\n${"é".repeat(300)}`);
    const follower = new LineFollower(path, 0, 101);
    const before = await collected(follower.poll());
    const after = await collected(follower.poll(true));
    expect([...before, ...after].join("")).toBe(`whole\n${"é".repeat(300)}`);
    expect(before[0]).toBe("whole\n");
    expect(after.join("")).not.toContain("\ufffd");
    expect(await collected(new LineFollower(join(folder(), "none"), 0, 100).poll(true))).toEqual([]);
  });

  test("is not sent again when a torn line was removed from it", async () => {
    const path = join(folder(), "metrics");
    writeFileSync(path, "one\ntor");
    const follower = new LineFollower(path, 0, 100);
    expect(await collected(follower.poll())).toEqual(["one\n"]);
    writeFileSync(path, "one\n");
    expect(await collected(follower.poll())).toEqual([]);
    appendFileSync(path, "two\n");
    expect(await collected(follower.poll())).toEqual(["two\n"]);
  });
});

describe("the launcher's share of the files", () => {
  const line = (component: string, text: string) => `${JSON.stringify({ component, text })}\n`;

  test("is counted by the components of each host, without the launcher's lines and a torn one", async () => {
    const dir = folder();
    const [trainer, sft, orchestrator] = [line("trainer", "ä"), line("sft", "b"), line("orchestrator", "cc")];
    writeFileSync(
      join(dir, "metrics.jsonl"),
      `${trainer}${line("launcher", "x")}${orchestrator}${sft}{"component":"tr`,
    );
    const bytes = (...lines: string[]) => Buffer.byteLength(lines.join(""));
    const of = async (owner: "all" | "trainer" | "others") => (await receivedBytes(dir, owner))["metrics.jsonl"];
    expect(await of("all")).toBe(bytes(trainer, sft, orchestrator));
    expect(await of("trainer")).toBe(bytes(trainer, sft));
    expect(await of("others")).toBe(bytes(orchestrator));
    expect(await receivedBytes(folder(), "all")).toEqual({ "metrics.jsonl": 0, "events.jsonl": 0 });
  });

  test("goes to the logs and the two files of the run, and to no other path", async () => {
    const dir = folder();
    const collector = new Collector(dir, dir);
    await collector.log("trainer-0", "one\n");
    await collector.log("trainer-0", "two\n");
    await collector.lines("events.jsonl", line("trainer", "x"));
    await collector.lines("../escaped", "x");
    expect(readFileSync(join(dir, "trainer-0.log"), "utf8")).toBe("one\ntwo\n");
    expect(await receivedBytes(dir, "all")).toMatchObject({ "events.jsonl": Buffer.byteLength(line("trainer", "x")) });
    expect(() => readFileSync(join(dir, "../escaped"))).toThrow("ENOENT");
  });
});
