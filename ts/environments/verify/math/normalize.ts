/** From what models write to one LaTeX dialect: Unicode becomes commands, decoration disappears. Meaning is not touched. */

import { prefixFractions } from "./infix-fractions.ts";
import { FUNCTIONS } from "./vocabulary.ts";

const UNICODE: readonly (readonly [RegExp, string])[] = [
  [/[\u200b-\u200f\u2060\ufeff\u00ad\u202a-\u202e]/gu, ""],
  [/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/gu, " "],
  [/[−﹣－]/gu, "-"],
  [/×|✕|⨯/gu, "\\times "],
  [/[·⋅∙•]/gu, "\\cdot "],
  [/÷/gu, "\\div "],
  [/[⁄∕]/gu, "/"],
  [/≤|⩽/gu, "\\le "],
  [/≥|⩾/gu, "\\ge "],
  [/≠/gu, "\\ne "],
  [/≈/gu, "\\approx "],
  [/±/gu, "\\pm "],
  [/∞/gu, "\\infty "],
  [/∪/gu, "\\cup "],
  [/∩/gu, "\\cap "],
  [/∖/gu, "\\setminus "],
  [/∅|⌀/gu, "\\emptyset "],
  [/∈/gu, "\\in "],
  [/ℝ/gu, "\\mathbb{R}"],
  [/[°º]/gu, "^\\circ "],
  [/√\s*\(/gu, "\\sqrt("],
  [/√/gu, "\\sqrt "],
  [/∛/gu, "\\sqrt[3] "],
  [/π/gu, "\\pi "],
  [/θ/gu, "\\theta "],
  [/α/gu, "\\alpha "],
  [/β/gu, "\\beta "],
  [/γ/gu, "\\gamma "],
  [/λ/gu, "\\lambda "],
  [/μ|µ/gu, "\\mu "],
  [/φ|ϕ/gu, "\\phi "],
  [/ω/gu, "\\omega "],
  [/⌊/gu, "\\lfloor "],
  [/⌋/gu, "\\rfloor "],
  [/⌈/gu, "\\lceil "],
  [/⌉/gu, "\\rceil "],
  [/⟨|〈/gu, "\\langle "],
  [/⟩|〉/gu, "\\rangle "],
  [/…/gu, "..."],
  [/′|’/gu, "'"],
  [/“|”/gu, '"'],
];

const FRACTIONS: Readonly<Record<string, string>> = {
  "½": "1/2",
  "⅓": "1/3",
  "⅔": "2/3",
  "¼": "1/4",
  "¾": "3/4",
  "⅕": "1/5",
  "⅖": "2/5",
  "⅗": "3/5",
  "⅘": "4/5",
  "⅙": "1/6",
  "⅚": "5/6",
  "⅛": "1/8",
  "⅜": "3/8",
  "⅝": "5/8",
  "⅞": "7/8",
};
const POWERS_OF_TEN: Readonly<Record<string, number>> = { thousand: 3, million: 6, billion: 9, trillion: 12 };
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";

/** Commands that only change how something looks; their argument, if they have one, stays. */
const LOOKS =
  /\\(?:displaystyle|textstyle|scriptstyle|limits|nolimits|left|right|middle|[bB]igg?[lrm]?|mathrm|mathbf|mathit|mathsf|mathcal|boldsymbol|bm|bf|rm|it|operatorname\*?|underline|boxed|fbox|ensuremath|mbox|hbox|emph|textit|textbf|textrm)(?![a-zA-Z])/gu;

/** Rewrites a whole candidate. Idempotent. */
export function normalize(text: string): string {
  let out = text;
  out = out.replace(new RegExp(`[${SUPERSCRIPTS}⁺⁻ⁿ]+`, "gu"), (run) => `^{${script(run, SUPERSCRIPTS)}}`);
  out = out.replace(new RegExp(`[${SUBSCRIPTS}]+`, "gu"), (run) => `_{${script(run, SUBSCRIPTS)}}`);
  out = out.replace(/[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]/gu, (sign) => {
    const [numerator, denominator] = (FRACTIONS[sign] ?? "").split("/");
    return `\\frac{${numerator}}{${denominator}}`;
  });
  for (const [from, to] of UNICODE) out = out.replace(from, to);
  out = out.normalize("NFKC");
  out = out
    .replace(/\\(?:text)?color\s*\{[^{}]*\}/gu, "")
    .replace(/\\[hv]?phantom\s*\{[^{}]*\}/gu, "")
    .replace(/\\(?:label|tag)\*?\s*\{[^{}]*\}/gu, "")
    .replace(/\\(?:dfrac|tfrac|cfrac)(?![a-zA-Z])/gu, "\\frac")
    .replace(/\\(?:dbinom|tbinom)(?![a-zA-Z])/gu, "\\binom")
    .replace(/\\degree(?![a-zA-Z])/gu, "^\\circ ")
    .replace(/\^\s*\{\s*\\circ\s*\}/gu, "^\\circ ")
    .replace(/\\(?:leq|leqslant)(?![a-zA-Z])/gu, "\\le")
    .replace(/\\(?:geq|geqslant)(?![a-zA-Z])/gu, "\\ge")
    .replace(/\\neq(?![a-zA-Z])/gu, "\\ne")
    .replace(/\\(?:varnothing)(?![a-zA-Z])/gu, "\\emptyset")
    .replace(/\\lt(?![a-zA-Z])/gu, "<")
    .replace(/\\gt(?![a-zA-Z])/gu, ">")
    .replace(/<=/gu, "\\le ")
    .replace(/>=/gu, "\\ge ")
    .replace(/!=(?!=)/gu, "\\ne ")
    .replace(/\*\*(?=\s*[-({\w])/gu, "^")
    .replace(/\\(?:lbrace)(?![a-zA-Z])/gu, "\\{")
    .replace(/\\(?:rbrace)(?![a-zA-Z])/gu, "\\}")
    .replace(/\\(?:lvert|rvert|vert|mid)(?![a-zA-Z])/gu, "|")
    .replace(/\\(?:lbrack)(?![a-zA-Z])/gu, "[")
    .replace(/\\(?:rbrack)(?![a-zA-Z])/gu, "]")
    .replace(/\\(?:colon)(?![a-zA-Z])/gu, ":")
    .replace(/\\\$|[$]/gu, " ")
    .replace(/\\%/gu, "%");
  // Words in other boxes are words: \\mbox{ inches}^2.
  out = out.replace(/\\(?:mbox|hbox|textrm|textsf|textit|textup)\s*\{/gu, "\\text{");
  out = out.replace(/(\d)\s*(thousand|million|billion|trillion)(?!\p{L})/giu, (_, digit: string, word: string) => {
    return `${digit}\\times 10^{${POWERS_OF_TEN[word.toLowerCase()]}}`;
  });
  out = prefixFractions(out)
    .replace(/\\operatorname\*?\s*\{\s*([a-zA-Z]+)\s*\}/gu, (whole, name: string) =>
      Object.hasOwn(FUNCTIONS, name) ? `\\${name} ` : whole,
    )
    // 1.5 x 10^3: a letter between a number and a power of ten is a sign.
    .replace(/(\d)\s*[xX]\s*(?=10\s*\^)/gu, "$1\\times ");
  out = out.replace(LOOKS, " ");
  // Digit groups: 1{,}234 and 1,\!234 and 1\,234 are one number each.
  out = out.replace(/\{\s*,\s*\}/gu, ",").replace(/,\s*\\!\s*(?=\d{3})/gu, ",");
  out = out.replace(/(\d)\s*\\[,;:! ]\s*(?=\d{3}(?!\d))/gu, "$1_THIN_");
  out = out.replace(/_THIN_/gu, "");
  out = out
    // Not behind a backslash of its own: "\\ " ends a row.
    .replace(/(?<!(?<!\\)\\)\\(?:[,;:! ]|(?:quad|qquad|hspace\s*\{[^{}]*\}|hfill|newline)(?![a-zA-Z]))/gu, " ")
    .replace(/~/gu, " ");
  return out.trim();
}

function script(run: string, digits: string): string {
  return Array.from(run, (sign) => {
    const digit = digits.indexOf(sign);
    return digit >= 0 ? String(digit) : sign === "⁻" ? "-" : sign === "⁺" ? "+" : "n";
  }).join("");
}
