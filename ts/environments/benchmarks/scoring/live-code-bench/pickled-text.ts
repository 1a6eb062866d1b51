/**
 * Reads a Python pickle that holds one text and nothing else.
 *
 * A pickle is a program. This reader runs none: it knows the one shape that Python writes for a `str` (protocols 2 to 5) and refuses every other
 * byte, so that data from outside can do nothing but be a text.
 */
import { PrlError } from "../../../../errors.ts";

const PROTO = 0x80;
const FRAME = 0x95;
const STOP = 0x2e;
const MEMOIZE = 0x94;
const BINPUT = 0x71;
const LEAST_PROTOCOL = 2;
const MOST_PROTOCOL = 5;
/** Opcodes of a text, and how many bytes its length has: SHORT_BINUNICODE, BINUNICODE, BINUNICODE8. */
const LENGTH_BYTES: ReadonlyMap<number, number> = new Map([
  [0x8c, 1],
  [0x58, 4],
  [0x8d, 8],
]);

/** Errors: PRL_DATA_FORMAT for anything but one text. */
export function pickledText(bytes: Buffer): string {
  let at = 0;
  const refuse = (what: string): never => {
    throw new PrlError("PRL_DATA_FORMAT", `a pickle that is no plain text: ${what} at byte ${at}`);
  };
  const take = (count: number): Buffer => {
    if (at + count > bytes.length) refuse("it ends early");
    at += count;
    return bytes.subarray(at - count, at);
  };
  /** A frame only announces how many bytes follow. */
  const skipFrame = (): void => {
    if (bytes[at] === FRAME) take(9);
  };
  if (take(1)[0] !== PROTO) refuse("it begins with no protocol");
  const protocol = take(1)[0] ?? 0;
  if (protocol < LEAST_PROTOCOL || protocol > MOST_PROTOCOL) refuse(`protocol ${protocol}`);
  skipFrame();
  const opcode = take(1)[0] ?? 0;
  const width = LENGTH_BYTES.get(opcode) ?? refuse(`opcode 0x${opcode.toString(16)}`);
  const length = width === 8 ? Number(take(8).readBigUInt64LE()) : take(width).readUIntLE(0, width);
  const text = take(length);
  skipFrame();
  if (bytes[at] === MEMOIZE) take(1);
  else if (bytes[at] === BINPUT) take(2);
  if (take(1)[0] !== STOP) refuse("a second opcode");
  if (at !== bytes.length) refuse("more behind its end");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(text);
  } catch {
    return refuse("bytes that are no UTF-8");
  }
}
