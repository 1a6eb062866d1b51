/** What a process says with its heartbeats comes out at the other end, however the bytes are cut. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { HeartbeatReader, heartbeatLine } from "../../../ts/monitors/heartbeat.ts";

const read = (...texts: string[]) => {
  const reader = new HeartbeatReader();
  for (const text of texts) reader.push(text);
  return reader.standstill;
};
const work = "prl_native::trainer::step";

describe("a heartbeat", () => {
  test("names work that has not got on, from its second time on", () => {
    expect(heartbeatLine({ work, ms: 2_000.4 })).toBe(`2000 ${work}\n`);
    expect(read("2000 step\n")).toBeNull();
    expect(read("2000 step\n", "3000 step\n")).toEqual({ work: "step", ms: 2_000 });
  });

  test("names none while there is none, or it gets on", () => {
    expect(heartbeatLine(null)).toBe("\n");
    expect(heartbeatLine({ work, ms: 999 })).toBe("\n");
    expect(read("2000 step\n", "\n")).toBeNull();
    expect(read("\n", "2000 step\n")).toBeNull();
    // It got on in between, as after a SIGCONT.
    expect(read("60000 step\n", "1500 step\n")).toBeNull();
  });

  test("is the same however the bytes are cut, whatever the name of the work has in it", () => {
    const standstill = fc.record({ work: fc.string({ minLength: 1 }), ms: fc.integer({ min: 1_000, max: 2 ** 40 }) });
    fc.assert(
      fc.property(standstill, fc.infiniteStream(fc.integer({ min: 1, max: 9 })), (still, cuts) => {
        const line = heartbeatLine(still);
        expect(line.match(/\n/gu)).toHaveLength(1);
        const parts: string[] = [];
        for (let text = line + line; text !== ""; text = text.slice(parts.at(-1)?.length)) {
          parts.push(text.slice(0, cuts.next().value ?? 1));
        }
        expect(read(...parts)).toEqual({ work: still.work.replaceAll(/[^\u0021-\u007e]/gu, " "), ms: still.ms });
      }),
    );
  });

  test("without an end is not kept", () => {
    const reader = new HeartbeatReader();
    for (let i = 0; i < 100; i++) reader.push("x".repeat(1_000));
    reader.push("\n2000 step\n2000 step\n");
    expect(reader.standstill).toEqual({ work: "step", ms: 2_000 });
  });
});
