/** byte-framing: a stream of bytes cut into frames with escapes, lengths and checks; broken frames are reported. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const byteFraming = variantRow({
  id: "byte-framing",
  asks: "the frames in a stream of bytes with escapes, checks, lengths and resynchronisation",
  name: "frames",
  parameters: ["data"],
  extras: ["flip", "sum", "length", "least", "abort", "runs"],
  constants: (rng) => ({
    edge: between(rng, 200, 220),
    escape: between(rng, 221, 240),
    mask: between(rng, 1, 31),
    modulus: between(rng, 7, 40),
    abort: between(rng, 241, 255),
  }),
  stories: [
    "A serial line has no packets, so a receiver has to find them.",
    "A radio module sends frames that are wrapped like this.",
    "The log of a bus is one long list of bytes; we want the messages in it.",
    "A monitor listens to a line and lists what was sent, also what was broken.",
  ],
  rules: `
The byte {{edge}} ends a frame; it belongs to no frame. What stands behind the last {{edge}} is no frame and is left out. Frames without any byte are left out, too.
In a frame, the byte {{escape}} says that the byte behind it is an ordinary byte of the content (also if it is {{edge}} or {{escape}}); the {{escape}} itself is no content. #!flip
In a frame, the byte {{escape}} says that the byte behind it, whatever it is, stands for the exclusive or of itself and {{mask}}, as an ordinary byte of the content; the {{escape}} itself is no content. #?flip
The byte {{abort}}, where it is not behind an {{escape}}, throws away all that its frame has so far; the frame begins anew behind it. #?abort
The first byte of the content is the number of the bytes behind it up to the end of the frame; it is taken away. If it is wrong, the frame is reported as "length". #?length
The last byte of the content is the sum of all others that are left, modulo {{modulus}}; it is taken away. If it is wrong, or there is none, the frame is reported as "sum". #?sum
A frame whose remaining content has fewer than 2 bytes is reported as "short". #?least
In the remaining content, a byte 0 and the byte n behind it stand for n zeros. If no byte stands behind a 0, that 0 stands for itself. #?runs
`,
  types: `
The argument is a list of whole numbers from 0 to 255. The result is the list of the frames in order: for each the list of the bytes of its content, or the text of the first report that applies, in the order of the rules.
`,
  calls({ edge, escape, mask, modulus, abort }, rng, on) {
    const frame = (size: number): number[] => {
      let content = range(between(rng, 0, size)).map(() => rng.pick([0, 1, 2, 3, 4, 9, 50, edge, escape, abort]));
      if (on("sum")) content = [...content, (content.reduce((sum, byte) => sum + byte, 0) + chance(rng)) % modulus];
      if (on("length")) content = [content.length + chance(rng), ...content];
      const bytes = content.flatMap((byte) => {
        if (byte < 200 || rng.integer(12) === 0) return [byte];
        return on("flip") ? [escape, byte ^ mask] : [escape, byte];
      });
      return [...bytes, ...(rng.integer(10) === 0 ? [abort] : []), edge];
    };
    const some = (count: number, size: number): Json[][] =>
      range(6).map(() => [[...range(count).flatMap(() => frame(size)), ...range(rng.integer(3))]]);
    return { few: some(3, 4), more: some(5, 6), long: some(3, 14), many: some(12, 4) };
  },
  solve([data]: readonly [readonly number[]], { edge, escape, mask, modulus, abort }, on) {
    const out: Json[] = [];
    let [content, isEscaped, isBegun]: [number[], boolean, boolean] = [[], false, false];
    const report = (bytes: readonly number[]): Json => {
      let rest = [...bytes];
      if (on("length")) {
        if (rest[0] !== rest.length - 1) return "length";
        rest = rest.slice(1);
      }
      if (on("sum")) {
        const last = rest.pop();
        if (last === undefined || last !== rest.reduce((sum, byte) => sum + byte, 0) % modulus) return "sum";
      }
      if (on("least") && rest.length < 2) return "short";
      if (!on("runs")) return rest;
      const plain: number[] = [];
      for (let index = 0; index < rest.length; index++) {
        const [byte, count] = [rest[index] ?? 0, rest[index + 1]];
        if (byte !== 0 || count === undefined) plain.push(byte);
        else {
          plain.push(...range(count).map(() => 0));
          index += 1;
        }
      }
      return plain;
    };
    for (const byte of data) {
      if (isEscaped) {
        content.push(on("flip") ? byte ^ mask : byte);
        isEscaped = false;
      } else if (byte === edge) {
        if (isBegun) out.push(report(content));
        [content, isBegun] = [[], false];
        continue;
      } else if (byte === escape) isEscaped = true;
      else if (on("abort") && byte === abort) {
        [content, isBegun] = [[], false];
        continue;
      } else content.push(byte);
      isBegun = true;
    }
    return out;
  },
  python: `
def content_of(frame):
    rest = list(frame)
    size = rest.pop(0) #?length
    if size != len(rest): #?length
        return "length" #?length
    check = rest.pop() if rest else None #?sum
    if check != sum(rest) % {{modulus}}: #?sum
        return "sum" #?sum
    if len(rest) < 2: #?least
        return "short" #?least
    plain = [] #?runs
    while rest: #?runs
        byte = rest.pop(0) #?runs
        plain += [0] * rest.pop(0) if byte == 0 and rest else [byte] #?runs
    rest = plain #?runs
    return rest

def frames(data):
    out, frame, begun = [], [], False
    stream = iter(data)
    for byte in stream:
        if byte == {{edge}}:
            if begun:
                out.append(content_of(frame))
            frame, begun = [], False
            continue
        if byte == {{abort}}: #?abort
            frame, begun = [], False #?abort
            continue #?abort
        begun = True
        if byte == {{escape}}:
            byte = next(stream, None)
            if byte is None:
                break
            byte ^= {{mask}} #?flip
        frame.append(byte)
    return out
`,
});

/** Now and then 1. */
function chance(rng: Rng): number {
  return rng.integer(6) === 0 ? 1 : 0;
}
