/** Unicode as LaTeX: signs, letters, fractions, raised and lowered digits, invisible characters. */

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
  [/√\s*(\d+(?:\.\d+)?)/gu, "\\sqrt{$1}"],
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
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";

const RAISED = new RegExp(`[${SUPERSCRIPTS}⁺⁻ⁿ]+`, "gu");
const LOWERED = new RegExp(`[${SUBSCRIPTS}]+`, "gu");
const ASCII = /^[\0-\x7f]*$/u;

export function withoutUnicode(text: string): string {
  if (ASCII.test(text)) return text;
  let out = text
    .replace(RAISED, (run) => `^{${script(run, SUPERSCRIPTS)}}`)
    .replace(LOWERED, (run) => `_{${script(run, SUBSCRIPTS)}}`)
    .replace(/[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]/gu, (sign) => {
      const [numerator, denominator] = (FRACTIONS[sign] ?? "").split("/");
      return `\\frac{${numerator}}{${denominator}}`;
    });
  for (const [from, to] of UNICODE) out = out.replace(from, to);
  return out.normalize("NFKC");
}

function script(run: string, digits: string): string {
  return Array.from(run, (sign) => {
    const digit = digits.indexOf(sign);
    return digit >= 0 ? String(digit) : sign === "⁻" ? "-" : sign === "⁺" ? "+" : "n";
  }).join("");
}
