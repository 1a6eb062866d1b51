/** Turns models' writing into one LaTeX dialect: Unicode becomes commands, decoration disappears. The meaning stays. */

import { withBases } from "./bases.ts";
import { prefixFractions } from "./infix-fractions.ts";
import { withCurrencies } from "./money.ts";
import { withoutUnicode } from "./unicode.ts";
import { withUprightUnits } from "./upright-units.ts";
import { FUNCTIONS } from "./vocabulary.ts";

const POWERS_OF_TEN: Readonly<Record<string, number>> = { thousand: 3, million: 6, billion: 9, trillion: 12 };
const MAGNITUDE = /(?<=\d)\s*(\\text\s*\{\s*)?(thousand|million|billion|trillion)(?!\p{L})/giu;
/** 12th, 3^{rd}. */
const ORDINAL = /(?<=\d)(?:\^\s*\{?\s*)?(?:\\text\s*\{\s*)?(?:st|nd|rd|th)(?![\p{L}\d])(?:\s*\}){0,2}/gu;
/** Commands that only change how something looks; their argument, if they have one, stays. */
const LOOKS =
  /\\(?:displaystyle|textstyle|scriptstyle|limits|nolimits|left|right|middle|[bB]igg?[lrm]?|mathrm|mathbf|mathit|mathsf|mathcal|boldsymbol|bm|bf|rm|it|operatorname\*?|underline|boxed|fbox|ensuremath|mbox|hbox|emph|textit|textbf|textrm)(?![a-zA-Z])/gu;

/** Commands with another name or sign for the same. */
const RENAMED: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "\\frac": "dfrac tfrac cfrac",
    "\\binom": "dbinom tbinom",
    "^\\circ ": "degree",
    "\\le": "leq leqslant",
    "\\ge": "geq geqslant",
    "\\ne": "neq",
    "\\emptyset": "varnothing",
    "<": "lt",
    ">": "gt",
    "\\{": "lbrace",
    "\\}": "rbrace",
    "|": "lvert rvert vert mid",
    "[": "lbrack",
    "]": "rbrack",
    ":": "colon",
    // Words in other boxes are words: \mbox{ inches}^2.
    "\\text": "mbox hbox textrm textsf textit textup",
  }).flatMap(([to, names]) => names.split(" ").map((name) => [name, to] as const)),
);

/** Rewrites a whole candidate. Idempotent. */
export function normalize(text: string): string {
  const unified = withBases(withoutUnicode(text).replace(/`|\s{2,}/gu, " "));
  const out = withCurrencies(withUprightUnits(unified))
    .replace(/(?<=[\d}\s])(sq|cu)\.?\s+(?=\p{L})/gu, (_, word: string) => (word === "sq" ? " square " : " cubic "))
    .replace(/<=/gu, "\\le ")
    .replace(/>=/gu, "\\ge ")
    .replace(/!=(?!=)/gu, "\\ne ")
    .replace(/\*\*(?=\s*[-({\w])/gu, "^");
  const plain = out.includes("\\") ? withoutDecoration(out) : out;
  const words = plain
    .replace(/\\\$|[$]/gu, " ")
    .replace(MAGNITUDE, (_, opened: string | undefined, word: string) => {
      return `\\times 10^{${POWERS_OF_TEN[word.toLowerCase()]}}${opened === undefined ? "" : "\\text{"}`;
    })
    .replace(ORDINAL, "")
    .replace(/(\d:\d{2})\s*(?:\\text\s*\{\s*)?([apAP])\.?\s?[mM](?![\p{L}])\.?(?:\s*\})?/gu, "$1\\text{ $2m}")
    // 1.5 x 10^3: a letter between a number and a power of ten is a sign.
    .replace(/(\d)\s*[xX]\s*(?=10\s*\^)/gu, "$1\\times ")
    .replace(/[_^]\s*\{\s*\}/gu, "")
    .replace(/(?<=\d)\{\.\}(?=\d)/gu, ".");
  return withDigitGroups(words.includes("\\") ? withoutLooks(words) : words).trim();
}

/** Colours, labels and ends of proofs disappear, commands get one name each. */
function withoutDecoration(text: string): string {
  return text
    .replace(/\\(?:text)?color\s*\{[^{}]*\}/gu, "")
    .replace(/\\[hv]?phantom\s*\{[^{}]*\}/gu, "")
    .replace(/\\(?:label|tag)\*?\s*\{[^{}]*\}/gu, "")
    .replace(/\\(?:blacksquare|square|Box|qed|checkmark)(?![a-zA-Z])\s*[$.]*\s*$/gu, "")
    .replace(/\\([a-zA-Z]+)/gu, (whole, name: string) => RENAMED.get(name) ?? whole)
    .replace(/\^\s*\{\s*\\circ\s*\}/gu, "^\\circ ")
    .replace(/\\%/gu, "%");
}

function withoutLooks(text: string): string {
  return prefixFractions(text)
    .replace(/\\(?:operatorname\*?|mathrm)\s*\{\s*([a-zA-Z]+)\s*\}/gu, (whole, name: string) =>
      Object.hasOwn(FUNCTIONS, name) || name === "Re" || name === "Im" ? `\\${name} ` : whole,
    )
    .replace(LOOKS, " ")
    .replace(/\\text\s*\{([^{}\p{L}]*)\}/gu, "$1");
}

/** 1{,}234 and 1,\!234 and 1\,234 are one number each; other blanks are one kind. */
function withDigitGroups(text: string): string {
  return (
    text
      .replace(/(?<=\d)(?:\{\s*,\s*\}|,\s*\\!\s*)(?=\d{3}(?!\d))/gu, "")
      .replace(/\{\s*,\s*\}/gu, ",")
      .replace(/(?<=\d)\s*\\[,;:! ]\s*(?=\d{3}(?!\d))/gu, "")
      // Not behind another backslash: "\\ " ends a row.
      .replace(/(?<!(?<!\\)\\)\\(?:[,;:! ]|(?:quad|qquad|hspace\s*\{[^{}]*\}|hfill|newline)(?![a-zA-Z]))/gu, " ")
      .replace(/~/gu, " ")
  );
}
