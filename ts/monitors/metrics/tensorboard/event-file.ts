/**
 * TensorBoard's event files: records of length and payload, each with its checksum, and the few protobuf messages that scalars need.
 *
 * A record is `u64 length, u32 masked crc32c(length), payload, u32 masked crc32c(payload)`, little-endian (TensorFlow's record_writer). The
 * payload is an `Event` of event.proto; field numbers are beside their names below. This file knows no file system and no metrics.
 */

/** The content of one event, besides its time and step. */
export type EventContent =
  /** The first event of every file. */
  | { kind: "file-version" }
  /** Values of earlier files of the folder for this step and later ones are void. */
  | { kind: "session-start" }
  | { kind: "scalars"; values: readonly (readonly [tag: string, value: number])[] };

/** Seconds since 1970, and a step from 0. */
export interface EventPlace {
  wallTime: number;
  step: number;
}

const FILE_VERSION = "brain.Event:2";
const SESSION_START = 1;

const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;
const EVENT = { wallTime: 1, step: 2, fileVersion: 3, summary: 5, sessionLog: 7 } as const;
const SUMMARY = { value: 1 } as const;
const VALUE = { tag: 1, simpleValue: 2 } as const;
const SESSION_LOG = { status: 1 } as const;

/** One framed record. Values become 32-bit floats, the only ones in the format. */
export function eventRecord(place: EventPlace, content: EventContent): Buffer {
  const { wallTime, step } = place;
  return record(Buffer.concat([double(EVENT.wallTime, wallTime), integer(EVENT.step, step), contentField(content)]));
}

function contentField(content: EventContent): Buffer {
  switch (content.kind) {
    case "file-version":
      return bytes(EVENT.fileVersion, Buffer.from(FILE_VERSION));
    case "session-start":
      return bytes(EVENT.sessionLog, integer(SESSION_LOG.status, SESSION_START));
    case "scalars": {
      const values = content.values.map(([tag, value]) =>
        bytes(SUMMARY.value, Buffer.concat([bytes(VALUE.tag, Buffer.from(tag)), float(VALUE.simpleValue, value)])),
      );
      return bytes(EVENT.summary, Buffer.concat(values));
    }
  }
}

// ---- framing ----

function record(payload: Buffer): Buffer {
  const framed = Buffer.alloc(12 + payload.length + 4);
  framed.writeBigUInt64LE(BigInt(payload.length), 0);
  framed.writeUInt32LE(maskedCrc(framed.subarray(0, 8)), 8);
  payload.copy(framed, 12);
  framed.writeUInt32LE(maskedCrc(payload), 12 + payload.length);
  return framed;
}

/** The checksum, rotated and shifted, so that checksums of data which contain checksums stay reliable. */
function maskedCrc(data: Uint8Array): number {
  const crc = crc32c(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** CRC-32 of Castagnoli's polynomial, bits reversed. */
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});

function crc32c(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) crc = (CRC_TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

// ---- protobuf ----

function varint(value: number): Buffer {
  const out: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) out.push((rest % 0x80) | 0x80);
  return Buffer.from([...out, rest]);
}

function key(field: number, wire: number): Buffer {
  return varint(field * 8 + wire);
}

function integer(field: number, value: number): Buffer {
  return Buffer.concat([key(field, WIRE.varint), varint(value)]);
}

function double(field: number, value: number): Buffer {
  const out = Buffer.alloc(8);
  out.writeDoubleLE(value);
  return Buffer.concat([key(field, WIRE.fixed64), out]);
}

function float(field: number, value: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeFloatLE(value);
  return Buffer.concat([key(field, WIRE.fixed32), out]);
}

function bytes(field: number, value: Buffer): Buffer {
  return Buffer.concat([key(field, WIRE.bytes), varint(value.length), value]);
}
