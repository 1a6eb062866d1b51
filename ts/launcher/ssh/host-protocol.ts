/**
 * The messages of the launcher and `prl host-part` over one ssh session: lines of JSON.
 *
 * To the host: one order, then a beat each second, and `stop` or `kill`. The end of the input is the end of the part. From the host: frames. A line
 * that is no frame, such as what a login script of the host prints, goes to the part's log as it is.
 */
import { z } from "zod";

/** Both sides must have the same number; it changes with every change of the forms below. */
export const PROTOCOL = 3;
export const BEAT_MS = 1_000;
/** Without a beat for this long, the launcher or its machine is gone. */
export const SILENCE_MS = 30_000;
/** Bytes of a log or a metrics file in one frame, and of the longest line that is kept together. */
export const FRAME_BYTES = 256 * 1024;
/** Longest line that is read: an order with its configs; a frame whose every byte is escaped. */
const LONGEST_LINE = 8 * 1024 * 1024;
const NEWLINE = 0x0a;

export const STOP = "stop";
export const KILL = "kill";
export const BEAT = ".";
/** Asks for the host's clock, after a survey. */
export const TIME = "time";

const text = z.string();
const count = z.int().nonnegative();

export const partOrderSchema = z.strictObject({
  do: z.literal("part"),
  protocol: z.literal(PROTOCOL),
  name: text,
  component: z.enum(["trainer", "orchestrator", "inference", "env-worker"]),
  command: z.enum(["trainer", "orchestrator", "inference", "env-server"]),
  index: count,
  kind: z.enum(["work", "serve"]),
  /** Absolute path on the host. */
  runDir: text.regex(/^\//u),
  /** Files of configs, by their names in `<runDir>/ssh/`. The first one is the run's. */
  configs: z.record(text.regex(/^[a-z][a-z0-9-]*\.toml$/u), text),
  attempt: z.int().positive(),
  resume: z.union([z.literal("latest"), z.int().positive()]).nullable(),
  /** Variables of the part, the run's key among them. */
  env: z.record(text, text),
  /** Limits of the part's log on the host; all of it was sent before. */
  log: z.strictObject({ maxBytes: count, keep: z.int().positive() }),
  /** Files of the run directory whose lines are sent, each from this byte on. */
  follow: z.record(text.regex(/^[a-z]+\.jsonl$/u), count),
});
export type PartOrder = z.output<typeof partOrderSchema>;

export const surveyOrderSchema = z.strictObject({
  do: z.literal("survey"),
  protocol: z.literal(PROTOCOL),
  /** The working directory of the host, absolute. */
  dir: text.regex(/^\//u),
  /** Variables that the parts on the host have. */
  env: z.record(text, text),
});
export type SurveyOrder = z.output<typeof surveyOrderSchema>;

const shareOrderSchema = z.strictObject({
  do: z.literal("share"),
  protocol: z.literal(PROTOCOL),
  /** One host writes a file, another one looks for it, the first one removes it. */
  act: z.enum(["write", "look", "remove"]),
  /** Absolute path of the file. */
  path: text.regex(/^\//u),
});
export type ShareOrder = z.output<typeof shareOrderSchema>;

export const orderSchema = z.discriminatedUnion("do", [partOrderSchema, surveyOrderSchema, shareOrderSchema]);
export type HostOrder = z.output<typeof orderSchema>;

const checkSchema = z.strictObject({
  name: text,
  status: z.enum(["ok", "warning", "problem"]),
  detail: text,
  fix: text.exactOptional(),
  alike: text.exactOptional(),
});
/** One finding of a survey. */
export type SurveyCheck = z.output<typeof checkSchema>;

const noteSchema = z.strictObject({ pid: z.int(), code: text, message: text, at: z.number() });

export const frameSchema = z.discriminatedUnion("prl", [
  /** The first frame. */
  z.strictObject({ prl: z.literal("hello"), protocol: z.int(), version: text }),
  z.strictObject({ prl: z.literal("started"), pid: z.int() }),
  z.strictObject({ prl: z.literal("log"), text }),
  /** Nothing new. */
  z.strictObject({ prl: z.literal("beat") }),
  /** Whole lines of a followed file. */
  z.strictObject({ prl: z.literal("lines"), file: text, text }),
  /** The orchestrator of a run that is continued goes on from the checkpoint of this step. */
  z.strictObject({ prl: z.literal("begun"), step: count }),
  /** A part that serves has ended and is started again. */
  z.strictObject({ prl: z.literal("again"), how: text }),
  /** The last frame of a part. */
  z.strictObject({
    prl: z.literal("end"),
    code: z.int().nullable(),
    signal: text.nullable(),
    note: noteSchema.nullable(),
  }),
  /** The result of a survey. The host then answers `time` with its clock, until its input ends. */
  z.strictObject({ prl: z.literal("survey"), checks: z.array(checkSchema) }),
  /** Milliseconds since 1970, on the host's clock. */
  z.strictObject({ prl: z.literal("time"), at: z.number() }),
  /** Whether the file of a `share` order is there. */
  z.strictObject({ prl: z.literal("share"), isThere: z.boolean() }),
  /** The last frame where the order could not be carried out. */
  z.strictObject({ prl: z.literal("refused"), code: text, message: text }),
]);
export type Frame = z.output<typeof frameSchema>;

/** The frame in a line; null for any other line. */
export function readFrame(line: string): Frame | null {
  if (!line.startsWith("{")) return null;
  try {
    return frameSchema.parse(JSON.parse(line));
  } catch {
    return null;
  }
}

/** The lines of a stream, without their ends; what follows the last end is a line too. A line above the bound is an error. */
export async function* linesOf(stream: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...rest, bytes.subarray(start, end)]).toString("utf8");
      rest = [];
      length = 0;
      start = end + 1;
    }
    rest.push(bytes.subarray(start));
    length += bytes.length - start;
    if (length > LONGEST_LINE) throw new RangeError(`a line of more than ${LONGEST_LINE} bytes`);
  }
  if (length > 0) yield Buffer.concat(rest).toString("utf8");
}
