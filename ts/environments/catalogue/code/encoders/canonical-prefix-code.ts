/** canonical-prefix-code: bits of a text under a prefix code that follows from frequencies and tie rules. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { variantRow } from "../variant-row.ts";

interface Tree {
  readonly weight: number;
  readonly letters: string;
  readonly depth: number;
  readonly order: number;
}

export const canonicalPrefixCode = variantRow({
  id: "canonical-prefix-code",
  asks: "the bits of a text under a canonical prefix code with described weights, ties and order",
  name: "bits_of",
  parameters: ["text"],
  extras: ["shallow", "extra", "ones", "reverse", "square", "table", "pad"],
  constants: (rng) => ({
    bonus: between(rng, 2, 6),
    letter: rng.pick("abcde"),
    unit: between(rng, 3, 9),
    drop: between(rng, 1, 5),
  }),
  stories: [
    "A modem sends texts with short codes for frequent letters.",
    "Two programs must build the same code from the same text.",
    "A packer of short notes computes a code for each note.",
    "The code of a text follows from its letters alone.",
  ],
  rules: `
The weight of a letter that occurs in the text is the number of its occurrences. #!square
The weight of a letter that occurs in the text is the square of the number of its occurrences, minus {{drop}}, but at least 1. #?square
The letter {{letter}} gets a weight that is larger by {{bonus}}; if it does not occur, it takes part with the weight {{bonus}}. #?extra
Each letter is at first a tree by itself. As long as there are several trees, the two that come first are joined to one whose weight is the sum.
Trees with less weight come first; of equal ones the one with the alphabetically smallest letter. #!shallow
Trees with less weight come first; of equal ones the one of smaller depth (a single letter has depth 0, a joined tree one more than the deeper of its two), and of those the one with the alphabetically smallest letter. #?shallow
The length of the code of a letter is the number of joins that it took part in; if there is one letter only, its length is 1.
The letters are ordered by length, shorter ones first, and equally long ones alphabetically. #!reverse
The letters are ordered by length, shorter ones first, and equally long ones in reverse alphabetical order. #?reverse
The first letter has a code of zeros. Each further letter has the binary number that follows on the code before it, with zeros appended until its length is reached.
In the end all zeros and ones of all codes change places. #?ones
Before the bits of the text come, for each letter in this order, as many ones as its code is long, and a zero. #?table
Zeros are appended until the number of bits is a multiple of {{unit}}. #?pad
`,
  types: `
The text has 1 or more of the letters a to h. The result is the text of the characters 0 and 1: the codes of its letters one after the other.
`,
  calls(_, rng) {
    const text = (length: number, letters: string): string =>
      range(length)
        .map(() => rng.pick(letters))
        .join("");
    return {
      short: range(6).map(() => [text(between(rng, 3, 8), "abcdefgh")]),
      skewed: range(6).map(() => [text(between(rng, 10, 18), "aaaaaaabbbbccdde")]),
      even: range(6).map(() => [text(between(rng, 14, 24), "abcdefgh")]),
      long: range(6).map(() => [text(between(rng, 30, 45), "hhhhhhgggffeedcba")]),
    };
  },
  solve([text]: readonly [string], { bonus, letter, unit, drop }, on) {
    const counts = new Map<string, number>();
    for (const one of Array.from(text)) counts.set(one, (counts.get(one) ?? 0) + 1);
    if (on("square")) for (const [one, count] of counts) counts.set(one, Math.max(1, count * count - drop));
    if (on("extra")) counts.set(letter, (counts.get(letter) ?? 0) + bonus);
    let trees = [...counts].map(([letters, weight]): Tree => ({
      weight,
      letters,
      depth: 0,
      order: letters.charCodeAt(0),
    }));
    const lengths = new Map([...counts.keys()].map((one) => [one, counts.size === 1 ? 1 : 0]));
    while (trees.length > 1) {
      trees = trees.toSorted(
        (a, b) => a.weight - b.weight || (on("shallow") ? a.depth - b.depth : 0) || a.order - b.order,
      );
      const [a, b] = [at(trees, 0), at(trees, 1)];
      const letters = a.letters + b.letters;
      for (const one of Array.from(letters)) lengths.set(one, (lengths.get(one) ?? 0) + 1);
      const order = Math.min(a.order, b.order);
      trees = [
        ...trees.slice(2),
        { weight: a.weight + b.weight, letters, depth: Math.max(a.depth, b.depth) + 1, order },
      ];
    }
    const sign = on("reverse") ? -1 : 1;
    const order = [...lengths].toSorted(([a, x], [b, y]) => x - y || sign * (a.charCodeAt(0) - b.charCodeAt(0)));
    const codes = new Map<string, string>();
    let [code, before] = [-1, 0];
    for (const [one, length] of order) {
      code = (code + 1) * 2 ** (length - before);
      before = length;
      const bits = code.toString(2).padStart(length, "0");
      codes.set(one, on("ones") ? bits.replaceAll(/./gu, (bit) => (bit === "0" ? "1" : "0")) : bits);
    }
    const head = on("table") ? order.map(([, length]) => `${"1".repeat(length)}0`).join("") : "";
    const out = head + Array.from(text, (one) => codes.get(one) ?? "").join("");
    return on("pad") ? out.padEnd(Math.ceil(out.length / unit) * unit, "0") : out;
  },
  python: `
from collections import Counter

def bits_of(text):
    weights = Counter(text)
    weights = {c: max(1, n * n - {{drop}}) for c, n in weights.items()} #?square
    weights["{{letter}}"] = weights.get("{{letter}}", 0) + {{bonus}} #?extra
    trees = [(w, 0, c) for c, w in weights.items()]
    length = dict.fromkeys(weights, 0)
    while len(trees) > 1:
        trees.sort(key=lambda t: (t[0], min(t[2]))) #!shallow
        trees.sort(key=lambda t: (t[0], t[1], min(t[2]))) #?shallow
        (w, d, a), (x, e, b) = trees[:2]
        for c in a + b:
            length[c] += 1
        trees[:2] = [(w + x, max(d, e) + 1, a + b)]
    if len(length) == 1:
        length = dict.fromkeys(length, 1)
    order = sorted(length)
    order.reverse() #?reverse
    order.sort(key=length.get)
    codes, code = {}, None
    for c in order:
        if code is None:
            code = "0" * length[c]
        else:
            code = bin(int(code, 2) + 1)[2:].zfill(len(code)).ljust(length[c], "0")
        codes[c] = code
    out = "".join(codes[c] for c in text)
    out = "".join(codes[c].translate({48: "1", 49: "0"}) for c in text) #?ones
    out = "".join("1" * length[c] + "0" for c in order) + out #?table
    out += "0" * (-len(out) % {{unit}}) #?pad
    return out
`,
});
