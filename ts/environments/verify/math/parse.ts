/** One candidate answer as an expression. */
import { type Expression, number } from "./expression.ts";
import { normalize } from "./normalize.ts";
import { Parser } from "./parser.ts";
import { integer } from "./rational.ts";
import { tokenize } from "./tokens.ts";
import { isUnitName } from "./units.ts";
import { Unparsable } from "./unparsable.ts";
import { FUNCTIONS, GREEK, NUMBER_WORDS } from "./vocabulary.ts";

/** Longer candidates are not looked at. */
export const MAX_CANDIDATE_LENGTH = 50_000;

/** Letters that stand together as a product in answers, not as a word. */
const VARIABLE_RUN = /^[a-z]{1,2}$|^[xyzwuvt]{3,4}$/u;

/** Null when it is no mathematics and no words either. */
export function parse(candidate: string): Expression | null {
  if (candidate.length > MAX_CANDIDATE_LENGTH) return null;
  const text = stripPunctuation(normalize(candidate));
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

function stripPunctuation(text: string): string {
  let out = text.replace(/^[\s.:,]*(?=[^\d\s.:,])/u, "").replace(/(?:\\\\|[\s,;:?]|\.(?!\.))+$/u, "");
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
      VARIABLE_RUN.test(run.toLowerCase()) ||
      /^(?:and|or)$/iu.test(run) ||
      Object.hasOwn(FUNCTIONS, run.toLowerCase()) ||
      Object.hasOwn(GREEK, run.toLowerCase()) ||
      /^(?:infinity|inf)$/iu.test(run),
  );
  if (isMathematics && !(runs.length === 1 && isUnitName(runs[0] ?? ""))) return null;
  return bare
    .toLowerCase()
    .replace(/[.!"]+$/gu, "")
    .replace(/\s+/gu, " ")
    .trim();
}
