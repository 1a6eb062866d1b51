/** Texts of physics and chemistry brought to one spelling: signs, superscripts, LaTeX. */

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻";
const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";
const PLAIN = "0123456789+-";
const MAX_NESTING = 8;

const NAMED_SIGNS: readonly (readonly [names: string, sign: string])[] = [
  ["times|cdot", "×"],
  ["pm", "±"],
  ["approx|simeq|sim", "≈"],
  ["mu|textmu", "µ"],
  ["Omega|ohm", "Ω"],
  ["AA|angstrom", "Å"],
  ["longrightarrow|rightarrow|to", "->"],
  ["rightleftharpoons|leftrightarrow|rightleftarrows", "<=>"],
];

/** Superscripts become `^2`, subscripts digits, minus signs `-`, LaTeX of units and numbers plain text. */
export function plainNotation(text: string): string {
  return plainLatex(text)
    .replace(/[−–—﹣－]/gu, "-")
    .replace(new RegExp(`[${SUPERSCRIPTS}]+`, "gu"), (run) => `^${translate(run, SUPERSCRIPTS)}`)
    .replace(new RegExp(`[${SUBSCRIPTS}]+`, "gu"), (run) => translate(run, SUBSCRIPTS))
    .replace(/[\u00a0\u2009\u202f]/gu, " ")
    .trim();
}

function plainLatex(text: string): string {
  if (!/[\\$]/u.test(text)) return text;
  let plain = text
    .replace(/\\\(|\\\)|\\\[|\\\]|\$/gu, " ")
    .replace(/\\[,;:!> ]|~/gu, " ")
    .replace(/\^\s*\{?\s*\\circ\s*\}?|\\degree\b|\\circ\b/gu, "°")
    .replace(/\\%/gu, "%");
  for (const [name, sign] of NAMED_SIGNS)
    plain = plain.replace(new RegExp(`\\\\(?:${name})(?![a-zA-Z])\\s*`, "gu"), sign);
  // Braces are replaced from the inside out; deeper nesting stays and cannot be read later.
  for (let depth = 0; depth < MAX_NESTING; depth++) {
    const before = plain;
    plain = plain
      .replace(/\^\s*\{([^{}]*)\}/gu, "^($1)")
      .replace(/_\s*\{([^{}]*)\}/gu, "$1")
      .replace(/\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}/gu, "($1)/($2)")
      .replace(/\\(?:mathrm|text|textrm|mathit|rm|mbox|operatorname|ce|unit|si|pu)\s*\{([^{}]*)\}/gu, "$1");
    if (plain === before) break;
  }
  return plain;
}

function translate(run: string, from: string): string {
  return Array.from(run, (sign) => PLAIN[from.indexOf(sign)] ?? sign).join("");
}
