/** Numerals that say their base: 1A_{16}, (101)_2, 101_{\text{two}}, 0xff. Letters among the digits are kept from becoming variables. */

const WORDS = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split(" ");
const BASE = String.raw`_\s*\{?\s*(\d{1,2}|\\text\w*\s*\{\s*(?:${WORDS.join("|")})\s*\})\s*\}?`;
const BRACKETED = new RegExp(String.raw`\(\s*([0-9A-Z]+)\s*\)\s*${BASE}`, "gu");
const BARE = new RegExp(
  String.raw`(?<![\p{L}\d.\\_^{])([0-9][0-9A-Z]*|[0-9][0-9a-f]*(?=_\s*\{?\s*16\D)|[A-F][0-9A-F]+)${BASE}`,
  "gu",
);
const PREFIXED = /(?<![\p{L}\d.])0([xXbBoO])([0-9a-fA-F]+)(?![\p{L}\d^])/gu;
const PREFIXES: Readonly<Record<string, number>> = { x: 16, b: 2, o: 8 };

export function withBases(text: string): string {
  const numeral = (whole: string, digits: string, base: string): string => {
    const word = /(?:two|three|[a-z]+)(?=\s*\}$)/u.exec(base)?.[0];
    const value = word === undefined ? Number(base) : WORDS.indexOf(word) + 2;
    // 2A_1 is a product: letters are digits only where the base has them.
    const isNumeral = Array.from(digits).every((digit) => Number.parseInt(digit, 36) < value) && value <= 36;
    if (!isNumeral || (value === 10 && !/^\d+$/u.test(digits))) return whole;
    return `\\based{${value}}\\text{${digits}}`;
  };
  return text
    .replace(PREFIXED, (whole, prefix: string, digits: string) =>
      numeral(whole, digits, String(PREFIXES[prefix.toLowerCase()] ?? 0)),
    )
    .replace(BRACKETED, numeral)
    .replace(BARE, numeral);
}
