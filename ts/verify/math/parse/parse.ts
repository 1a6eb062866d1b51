/** One candidate answer as an expression. */
import { type Expression, number } from "../values/expression.ts";
import { normalize } from "../answer-text/normalize.ts";
import { Parser } from "./parser.ts";
import { integer } from "../values/rational.ts";
import { tokenize } from "./tokens.ts";
import { isUnitName } from "../values/units.ts";
import { Unparsable } from "./unparsable.ts";
import { FUNCTIONS, GREEK, isLetterProduct, NUMBER_WORDS } from "../answer-text/vocabulary.ts";

/** Longer candidates are not looked at. */
export const MAX_CANDIDATE_LENGTH = 50_000;

/** Nanometres are rarely an answer without a number. */
const UNIT_OR_PRODUCT = new Set(["nm"]);

/** Words before what they announce: \text{The total is } 12. */
const ANNOUNCED = /^\s*\\text\s*\{[^{}]*(?:\b(?:is|are|equals|be)|[:=])\s*\}\s*(?=[^\s=])/iu;
const DENIED = /\b(?:not|never)\b|n['’]t\b/iu;

/** Null when it is no mathematics and no words either. */
export function parse(candidate: string): Expression | null {
  return candidate.length > MAX_CANDIDATE_LENGTH ? null : parseNormalized(normalize(candidate));
}

/** The same for a candidate that `normalize` has seen. */
export function parseNormalized(candidate: string): Expression | null {
  if (candidate.length > MAX_CANDIDATE_LENGTH) return null;
  const text = unannounced(stripPunctuation(candidate));
  if (text === "") return null;
  const words = asWords(text);
  if (words !== null) {
    const spelled = NUMBER_WORDS.get(words);
    return spelled === undefined ? { kind: "text", text: words } : number(integer(spelled));
  }
  const tokens = tokenize(text);
  if (tokens === null || tokens.length === 0) return null;
  try {
    return new Parser(tokens).whole();
  } catch (error) {
    if (error instanceof Unparsable) return null;
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function unannounced(text: string): string {
  const words = ANNOUNCED.exec(text)?.[0];
  return words === undefined || DENIED.test(words) ? text : text.slice(words.length);
}

function stripPunctuation(text: string): string {
  let out = text
    .replace(/^[\s.:,]*(?=[^\d\s.:,])/u, "")
    .replace(/^=\s*(?=[^=])/u, "")
    .replace(/(?:\\\\|[\s,;:?]|\.(?!\.))+$/u, "");
  if (text.trim().endsWith("...")) out = text.trim();
  return out.replace(/^\*+|\*+$/gu, "").trim();
}

/** The text in lower case when it is words throughout: then letters are no variables. */
function asWords(text: string): string | null {
  const plain = text.replace(/\\text\s*\{([^{}]*)\}/gu, "$1").replace(/[{}]/gu, "");
  const bare = plain.replace(/^[([]\s*(.*?)\s*[)\]]$/u, "$1").trim();
  if (!/^[\p{L}\s'"\-.,!]+$/u.test(bare)) return null;
  const runs = bare.match(/\p{L}+/gu) ?? [];
  const isMathematics = runs.every(
    (run) =>
      isLetterProduct(run) ||
      /^(?:and|or)$/iu.test(run) ||
      Object.hasOwn(FUNCTIONS, run.toLowerCase()) ||
      Object.hasOwn(GREEK, run.toLowerCase()) ||
      /^(?:infinity|inf)$/iu.test(run),
  );
  const isUnit = runs.length === 1 && isUnitName(runs[0] ?? "") && !UNIT_OR_PRODUCT.has(runs[0] ?? "");
  if (isMathematics && !isUnit) return null;
  return bare
    .toLowerCase()
    .replace(/[.!"]+$/gu, "")
    .replace(/\s+/gu, " ")
    .trim();
}
