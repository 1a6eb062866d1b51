/** prefix-byte-decoder: numbers from bytes whose first one says how many follow, with the errors of a decoder. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const prefixByteDecoder = variantRow({
  id: "prefix-byte-decoder",
  asks: "the code points of bytes in a described multi-byte form, with replacements for what is broken",
  name: "decode",
  parameters: ["data"],
  extras: ["low-first", "overlong", "gap", "pairs", "per-byte", "offset"],
  constants: (rng) => ({
    wrong: -between(rng, 1, 99),
    low: between(rng, 300, 900),
    width: between(rng, 40, 200),
    shift: between(rng, 1, 50),
  }),
  stories: [
    "An old system has a special character encoding, and its files are partly damaged.",
    "A decoder must never fail, whatever bytes it gets.",
    "Text from a broken disk is read as far as it goes.",
    "The encoding below looks like a famous one, but is not.",
  ],
  rules: `
A byte below 128 stands for itself.
A byte from 128 to 191 is a tail. It carries its lowest 6 bits.
A byte from 192 to 223 is a head of one tail and carries its lowest 5 bits; one from 224 to 239 is a head of two tails and carries its lowest 4 bits; one from 240 to 247 is a head of three tails and carries its lowest 3 bits. Bytes from 248 on mean nothing.
The bits of a head and its tails, one after the other, are the binary digits of the value; the bits of the head are the highest. #!low-first
The bits of a head and its tails are the binary digits of the value; the bits of the head are the highest, but the tails are in the order from the lowest to the highest. #?low-first
{{shift}} is added to a value that has tails. #?offset
A value that needs fewer tails (below 128 for one, below 2048 for two, below 65536 for three; before anything is added) is broken. #?overlong
A value (after anything is added) from {{low}} to {{low}} + {{width}} is broken. #?gap
A head that does not have all its tails, a tail without a head and a byte that means nothing are broken. A head takes only the tails that stand directly behind it, as many as it needs.
Each broken piece, which is a head with the tails that it took, or a single byte, gives {{wrong}}. #!per-byte
Each broken piece, which is a head with the tails that it took, or a single byte, gives {{wrong}} for every byte of it. #?per-byte
Two values directly one after the other, both with exactly two tails and both not broken, of which the first is odd and the second is even, give one value: the first times 1000 plus the second. Pairs are found from the left and do not overlap. #?pairs
`,
  types: `
The argument is the list of the bytes, whole numbers from 0 to 255. The result is the list of the values in order.
`,
  calls({ low }, rng) {
    const piece = (): number[] => {
      const tail = (): number => 128 + rng.integer(64);
      const kind = rng.integer(9);
      if (kind < 2) return [rng.integer(128)];
      if (kind === 2) return [192 + rng.integer(32), tail()];
      if (kind === 3) return [192 + (low >> 6), tail()].map((byte) => Math.min(byte, 223));
      if (kind < 6) return [224 + rng.integer(4), tail(), tail()];
      if (kind === 6) return [240 + rng.integer(3), tail(), tail(), tail()].slice(0, between(rng, 2, 4));
      return kind === 7 ? [rng.pick([192, 224, 240, 250])] : [tail()];
    };
    const some = (count: number): Json[][] => range(7).map(() => [range(count).flatMap(piece)]);
    return { short: some(3), medium: some(6), long: some(10), longest: some(20) };
  },
  solve([data]: readonly [readonly number[]], { wrong, low, width, shift }, on) {
    const found: { value: number; bytes: number; isRight: boolean }[] = [];
    for (let index = 0; index < data.length;) {
      const head = data[index] ?? 0;
      index += 1;
      const needed = head < 192 || head > 247 ? 0 : head < 224 ? 1 : head < 240 ? 2 : 3;
      if (needed === 0) {
        found.push({ value: head, bytes: 1, isRight: head < 128 });
        continue;
      }
      const tails: number[] = [];
      for (let tail = data[index]; tails.length < needed && tail !== undefined && tail >= 128 && tail < 192;) {
        tails.push(tail % 64);
        index += 1;
        tail = data[index];
      }
      const start = head % 2 ** (6 - needed);
      const bare = (on("low-first") ? tails.toReversed() : tails).reduce((sum, tail) => sum * 64 + tail, start);
      const value = bare + (on("offset") ? shift : 0);
      const isShort = on("overlong") && bare < ([0, 128, 2048, 65_536][needed] ?? 0);
      const isGap = on("gap") && value >= low && value <= low + width;
      found.push({ value, bytes: tails.length + 1, isRight: tails.length === needed && !isShort && !isGap });
    }
    const out: number[] = [];
    for (let index = 0; index < found.length; index++) {
      const [one, next] = [found[index], found[index + 1]];
      if (one === undefined) break;
      const isFirst = one.isRight && one.bytes === 3 && one.value % 2 === 1;
      if (on("pairs") && isFirst && next?.isRight === true && next.bytes === 3 && next.value % 2 === 0) {
        out.push(one.value * 1000 + next.value);
        index += 1;
      } else if (one.isRight) out.push(one.value);
      else out.push(...range(on("per-byte") ? one.bytes : 1).map(() => wrong));
    }
    return out;
  },
  python: `
def decode(data):
    found, i = [], 0
    while i < len(data):
        head, i = data[i], i + 1
        needed = 0
        for limit, count in ((192, 1), (224, 2), (240, 3), (248, 0)):
            if head >= limit:
                needed = count
        if not needed:
            found.append((head if head < 128 else None, 1))
            continue
        tails = []
        while len(tails) < needed and i < len(data) and 128 <= data[i] < 192:
            tails.append(data[i] & 63)
            i += 1
        value = head & (1 << 6 - needed) - 1
        for tail in tails: #!low-first
        for tail in tails[::-1]: #?low-first
            value = value << 6 | tail
        right = len(tails) == needed
        right = right and value >= (0, 128, 2048, 65536)[needed] #?overlong
        value += {{shift}} #?offset
        right = right and not {{low}} <= value <= {{low}} + {{width}} #?gap
        found.append((value if right else None, len(tails) + 1))
    out = []
    while found:
        value, size = found.pop(0)
        if found and size == 3 == found[0][1] and None not in (value, found[0][0]) and value % 2 and found[0][0] % 2 == 0: #?pairs
            out.append(value * 1000 + found.pop(0)[0]) #?pairs
            continue #?pairs
        if value is None:
            out += [{{wrong}}] * size #?per-byte
            out.append({{wrong}}) #!per-byte
        else:
            out.append(value)
    return out
`,
});
