/** Frames with checksums: how they are written, and how records are read again from damaged bytes. */
import { crc32 } from "node:zlib";

import { at, range } from "../../../lists.ts";

export const FIELDS = ["id", "version", "kind", "text", "amount"] as const;
export type Field = (typeof FIELDS)[number];

export interface Format {
  /** Two ASCII characters at the begin of a frame. */
  readonly marker: string;
  readonly isLittle: boolean;
  readonly separator: string;
  readonly fields: readonly Field[];
  /** Files are made of numbered chunks of several writers. Else each file is a segment. */
  readonly isChunked: boolean;
}

export interface Version {
  readonly id: string;
  readonly version: number;
  readonly kind: "set" | "gone";
  readonly text: string;
  readonly amount: number;
}

/** What a reader can do; the gold script can do all. */
export interface Skill {
  /** Compares checksums. */
  readonly checks: boolean;
  /** Finds a single flipped bit in payload and checksum, and in the length. */
  readonly bits: boolean;
  readonly lengths: boolean;
  /** Goes on behind a damaged frame. */
  readonly goesOn: boolean;
  /** Takes the highest version of a record, and not the last one that it reads. */
  readonly versions: boolean;
  readonly gone: boolean;
  /** Takes chunks apart, and in the order of their numbers. */
  readonly chunks: boolean;
  readonly order: boolean;
}

export const FULL_SKILL: Skill = {
  checks: true,
  bits: true,
  lengths: true,
  goesOn: true,
  versions: true,
  gone: true,
  chunks: true,
  order: true,
};

/** No payload is longer. */
export const MOST_PAYLOAD = 120;
const LENGTH_BYTES = 2;
const CHECK_BYTES = 4;
const HEAD_BYTES = 2 + LENGTH_BYTES;
export const CHUNK_HEAD = 5;

/**
 * The flipped bit by the difference that it makes to the checksum. CRC-32 is linear, so that the difference depends on the bit and on the
 * number of bytes behind it alone.
 */
const FLIPS: ReadonlyMap<number, { readonly bit: number; readonly behind: number }> = new Map(
  range(MOST_PAYLOAD + LENGTH_BYTES).flatMap((behind) =>
    range(8).map((bit) => {
      const zeros = new Uint8Array(behind + 1);
      const flipped = Uint8Array.from(zeros);
      flipped[0] = 1 << bit;
      return [(crc32(zeros) ^ crc32(flipped)) >>> 0, { bit, behind }] as const;
    }),
  ),
);

export function numberBytes(value: number, count: number, isLittle: boolean): number[] {
  const bytes = range(count).map((index) => Math.floor(value / 256 ** index) % 256);
  return isLittle ? bytes : bytes.reverse();
}

function numberAt(bytes: Uint8Array, from: number, count: number, isLittle: boolean): number {
  const taken = [...bytes.subarray(from, from + count)];
  return (isLittle ? taken.reverse() : taken).reduce((value, byte) => value * 256 + byte, 0);
}

export function frameOf({ marker, isLittle, separator, fields }: Format, record: Version): Uint8Array {
  const payload = Buffer.from(fields.map((field) => String(record[field])).join(separator), "latin1");
  const checked = Uint8Array.from([...numberBytes(payload.length, LENGTH_BYTES, isLittle), ...payload]);
  return Uint8Array.from([
    ...Buffer.from(marker, "latin1"),
    ...checked,
    ...numberBytes(crc32(checked), CHECK_BYTES, isLittle),
  ]);
}

/** The latest versions that a reader finds in files, without those that are gone. */
export function recovered(format: Format, files: readonly Uint8Array[], skill: Skill): Version[] {
  const latest = new Map<string, Version>();
  for (const segment of segmentsOf(format, files, skill)) {
    for (const found of versionsIn(format, segment, skill)) {
      const known = latest.get(found.id);
      if (known === undefined || !skill.versions || found.version > known.version) latest.set(found.id, found);
    }
  }
  return [...latest.values()].filter(({ kind }) => !skill.gone || kind === "set");
}

