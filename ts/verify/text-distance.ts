/** Distances and overlaps of texts. */

/** Least number of inserted, removed and replaced code points (Levenshtein). */
export function editDistance(a: string, b: string): number {
  const [x, y] = [Array.from(a), Array.from(b)];
  let row = Array.from({ length: y.length + 1 }, (_, index) => index);
  x.forEach((sign, i) => {
    const next = [i + 1];
    y.forEach((other, j) => {
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, (row[j] ?? 0) + Number(sign !== other)));
    });
    row = next;
  });
  return row.at(-1) ?? 0;
}

export interface RougeL {
  precision: number;
  recall: number;
  f1: number;
}

/**
 * ROUGE-L on words (Lin 2004): the longest common subsequence over each length. Words are runs of letters and digits in lower case, as in
 * the rouge-score package without stemming. Nothing against something is 0.
 */
export function rougeL(candidate: string, reference: string): RougeL {
  const [a, b] = [words(candidate), words(reference)];
  const common = commonSubsequence(a, b);
  const precision = a.length === 0 ? 0 : common / a.length;
  const recall = b.length === 0 ? 0 : common / b.length;
  return { precision, recall, f1: common === 0 ? 0 : (2 * precision * recall) / (precision + recall) };
}

function words(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function commonSubsequence(a: readonly string[], b: readonly string[]): number {
  let row = Array.from({ length: b.length + 1 }, () => 0);
  for (const word of a) {
    const next = [0];
    b.forEach((other, j) => next.push(word === other ? (row[j] ?? 0) + 1 : Math.max(row[j + 1] ?? 0, next[j] ?? 0)));
    row = next;
  }
  return row.at(-1) ?? 0;
}
