/** Records, and what happens to the files that hold them. */
import { between, sample, shuffled } from "../../../../../random/draws.ts";
import type { Rng } from "../../../../../random/rng.ts";
import { distinct, word } from "../../../../builtin/words.ts";
import { at, range } from "../../../lists.ts";
import type { Level } from "../../../row.ts";
import { FIELDS, type Format, frameOf, numberBytes, type Version } from "./frames.ts";

export interface Dump {
  readonly format: Format;
  readonly folder: string;
  /** Bytes of the files as hexadecimal numbers, by name. */
  readonly files: readonly (readonly [name: string, hex: string])[];
}

/** By level. */
const SIZES = [
  { records: 16, versions: 1, files: 2, damaged: 0.35, copied: 0.15, writers: 0, gone: 0, lengths: false },
  { records: 24, versions: 2, files: 3, damaged: 0.35, copied: 0.15, writers: 0, gone: 0, lengths: false },
  { records: 34, versions: 2, files: 3, damaged: 0.35, copied: 0.2, writers: 2, gone: 0.1, lengths: false },
  { records: 48, versions: 3, files: 4, damaged: 0.4, copied: 0.2, writers: 2, gone: 0.12, lengths: true },
  { records: 70, versions: 3, files: 6, damaged: 0.45, copied: 0.25, writers: 3, gone: 0.15, lengths: true },
] as const;

export interface Drawn extends Dump {
  /** All versions that were ever written. */
  readonly written: readonly Version[];
  /** Damaged frames and chunks. */
  readonly damages: number;
}

export function drawDump(rng: Rng, level: Level): Drawn {
  const size = at(SIZES, level - 1);
  const format: Format = {
    marker: rng.pick(["~#", "%>", "@:", "$=", "&!"]),
    isLittle: rng.integer(2) === 0,
    separator: rng.pick(["|", ";", "\t"]),
    fields: shuffled(FIELDS, rng),
    isChunked: size.writers > 0,
  };
  const written = versionsOf(size, format, level, rng);
  const copies = sample(written, Math.floor(size.copied * written.length), rng);
  const all = shuffled([...written, ...copies], rng);
  let damages = 0;
  const frames = all.map((version) => {
    const frame = frameOf(format, version);
    if (rng.next() >= size.damaged) return frame;
    damages += 1;
    return damaged(frame, size.lengths, rng);
  });
  const names = range(size.files).map((index) => `part-${String(index + 1).padStart(3, "0")}.bin`);
  const streams = size.writers > 0 ? size.writers : size.files;
  const segments = range(streams).map((stream) =>
    truncated(
      Buffer.concat(
        withGarbage(
          frames.filter((_, index) => index % streams === stream),
          rng,
        ),
      ),
      rng,
    ),
  );
  const files = size.writers > 0 ? chunked(segments, { count: size.files, level, format, rng }) : segments;
  return {
    format,
    folder: word(rng),
    files: names.map((name, index) => [name, Buffer.from(at(files, index)).toString("hex")]),
    written,
    damages: damages + streams + (size.writers > 0 ? level : 0),
  };
}

function versionsOf(size: (typeof SIZES)[number], { marker }: Format, level: Level, rng: Rng): Version[] {
  const ids = distinct(size.records, () => `${rng.pick("abcdefgh")}${between(rng, 1000, 9999)}`);
  return ids.flatMap((id) => {
    const first = between(rng, 1, 4);
    const count = between(rng, 1, size.versions);
    return range(count).map((index): Version => {
      const isGone = index > 0 && index === count - 1 && rng.next() < 2 * size.gone;
      const joint = level > 1 && rng.integer(8) === 0 ? marker : " ";
      return {
        id,
        version: first + index,
        kind: isGone ? "gone" : "set",
        text: `${word(rng)}${joint}${word(rng)}`,
        amount: between(rng, -500, 9_999),
      };
    });
  });
}

/** One flipped bit behind the marker, or so many wrong bytes that nothing can be verified. */
function damaged(frame: Uint8Array, lengths: boolean, rng: Rng): Uint8Array {
  const copy = Uint8Array.from(frame);
  const flip = (index: number): void => {
    copy[index] = at(copy, index) ^ (1 << rng.integer(8));
  };
  if (lengths && rng.integer(4) === 0) flip(between(rng, 2, 3));
  else if (rng.integer(5) < 3) flip(between(rng, 4, copy.length - 1));
  else {
    // A digit of the payload becomes another one as well, so that the record looks whole.
    const digits = [...copy.keys()].filter((index) => index > 3 && index < copy.length - 4 && isDigit(at(copy, index)));
    for (const index of sample(digits, 2, rng)) copy[index] = 48 + ((at(copy, index) - 48 + between(rng, 1, 9)) % 10);
    if (rng.integer(3) === 0) for (const index of range(3)) copy[copy.length - 6 - index] = rng.integer(256);
  }
  return copy;
}

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57;
}

function withGarbage(frames: readonly Uint8Array[], rng: Rng): Uint8Array[] {
  return frames.flatMap((frame) => {
    if (rng.integer(5) > 0) return [frame];
    return [frame, Uint8Array.from(range(between(rng, 1, 24)), () => rng.integer(256))];
  });
}

/** The end is cut off in the middle of a frame. */
function truncated(segment: Uint8Array, rng: Rng): Uint8Array {
  return segment.subarray(0, segment.length - between(rng, 3, 18));
}

interface ChunkDraw {
  readonly count: number;
  readonly level: Level;
  readonly format: Format;
  readonly rng: Rng;
}

/** Chunks of all writers in files: some lost, from level 4 on out of order, at level 5 some twice. */
function chunked(segments: readonly Uint8Array[], { count, level, format, rng }: ChunkDraw): Uint8Array[] {
  const queues = segments.map((segment, writer) => {
    const chunks: Uint8Array[] = [];
    for (let from = 0; from < segment.length;) {
      const size = between(rng, 24, 110);
      const part = segment.subarray(from, from + size);
      const head = [
        writer + 1,
        ...numberBytes(chunks.length, 2, format.isLittle),
        ...numberBytes(part.length, 2, format.isLittle),
      ];
      chunks.push(Uint8Array.from([...head, ...part]));
      from += size;
    }
    const lost = between(rng, 1, chunks.length - 2);
    return chunks.filter((_, index) => index !== lost);
  });
  const joined: Uint8Array[] = [];
  for (let left = queues; left.length > 0; left = left.filter((queue) => queue.length > 0)) {
    const next = rng.pick(left).shift();
    if (next !== undefined) joined.push(next);
  }
  const twice = level > 4 ? sample(joined, 4, rng) : [];
  const order = level > 3 ? shuffled([...joined, ...twice], rng) : joined;
  const each = Math.ceil(order.length / count);
  return range(count).map((index) => Buffer.concat(order.slice(index * each, (index + 1) * each)));
}
