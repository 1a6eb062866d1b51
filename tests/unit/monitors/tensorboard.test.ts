/** Event files, read back by a reader of this test's own and, where it is installed, by TensorBoard. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";

import { openMetrics, writeTensorBoard } from "../../../ts/monitors/index.ts";
import { eventRecord } from "../../../ts/monitors/metrics/tensorboard/event-file.ts";

const PYTHON = process.env["PRL_TEST_PYTHON"] ?? "python3";
const run = promisify(execFile);
const hasTensorBoard = await run(PYTHON, ["-c", "import tensorboard"]).then(
  () => true,
  () => false,
);

/** Bit by bit, as the polynomial is defined. */
function crc32c(data: Uint8Array): number {
  let crc = 0xffffffffn;
  for (const byte of data) {
    crc ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit++) crc = crc % 2n === 1n ? (crc / 2n) ^ 0x82f63b78n : crc / 2n;
  }
  return Number(crc ^ 0xffffffffn);
}

function unmask(masked: number): number {
  const rotated = (BigInt(masked) - 0xa282ead8n + (1n << 32n)) % (1n << 32n);
  return Number(((rotated << 15n) | (rotated >> 17n)) % (1n << 32n));
}

function records(file: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < file.length;) {
    const length = Number(file.readBigUInt64LE(at));
    expect(unmask(file.readUInt32LE(at + 8))).toBe(crc32c(file.subarray(at, at + 8)));
    const payload = file.subarray(at + 12, at + 12 + length);
    expect(payload).toHaveLength(length);
    expect(unmask(file.readUInt32LE(at + 12 + length))).toBe(crc32c(payload));
    found.push(payload);
    at += 12 + length + 4;
  }
  return found;
}

type Field = [number: number, value: bigint | Buffer];

function fields(message: Buffer): Field[] {
  const found: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const key = Number(varint());
    const wire = key % 8;
    if (wire === 0) {
      found.push([key >> 3, varint()]);
      continue;
    }
    const size = wire === 1 ? 8 : wire === 5 ? 4 : Number(varint());
    found.push([key >> 3, message.subarray(at, at + size)]);
    at += size;
  }
  expect(at).toBe(message.length);
  return found;
}

const bytesOf = (message: Buffer, number: number): Buffer[] =>
  fields(message).flatMap(([field, value]) => (field === number && typeof value !== "bigint" ? [value] : []));
const numberOf = (message: Buffer, number: number): number =>
  Number(fields(message).find(([field]) => field === number)?.[1] ?? -1);

interface Read {
  step: number;
  version?: string;
  session?: number;
  scalars: [string, number][];
}

function read(payload: Buffer): Read {
  const [version] = bytesOf(payload, 3);
  const [session] = bytesOf(payload, 7);
  const scalars = bytesOf(payload, 5).flatMap((summary) =>
    bytesOf(summary, 1).map((value): [string, number] => [
      String(bytesOf(value, 1)[0]),
      bytesOf(value, 2)[0]?.readFloatLE() ?? NaN,
    ]),
  );
  return {
    step: numberOf(payload, 2),
    scalars,
    ...(version && { version: String(version) }),
    ...(session && { session: numberOf(session, 1) }),
  };
}

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "prl-tensorboard-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

async function eventsIn(dir: string): Promise<Read[]> {
  const [name = ""] = (await readdir(dir)).toSorted();
  expect(name).toMatch(/^events\.out\.tfevents\.\d+\..+/);
  return records(await readFile(join(dir, name))).map(read);
}

describe("event files", () => {
  test("hold any tags, steps and values, each record with its checksums", () => {
    expect(crc32c(Buffer.from("123456789"))).toBe(0xe3069283); // The check value of CRC-32C.
    const scalar = fc.tuple(fc.string({ maxLength: 300, unit: "binary" }), fc.float({ noNaN: true }));
    const event = fc.record({
      step: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
      wallTime: fc.double({ min: 0, max: 4e9, noNaN: true }),
      values: fc.array(scalar, { maxLength: 20 }),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 5 }), (events) => {
        const file = events.map(({ step, wallTime, values }) =>
          eventRecord({ step, wallTime }, { kind: "scalars", values }),
        );
        const payloads = records(Buffer.concat(file));
        expect(payloads.map(read)).toEqual(events.map(({ step, values }) => ({ step, scalars: values })));
        expect(payloads.map((payload) => bytesOf(payload, 1)[0]?.readDoubleLE())).toEqual(
          events.map(({ wallTime }) => wallTime),
        );
      }),
    );
  });
});

describe("the log of a process", () => {
  test("is in its event file: numbers that are finite, under their names, and in metrics.jsonl as before", async () => {
    const dir = await folder();
    const metrics = writeTensorBoard(openMetrics(dir, "trainer", 1), { folder: join(dir, "tb"), startStep: 0 });
    metrics.log(1, { loss: 0.5, "optim/lr": 1e-4, note: "text", broken: NaN });
    metrics.log(300, { loss: 0.25 });
    metrics.log(301, { note: "nothing to draw" });
    metrics.close();
    expect(await eventsIn(join(dir, "tb"))).toEqual([
      { step: 0, version: "brain.Event:2", scalars: [] },
      { step: 0, session: 1, scalars: [] },
      {
        step: 1,
        scalars: [
          ["loss", 0.5],
          ["optim/lr", Math.fround(1e-4)],
        ],
      },
      { step: 300, scalars: [["loss", 0.25]] },
    ]);
    expect((await readFile(join(dir, "metrics.jsonl"), "utf8")).trim().split("\n")).toHaveLength(3);
  });

  test("a folder that cannot be made is named", () => {
    const metrics = { log: () => undefined, event: () => undefined, close: () => undefined };
    const attempt = () => writeTensorBoard(metrics, { folder: "/dev/null/tb", startStep: 0 });
    expect(attempt).toThrow(
      expect.objectContaining({ code: "PRL_IO", message: expect.stringContaining("/dev/null/tb") }),
    );
  });

  const name = "TensorBoard reads it, and of a resumed run only what counts";
  test.skipIf(!hasTensorBoard)(`${name}${hasTensorBoard ? "" : ` (${PYTHON} has no tensorboard)`}`, async () => {
    const dir = await folder();
    const attempt = (startStep: number, steps: readonly number[], of: number) => {
      const metrics = writeTensorBoard(openMetrics(dir, "trainer", 1), { folder: join(dir, "tb"), startStep });
      for (const step of steps) metrics.log(step, { "reward/mean": of + step });
      metrics.close();
    };
    attempt(0, [1, 2, 3, 4], 10);
    attempt(2, [3, 5], 20);
    const script = [
      "import json, sys",
      "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator",
      "events = EventAccumulator(sys.argv[1]).Reload()",
      "print(json.dumps([[e.step, e.value] for e in events.Scalars('reward/mean')]))",
    ].join("\n");
    const { stdout } = await run(PYTHON, ["-c", script, join(dir, "tb")]);
    expect(JSON.parse(stdout)).toEqual([
      [1, 11],
      [2, 12],
      [3, 23],
      [5, 25],
    ]);
  });
});
