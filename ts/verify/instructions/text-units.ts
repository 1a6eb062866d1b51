/** How instructions count: words, sentences, paragraphs, lines. */

/** Runs of letters, digits and underscores: an apostrophe or a hyphen splits. */
export function words(text: string): string[] {
  return text.match(/[\p{L}\p{N}\p{M}_]+/gu) ?? [];
}

/** Words between white space, in lower case and without ASCII punctuation: "don't" is "dont". */
export function bareWords(text: string): string[] {
  return text
    .toLowerCase()
    .replace(/[!-/:-@[-`{-~]/gu, "")
    .split(/\s+/u)
    .filter((word) => word !== "");
}

/** Words and single marks. */
export function tokens(text: string): string[] {
  return text.match(/[\p{L}\p{N}\p{M}_]+(?:['’-][\p{L}\p{N}\p{M}_]+)*|[^\s\p{L}\p{N}\p{M}_]/gu) ?? [];
}

/** As a regular expression that matches just this. */
export function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/gu, "\\$&");
}

const ABBREVIATIONS = new Set(
  "mr mrs ms dr prof st jr sr vs etc e.g i.e cf al fig no vol inc ltd co dept est approx a.m p.m u.s u.k ph.d".split(
    " ",
  ),
);

/** Sentences end with ., ! or ? before white space, but not behind an abbreviation, a single initial or before a small letter. */
export function sentences(text: string): string[] {
  const found: string[] = [];
  let start = 0;
  for (const match of text.matchAll(/[.!?。！？]+["'”’)\]]*(?=\s|$)|[。！？]/gu)) {
    const end = match.index + match[0].length;
    const word = wordBefore(text, start, match.index)
      .toLowerCase()
      .replace(/^["'(]+/u, "");
    const isDot = match[0].startsWith(".") && !match[0].startsWith("..");
    const next = text.slice(end).trimStart();
    const isInitial = /^\p{L}$/u.test(word) && next !== "";
    if (isDot && next !== "" && (ABBREVIATIONS.has(word) || isInitial || /^\p{Ll}/u.test(next))) continue;
    found.push(text.slice(start, end).trim());
    start = end;
  }
  const rest = text.slice(start).trim();
  if (rest !== "") found.push(rest);
  return found.filter((sentence) => /[\p{L}\p{N}]/u.test(sentence));
}

/** Longer words are neither abbreviations nor initials. */
const LONGEST_WORD = 40;

/** What stands without white space before a place. */
function wordBefore(text: string, start: number, end: number): string {
  let from = end;
  while (from > start && end - from < LONGEST_WORD && !/\s/u.test(text[from - 1] ?? " ")) from--;
  return text.slice(from, end);
}

/** Whether a count is as asked: "less than" is strict, "at least" is not. */
export function satisfies(count: number, relation: string, limit: number): boolean {
  return relation === "less than" ? count < limit : count >= limit;
}

/** Occurrences that do not overlap, of a regular expression, whatever the case. What is no regular expression is taken literally. */
export function occurrences(text: string, pattern: string, boundaries = false): number {
  const [before, after] = boundaries ? ["(?<![\\p{L}\\p{N}_])(?:", ")(?![\\p{L}\\p{N}_])"] : ["(?:", ")"];
  const literal = escaped(pattern);
  let expression: RegExp;
  try {
    expression = new RegExp(`${before}${pattern}${after}`, "giu");
  } catch {
    expression = new RegExp(`${before}${literal}${after}`, "giu");
  }
  return [...text.matchAll(expression)].filter(([match]) => match !== "").length;
}
