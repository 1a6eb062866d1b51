/** bit-packed-records: hexadecimal words of records whose fields have described widths, orders and encodings. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import { variantRow } from "../variant-row.ts";

export const bitPackedRecords = variantRow({
  id: "bit-packed-records",
  asks: "the bytes of records whose fields are packed bit by bit, clamped, offset and aligned",
  name: "pack",
  parameters: ["records"],
  extras: ["low-first", "align", "gray", "wrap", "parity", "delta", "swap"],
  constants: (rng) => ({
    first: between(rng, 3, 6),
    second: between(rng, 4, 9),
    third: between(rng, 2, 5),
    offset: between(rng, 1, 7),
  }),
  stories: [
    "A satellite sends its readings in as few bits as possible.",
    "The save file of a game packs three numbers of each unit.",
    "A bus protocol carries records without any gaps between the fields.",
    "An old tape format has to be written again.",
  ],
  rules: `
A record [a, b, c] has a in {{first}} bits, b in {{second}} bits and c in {{third}} bits, in this order. #!swap
A record [a, b, c] has c in {{third}} bits, a in {{first}} bits and b in {{second}} bits, in this order. #?swap
First {{offset}} is added to a.
Of b, the value of b in the record before is subtracted first (0 for the first record), before anything else. #?delta
A value that is too large for its bits becomes the largest that fits, and a negative one becomes 0. #!wrap
Of a value that does not fit, only the lowest bits are kept; negative values are in two's complement. #?wrap
Then each value v of c becomes the exclusive or of v and v / 2 (rounded down). #?gray
The highest bit of a field comes first. #!low-first
The lowest bit of a field comes first. #?low-first
Each record is followed by one bit that makes the number of ones in it, with this bit, even. #?parity
Each record is then filled up with zeros to whole bytes. #?align
All bits stand one after the other; at the end there are zeros until the last byte is full. The first bit is the highest one of the first byte.
`,
  types: `
The argument is a list of records of three whole numbers. The result is the bytes as a text of lower-case hexadecimal digits, two for each byte.
`,
  calls(_, rng) {
    const some = (count: number, size: number): number[][][][] =>
      range(6).map(() => [range(count).map(() => range(3).map(() => between(rng, -size / 4, size)))]);
    return { one: some(1, 12), few: some(3, 16), large: some(4, 120), many: some(9, 20) };
  },
  solve([records]: readonly [readonly (readonly [number, number, number])[]], values, on) {
    const { first, second, third, offset } = values;
    const field = (value: number, bits: number, isGray: boolean): string => {
      const size = 2 ** bits;
      const fits = on("wrap") ? ((value % size) + size) % size : Math.min(size - 1, Math.max(0, value));
      const text = (isGray ? fits ^ (fits >> 1) : fits).toString(2).padStart(bits, "0");
      return on("low-first") ? Array.from(text).reverse().join("") : text;
    };
    let [all, before] = ["", 0];
    for (const [a, b, c] of records) {
      const [x, y, z] = [
        field(a + offset, first, false),
        field(on("delta") ? b - before : b, second, false),
        field(c, third, on("gray")),
      ];
      before = b;
      let bits = on("swap") ? z + x + y : x + y + z;
      if (on("parity")) bits += bits.replaceAll("0", "").length % 2;
      if (on("align")) bits = bits.padEnd(8 * Math.ceil(bits.length / 8), "0");
      all += bits;
    }
    return Array.from({ length: Math.ceil(all.length / 8) }, (_, index) =>
      Number.parseInt(all.slice(8 * index, 8 * index + 8).padEnd(8, "0"), 2)
        .toString(16)
        .padStart(2, "0"),
    ).join("");
  },
  python: `
def field(value, bits):
    value = min(max(value, 0), (1 << bits) - 1) #!wrap
    value &= (1 << bits) - 1 #?wrap
    return value

def pack(records):
    out = ""
    before = 0 #?delta
    for a, b, c in records:
        b, before = b - before, b #?delta
        a, b, c = field(a + {{offset}}, {{first}}), field(b, {{second}}), field(c, {{third}})
        c ^= c >> 1 #?gray
        fields = [format(a, "0{{first}}b"), format(b, "0{{second}}b"), format(c, "0{{third}}b")]
        fields = [text[::-1] for text in fields] #?low-first
        bits = "".join(fields) #!swap
        bits = fields[2] + fields[0] + fields[1] #?swap
        bits += str(bits.count("1") % 2) #?parity
        bits += "0" * (-len(bits) % 8) #?align
        out += bits
    out += "0" * (-len(out) % 8)
    return "".join(format(int(out[i:i + 8], 2), "02x") for i in range(0, len(out), 8))
`,
});
