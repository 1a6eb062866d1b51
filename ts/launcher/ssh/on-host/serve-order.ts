/**
 * `prl host-part`, the host's end of an ssh session: carries out the launcher's one order, and ends with the session.
 *
 * When its input ends, when no beat comes for 30 s, or when its output can no longer be written, the launcher is gone: it then ends the part within 8 s
 * and itself within 10, whatever the part does. It keeps nothing on the host but the run directory.
 */
import type { Readable, Writable } from "node:stream";

import { withDeadline } from "../../../async/deadline.ts";
import { describeError, PrlError } from "../../../errors.ts";
import { packageManifest } from "../../../version.ts";
import {
  type HostOrder,
  linesOf,
  orderSchema,
  PROTOCOL,
  type SurveyCheck,
  type SurveyOrder,
  TIME,
} from "../host-protocol.ts";
import { FrameWriter } from "./frame-writer.ts";
import { hostPart } from "./host-part.ts";
import { shareFile } from "./share-file.ts";

/** Longest time until the order is there. */
const ORDER_MS = 60_000;

export interface HostStreams {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Aborted when this process is asked to end. */
  readonly signal: AbortSignal;
  /** Looks at this machine; aborted when the launcher is gone. */
  readonly survey: (order: SurveyOrder, gone: AbortSignal) => Promise<SurveyCheck[]>;
}

/** Resolves when the order is done; errors go to the launcher as a frame. */
export async function serveOrder({ stdin, stdout, signal, survey }: HostStreams): Promise<void> {
  const frames = new FrameWriter(stdout);
  await frames.write({ prl: "hello", protocol: PROTOCOL, version: packageManifest().version });
  const lines = linesOf(stdin);
  try {
    const late = () => new PrlError("PRL_SSH", `no order came within ${ORDER_MS / 1000} s`);
    const { value, done } = await withDeadline(lines.next(), ORDER_MS, late);
    // A launcher that only asked who is there.
    if (done === true) return;
    const order = readOrder(value);
    if (order.do === "part") await hostPart(order, { lines, frames, signal });
    else if (order.do === "share") await frames.write({ prl: "share", isThere: await shareFile(order) });
    else await answerSurvey((gone) => survey(order, gone), lines, frames);
  } catch (error) {
    const { code, message } = describeError(error);
    await frames.write({ prl: "refused", code, message });
  } finally {
    stdin.destroy();
  }
}

/** Sends what the survey finds, and then the time as often as it is asked for. The input's end ends both. */
async function answerSurvey(
  look: (gone: AbortSignal) => Promise<SurveyCheck[]>,
  lines: AsyncIterator<string>,
  frames: FrameWriter,
): Promise<void> {
  const gone = new AbortController();
  const found = look(gone.signal);
  found.catch(() => undefined);
  let next = lines.next();
  const checks = await Promise.race([found, next.then(() => null)]);
  if (checks === null) return gone.abort();
  await frames.write({ prl: "survey", checks });
  for (let line = await next; line.done !== true; line = await next) {
    if (line.value === TIME) await frames.write({ prl: "time", at: performance.timeOrigin + performance.now() });
    next = lines.next();
  }
}

function readOrder(line: string): HostOrder {
  try {
    return orderSchema.parse(JSON.parse(line));
  } catch (cause) {
    const advice = `prl ${packageManifest().version} is here: have the same version on all hosts`;
    throw new PrlError("PRL_SSH", `the order of the launcher cannot be read; ${advice}`, { cause });
  }
}
