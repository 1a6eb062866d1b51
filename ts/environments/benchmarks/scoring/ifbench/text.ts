/** How IFBench's grader reads a text: words, sentences, tokens. Python's `string`, NLTK's tokenizer, and the grader's own rule for sentences. */
import { sentences } from "../../../../verify/internal.ts";

/** Python's `string.punctuation`: the marks of ASCII. */
const MARK = "!-/:-@\\[-`{-~";
const MARKS = new RegExp(`[${MARK}]`, "gu");
const FRONT = new RegExp(`^[${MARK} ]+`, "u");
const BACK = new RegExp(`[${MARK} ]+$`, "u");

/** Without any mark, in every place. */
export function unmarked(text: string): string {
  return text.replaceAll(MARKS, "");
}

/** Without marks and blanks at its beginning. */
export function frontTrimmed(text: string): string {
  return text.replace(FRONT, "");
}

/** Without marks and blanks at its end. */
export function backTrimmed(text: string): string {
  return text.replace(BACK, "");
}

export function trimmed(text: string): string {
  return backTrimmed(frontTrimmed(text));
}

/** Pieces between white space. */
export function pieces(text: string): string[] {
  return text.split(/\s+/u).filter((piece) => piece !== "");
}

/** Runs of letters, digits and underscores. */
export function runs(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+/gu) ?? [];
}

/** Letters without accents, and nothing beyond ASCII. */
export function plain(text: string): string {
  return text.normalize("NFKD").replaceAll(/[\u0080-\u{10ffff}]/gu, "");
}

/** Stands for a full stop that ends no sentence, and for the end of a sentence: private characters, which no reply has a reason to use. */
const DOT = "\uE000";
const END = "\uE001";
const STARTER =
  "(Mr|Mrs|Ms|Dr|Prof|Capt|Cpt|Lt|He\\s|She\\s|It\\s|They\\s|Their\\s|Our\\s|We\\s|But\\s|However\\s|That\\s|This\\s|Wherever)";

/** The grader protects full stops in this order; the order decides what a later rule still sees. */
const PROTECTED: readonly (readonly [RegExp, string])[] = [
  [/(Mr|St|Mrs|Ms|Dr)\./gu, `$1${DOT}`],
  [/\.(com|net|org|io|gov|edu|me)/gu, `${DOT}$1`],
  [/([0-9])\.([0-9])/gu, `$1${DOT}$2`],
  [/(?<!\.)\.{2,}/gu, "dots"],
  [/Ph\.D\./gu, `Ph${DOT}D${DOT}`],
  [/\s([A-Za-z])\. /gu, ` $1${DOT} `],
  [new RegExp(`([A-Z]\\.[A-Z]\\.(?:[A-Z]\\.)?) ${STARTER}`, "gu"), `$1${END} $2`],
  [/([A-Za-z])\.([A-Za-z])\.([A-Za-z])\./gu, `$1${DOT}$2${DOT}$3${DOT}`],
  [/([A-Za-z])\.([A-Za-z])\./gu, `$1${DOT}$2${DOT}`],
  [new RegExp(` (Inc|Ltd|Jr|Sr|Co)\\. ${STARTER}`, "gu"), ` $1${END} $2`],
  [/ (Inc|Ltd|Jr|Sr|Co)\./gu, ` $1${DOT}`],
  [/ ([A-Za-z])\./gu, ` $1${DOT}`],
  // A closing quotation mark belongs to the sentence in front of it.
  [/\.”/gu, "”."],
  [/\."/gu, '".'],
  [/!"/gu, '"!'],
  [/\?"/gu, '"?'],
  [/[.?!]/gu, `$&${END}`],
];

/** Sentences by the grader's rule: they may be empty, except the last one. */
export function gradedSentences(text: string): string[] {
  let marked = ` ${text}  `.replaceAll("\n", " ");
  for (const [pattern, put] of PROTECTED) {
    marked =
      put === "dots"
        ? marked.replaceAll(pattern, (dots) => DOT.repeat(dots.length) + END)
        : marked.replaceAll(pattern, put);
  }
  const found = marked
    .replaceAll(DOT, ".")
    .split(END)
    .map((sentence) => sentence.trim());
  return found.at(-1) === "" ? found.slice(0, -1) : found;
}

/** The Penn Treebank's tokens, in the edition of NLTK; each rule sets off what it finds by blanks. */
const TREEBANK: readonly (readonly [RegExp, string])[] = [
  [/([«“‘„]|`+)/gu, " $1 "],
  [/^"/gu, "``"],
  [/(``)/gu, " $1 "],
  [/([ ([{<])("|'{2})/gu, "$1 `` "],
  [/'(?!(?:re|ve|ll|m|t|s|d|n))([\p{L}\p{N}_])(?![\p{L}\p{N}_])/giu, "' $1"],
  [/([^.])(\.)([\])}>"'»”’ ]*)\s*$/gu, "$1 $2 $3 "],
  [/([:,])([^\p{Nd}])/gu, " $1 $2"],
  [/([:,])$/gu, " $1 "],
  [/\.{2,}/gu, " $& "],
  [/[;@#$%&]/gu, " $& "],
  [/[?!]/gu, " $& "],
  [/([^'])' /gu, "$1 ' "],
  [/\*/gu, " $& "],
  [/[\][(){}<>]/gu, " $& "],
  [/--/gu, " -- "],
  [/^|$/gu, " "],
  [/[»”’]/gu, " $& "],
  [/''/gu, " '' "],
  [/"/gu, " '' "],
  [/\s+/gu, " "],
  [/([^' ])('[sS]|'[mM]|'[dD]|') /gu, "$1 $2 "],
  [/([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) /gu, "$1 $2 "],
  [/\b(can)(not)\b/giu, " $1 $2 "],
  [/\b(gim|lem)(me)\b/giu, " $1 $2 "],
  [/\b(gon|wan)(na)\b/giu, " $1 $2 "],
  [/\b(got)(ta)\b/giu, " $1 $2 "],
  [/ ('t)(is|was)\b/giu, " $1 $2 "],
];

/** Tokens of a text, sentence by sentence. NLTK finds the sentences by a model; here a rule does. */
export function treebankTokens(text: string): string[] {
  return sentences(text).flatMap((sentence) =>
    pieces(TREEBANK.reduce((marked, [pattern, put]) => marked.replaceAll(pattern, put), sentence)),
  );
}
