/**
 * MinHash signatures of prompts (Broder 1997): the share of equal entries of two signatures estimates the Jaccard similarity of their sets of
 * word triples. Numbers count as one word, so that two instances of one wording are alike.
 */
const ENTRIES = 128;
const SHINGLE = 3;
const PRIME = 0x01000193;
const OFFSET = 0x811c9dc5;

export function signatureOf(prompts: readonly string[]): Uint32Array {
  const signature = new Uint32Array(ENTRIES).fill(0xffff_ffff);
  for (const shingle of new Set(prompts.flatMap(shinglesOf))) {
    const hash = fnv(shingle);
    for (let entry = 0; entry < ENTRIES; entry++) {
      // Odd multipliers permute the 32-bit numbers; the shift mixes the high bits into the low ones.
      const product = Math.imul(hash ^ (entry * 0x9e3779b1), (entry * 2 + 1) * 0x85ebca6b);
      const value = (product ^ (product >>> 15)) >>> 0;
      if (value < (signature[entry] ?? 0)) signature[entry] = value;
    }
  }
  return signature;
}

/** Estimated Jaccard similarity, from 0 to 1. */
export function similarity(a: Uint32Array, b: Uint32Array): number {
  let equal = 0;
  for (let entry = 0; entry < ENTRIES; entry++) if (a[entry] === b[entry]) equal += 1;
  return equal / ENTRIES;
}

/** Pairs of rows whose prompts are more alike than `limit`. */
export function nearDuplicates(
  rows: readonly { readonly id: string; readonly signature: Uint32Array }[],
  limit: number,
): string[] {
  return rows.flatMap((a, index) =>
    rows.slice(index + 1).flatMap((b) => {
      const alike = similarity(a.signature, b.signature);
      return alike > limit ? [`${a.id} and ${b.id}: ${alike.toFixed(2)}`] : [];
    }),
  );
}

/** The words of a prompt in lower case, each number as the word 0, without punctuation. */
export function wordsOf(prompt: string): string[] {
  return (prompt.toLowerCase().match(/\p{L}+|\d+/gu) ?? []).map((word) => (/^\d/u.test(word) ? "0" : word));
}

function shinglesOf(prompt: string): string[] {
  const words = wordsOf(prompt);
  return words
    .slice(0, Math.max(0, words.length - SHINGLE + 1))
    .map((_, at) => words.slice(at, at + SHINGLE).join(" "));
}

function fnv(text: string): number {
  let hash = OFFSET;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME);
  return hash >>> 0;
}