function segmentsOf({ isChunked, isLittle }: Format, files: readonly Uint8Array[], skill: Skill): Uint8Array[] {
  if (!isChunked || !skill.chunks) return [...files];
  const writers = new Map<number, Map<number, Uint8Array>>();
  for (const file of files) {
    for (let from = 0; from + CHUNK_HEAD <= file.length;) {
      const size = numberAt(file, from + 3, 2, isLittle);
      const end = from + CHUNK_HEAD + size;
      const chunks = writers.get(at(file, from)) ?? new Map<number, Uint8Array>();
      chunks.set(numberAt(file, from + 1, 2, isLittle), file.subarray(from + CHUNK_HEAD, end));
      writers.set(at(file, from), chunks);
      from = end;
    }
  }
  return [...writers].map(([, chunks]) => {
    const parts = [...chunks];
    return Buffer.concat((skill.order ? parts.toSorted(([a], [b]) => a - b) : parts).map(([, part]) => part));
  });
}

function versionsIn(format: Format, bytes: Uint8Array, skill: Skill): Version[] {
  const marker = Buffer.from(format.marker, "latin1");
  const found: Version[] = [];
  for (let from = 0; from + HEAD_BYTES + CHECK_BYTES <= bytes.length;) {
    const isMarked = bytes[from] === marker[0] && bytes[from + 1] === marker[1];
    const frame = isMarked ? frameAt(format, bytes, from, skill) : null;
    if (frame === null && !skill.goesOn) break;
    if (frame !== null) found.push(frame.version);
    from = frame?.end ?? from + 1;
  }
  return found;
}

interface Frame {
  readonly version: Version;
  readonly end: number;
}

function frameAt(format: Format, bytes: Uint8Array, from: number, skill: Skill): Frame | null {
  const { isLittle } = format;
  const length = numberAt(bytes, from + 2, LENGTH_BYTES, isLittle);
  const end = from + HEAD_BYTES + length + CHECK_BYTES;
  if (length <= MOST_PAYLOAD && end <= bytes.length) {
    const checked = bytes.slice(from + 2, end);
    if (!skill.checks || isVerified(checked, isLittle)) return asFrame(format, checked, end);
    if (skill.bits && mended(checked, isLittle)) return asFrame(format, checked, end);
  }
  for (const bit of skill.lengths ? range(16) : []) {
    const other = from + HEAD_BYTES + (length ^ (1 << bit)) + CHECK_BYTES;
    if ((length ^ (1 << bit)) > MOST_PAYLOAD || other > bytes.length) continue;
    const checked = bytes.slice(from + 2, other);
    checked.set(numberBytes(length ^ (1 << bit), LENGTH_BYTES, isLittle));
    if (isVerified(checked, isLittle)) return asFrame(format, checked, other);
  }
  return null;
}

/** `checked` is length, payload and checksum. */
function isVerified(checked: Uint8Array, isLittle: boolean): boolean {
  const end = checked.length - CHECK_BYTES;
  return crc32(checked.subarray(0, end)) === numberAt(checked, end, CHECK_BYTES, isLittle);
}

/** Flips the one bit behind the length that makes the checksum right; says whether there is one. */
function mended(checked: Uint8Array, isLittle: boolean): boolean {
  const end = checked.length - CHECK_BYTES;
  const difference = (crc32(checked.subarray(0, end)) ^ numberAt(checked, end, CHECK_BYTES, isLittle)) >>> 0;
  if ((difference & (difference - 1)) === 0) {
    checked.set(numberBytes(crc32(checked.subarray(0, end)), CHECK_BYTES, isLittle), end);
    return true;
  }
  const flip = FLIPS.get(difference);
  const index = flip === undefined ? 0 : end - 1 - flip.behind;
  if (flip === undefined || index < LENGTH_BYTES) return false;
  checked[index] = at(checked, index) ^ (1 << flip.bit);
  return true;
}

function asFrame({ separator, fields }: Format, checked: Uint8Array, end: number): Frame | null {
  const payload = Buffer.from(checked.subarray(LENGTH_BYTES, checked.length - CHECK_BYTES)).toString("latin1");
  const values = payload.split(separator);
  const valueOf = (field: Field): string => values[fields.indexOf(field)] ?? "";
  const [kind, version, amount] = [valueOf("kind"), Number(valueOf("version")), Number(valueOf("amount"))];
  if (values.length !== fields.length || (kind !== "set" && kind !== "gone")) return null;
  if (!Number.isSafeInteger(version) || !Number.isSafeInteger(amount)) return null;
  return { version: { id: valueOf("id"), version, kind, text: valueOf("text"), amount }, end };
}

/** A line of the answer. */
export function lineOf({ id, version, text, amount }: Version): string {
  return `${id},${version},${text},${amount}`;
}
