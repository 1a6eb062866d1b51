/** Frames to a launcher that reads slowly, or no longer. */
import { getEventListeners } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";

import { FrameWriter } from "../../../../ts/launcher/ssh/on-host/frame-writer.ts";

const FRAME = { prl: "log", text: "x".repeat(100) } as const;

test("a wait for a slow launcher leaves nothing behind", async () => {
  const output = new PassThrough({ highWaterMark: 1 });
  const frames = new FrameWriter(output);
  for (let count = 0; count < 20; count++) {
    const written = frames.write(FRAME);
    output.read();
    await written;
  }
  expect(getEventListeners(frames.lost, "abort")).toEqual([]);
  expect(output.listenerCount("drain")).toBe(new PassThrough().listenerCount("drain"));
});

test("a launcher that is gone ends the wait, and further frames are dropped", async () => {
  const output = new PassThrough({ highWaterMark: 1 });
  const frames = new FrameWriter(output);
  const written = frames.write(FRAME);
  output.destroy();
  await written;
  await frames.write(FRAME);
  expect(frames.lost.aborted).toBe(true);
  expect(getEventListeners(frames.lost, "abort")).toEqual([]);
});
