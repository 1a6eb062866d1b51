/** Writes texts as words of bash that nothing is expanded in. */

/** Characters that mean nothing to a shell, in a word that needs no quotes. */
const HARMLESS = /^[A-Za-z0-9_@%+=:./-]+$/u;

/** One word of bash whose value is `text`, which must not have the character NUL. */
export function quoted(text: string): string {
  return HARMLESS.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The words of a bash array. */
export function quotedWords(words: readonly string[]): string {
  return `(${words.map((word) => quoted(word)).join(" ")})`;
}
