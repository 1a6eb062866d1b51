/** digit-blocks: bytes written in blocks of digits of a drawn alphabet, with padding, groups and check digits. */
import { between, shuffled } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import { variantRow } from "../variant-row.ts";

const DIGITS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789abcdefghkmnpqrstuvwxyz";

export const digitBlocks = variantRow({
  id: "digit-blocks",
  asks: "bytes as blocks of digits in an unusual base, with partial blocks, groups and check digits",
  name: "written",
  parameters: ["data"],
  extras: ["low-first", "chain", "pad", "groups", "zero", "check", "length"],
  constants: (rng) => {
    const base = between(rng, 20, 40);
    return {
      base,
      alphabet: shuffled(DIGITS, rng).slice(0, 42).join(""),
      block: between(rng, 2, 5),
      group: between(rng, 3, 6),
      start: between(rng, 1, 200),
    };
  },
  stories: [
    "Keys of a licence are bytes that people have to type.",
    "Data travels on paper, so it is written with letters and digits.",
    "A QR-like code can hold some characters only.",
    "Short links carry bytes in readable form.",
  ],
  rules: `
The alphabet is {{alphabet}}; its character number d, counted from 0, is the digit d. The base is {{base}}, so that characters from number {{base}} on are no digits.
The bytes are cut into blocks of {{block}} bytes, from the first on; the last block may be shorter.
Before that, each byte is replaced by the exclusive or of itself and the byte before it as it was given; for the first one {{start}} stands for the byte before it. #?chain
The bytes of a block are the digits of a number in base 256, the first byte the highest. #!low-first
The bytes of a block are the digits of a number in base 256, the first byte the lowest. #?low-first
The number of a block of n bytes is written with as many digits as the largest number of n bytes needs in the base, with leading zeros (the digit 0), the highest digit first. #!pad
A shorter block first gets bytes 0 at its end until it has {{block}}. The number of each block is written with as many digits as the largest number of {{block}} bytes needs in the base, with leading zeros (the digit 0), the highest digit first. #?pad
A full block whose bytes are all 0 (after all steps above) is written as the character number {{base}} of the alphabet, alone. #?zero
In front of everything stands the digit for the remainder of the number of bytes divided by {{base}}. #?length
After everything stands the digit for the remainder of the sum of all bytes, as they were given, divided by {{base}}. #?check
The whole is then cut into groups of {{group}} characters, from the left, with a hyphen between them. #?groups
`,
  types: `
The argument is a list of whole numbers from 0 to 255, which may be empty. The result is a text.
`,
  calls(_, rng) {
    const some = (least: number, most: number, size: number): number[][][] =>
      range(6).map(() => [range(between(rng, least, most)).map(() => rng.integer(size))]);
    const zeros = range(6).map(() => [[...range(between(rng, 2, 9)).map(() => 0), rng.integer(256), 7, 7, 7]]);
    return { short: some(1, 6, 256), long: some(8, 16, 256), low: some(4, 9, 3), zeros };
  },
  solve([data]: readonly [readonly number[]], { base, alphabet, block, group, start }, on) {
    const bytes = on("chain") ? data.map((byte, index) => byte ^ (data[index - 1] ?? start)) : data;
    const digits = (value: bigint, count: number): string =>
      range(count)
        .map((index) => alphabet.charAt(Number((value / BigInt(base) ** BigInt(count - 1 - index)) % BigInt(base))))
        .join("");
    const width = (size: number): number => {
      let count = 0;
      for (let left = 256n ** BigInt(size) - 1n; left > 0n; left /= BigInt(base)) count++;
      return count;
    };
    const cut = range(Math.ceil(bytes.length / block)).map((index) => bytes.slice(index * block, (index + 1) * block));
    const parts = cut.map((some) => {
      const full = on("pad") ? [...some, ...range(block - some.length).map(() => 0)] : some;
      if (on("zero") && full.length === block && full.every((byte) => byte === 0)) return alphabet.charAt(base);
      const order = on("low-first") ? full.toReversed() : full;
      return digits(
        order.reduce((value, byte) => value * 256n + BigInt(byte), 0n),
        width(full.length),
      );
    });
    const sum = data.reduce((total, byte) => total + byte, 0);
    const all = [
      on("length") ? alphabet.charAt(data.length % base) : "",
      ...parts,
      on("check") ? alphabet.charAt(sum % base) : "",
    ].join("");
    return on("groups") ? (all.match(new RegExp(`.{1,${group}}`, "gu")) ?? []).join("-") : all;
  },
  python: `
ALPHABET = "{{alphabet}}"

def digits(value, size):
    text, largest = "", 256 ** size - 1
    while largest:
        largest //= {{base}}
        value, digit = divmod(value, {{base}})
        text = ALPHABET[digit] + text
    return text

def written(data):
    source = data
    source = [b ^ a for a, b in zip([{{start}}] + data, data)] #?chain
    out = ""
    out += ALPHABET[len(data) % {{base}}] #?length
    for i in range(0, len(source), {{block}}):
        block = bytes(source[i:i + {{block}}])
        block = block.ljust({{block}}, bytes(1)) #?pad
        if block == bytes({{block}}): #?zero
            out += ALPHABET[{{base}}] #?zero
            continue #?zero
        out += digits(int.from_bytes(block, "big"), len(block)) #!low-first
        out += digits(int.from_bytes(block, "little"), len(block)) #?low-first
    out += ALPHABET[sum(data) % {{base}}] #?check
    out = "-".join(out[i:i + {{group}}] for i in range(0, len(out), {{group}})) #?groups
    return out
`,
});
