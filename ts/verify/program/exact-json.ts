/**
 * JSON whose numbers keep their value: whole numbers are bigints, the others doubles; NaN and Infinity are read as Python writes them.
 *
 * `JSON.parse` makes doubles of all numbers, so that two different large whole numbers would be equal.
 */

export type ExactJson = null | boolean | bigint | number | string | ExactJson[] | Map<string, ExactJson>;

const MAX_DEPTH = 2_000;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/uy;
const STRING = /"(?:[^"\\]|\\.)*"/uy;
const WORDS: readonly [string, ExactJson][] = [
  ["null", null],
  ["true", true],
  ["false", false],
  ["NaN", Number.NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
];

/** Throws a SyntaxError for what is no JSON, or nested more than 2000 deep. */
export function parseExactJson(text: string): ExactJson {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.end();
  return value;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): ExactJson {
    if (depth > MAX_DEPTH) throw new SyntaxError("nested too deep");
    this.#space();
    if (this.#take("[")) return this.#items("]", () => this.value(depth + 1));
    if (this.#take("{")) return new Map(this.#items("}", () => this.#entry(depth + 1)));
    if (this.#text[this.#at] === '"') return this.#string();
    for (const [word, value] of WORDS) if (this.#take(word)) return value;
    return this.#number();
  }

  end(): void {
    this.#space();
    if (this.#at !== this.#text.length) throw this.#unexpected();
  }

  #entry(depth: number): [string, ExactJson] {
    this.#space();
    const key = this.#string();
    this.#space();
    if (!this.#take(":")) throw this.#unexpected();
    return [key, this.value(depth)];
  }

  #items<Item>(close: string, item: () => Item): Item[] {
    const items: Item[] = [];
    this.#space();
    if (this.#take(close)) return items;
    for (;;) {
      items.push(item());
      this.#space();
      if (this.#take(close)) return items;
      if (!this.#take(",")) throw this.#unexpected();
    }
  }

  #string(): string {
    const literal = this.#match(STRING);
    // The escapes and what may not stand in a string are JSON's own.
    return JSON.parse(literal[0]) as string;
  }

  #number(): bigint | number {
    const [literal, fraction, exponent] = this.#match(NUMBER);
    return fraction === undefined && exponent === undefined ? BigInt(literal) : Number(literal);
  }

  #match(pattern: RegExp): RegExpExecArray {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) throw this.#unexpected();
    this.#at = pattern.lastIndex;
    return found;
  }

  #take(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false;
    this.#at += word.length;
    return true;
  }

  #space(): void {
    while (" \t\n\r".includes(this.#text[this.#at] ?? "x")) this.#at += 1;
  }

  #unexpected(): SyntaxError {
    const found = this.#text.slice(this.#at, this.#at + 20);
    return new SyntaxError(`unexpected ${found === "" ? "end" : JSON.stringify(found)} at ${this.#at}`);
  }
}
