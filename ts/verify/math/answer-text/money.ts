/** Amounts of money: a currency sign before or behind a number becomes a unit behind it. */

const AMOUNT = String.raw`\d[\d,]*(?:\{,\}\d{3})*(?:\.\d+)?(?:\s*\\times 10\^\{\d+\})?`;
/** Not where the amount is a factor of something: \$5x is an expression. */
const END = String.raw`(?![\d.]*\d)(?!\s*(?:[a-zA-Z^*(\\]|\\frac))`;
const SIGNS: readonly (readonly [sign: string, word: string])[] = [
  [String.raw`(?:\\\$|\\textdollar(?![a-zA-Z])|US\s*\\\$)`, "dollars"],
  [String.raw`(?:€|\\euro(?:\{\}|(?![a-zA-Z])))`, "euros"],
  [String.raw`(?:£|\\(?:text)?(?:pounds|sterling)(?:\{\}|(?![a-zA-Z])))`, "gbp"],
  ["¥", "yen"],
];
const AFTER: ReadonlySet<string> = new Set(["euros", "gbp", "yen"]);

const BEFORE_PATTERNS = SIGNS.map(([sign, word]) => [new RegExp(`${sign}\\s*(${AMOUNT})${END}`, "gu"), word] as const);
const AFTER_PATTERNS = SIGNS.filter(([, word]) => AFTER.has(word)).map(
  ([sign, word]) => [new RegExp(String.raw`(?<=[\d}])(?:\s|\\[,;:! ]|~)*${sign}`, "gu"), word] as const,
);

export function withCurrencies(text: string): string {
  if (!/[$€£¥]|\\(?:textdollar|euro|pounds|textsterling)/u.test(text)) return text;
  // A single dollar sign before a number is money and delimits nothing.
  const signs = text.match(/(?<!\\)\$/gu) ?? [];
  let out = signs.length === 1 ? text.replace(/(?<!\\)\$(?=\s*\d)/u, "\\$") : text;
  for (const [pattern, word] of BEFORE_PATTERNS) out = out.replace(pattern, `$1\\text{ ${word}}`);
  for (const [pattern, word] of AFTER_PATTERNS) out = out.replace(pattern, `\\text{ ${word}}`);
  return out;
}
