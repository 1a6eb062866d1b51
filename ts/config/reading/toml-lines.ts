/**
 * Finds the line of every key in a TOML text.
 *
 * The TOML parser gives positions for syntax errors only. This scanner reads text that the parser has already accepted, so it checks
 * nothing; it only has to agree with the parser on where keys and values begin.
 */
import { DEEPEST_KEY, formatPath } from "../keys/key-path.ts";

/** A key that is nested too deep, with its line. */
export class DeepKey extends Error {
  readonly line: number;
  readonly path: readonly (string | number)[];

  constructor(line: number, path: readonly (string | number)[]) {
    super("a key is nested too deep");
    this.line = line;
    this.path = path;
  }
}

/**
 * Line (from 1) by `formatPath` of each key, table and list element.
 *
 * @throws DeepKey
 */
export function keyLines(text: string): Map<string, number> {
  return new Scanner(text).scan();
}

class Scanner {
  readonly #text: string;
  #at = 0;
  #line = 1;
  readonly #lines = new Map<string, number>();
  /** Elements so far of each array of tables. */
  readonly #tableArrays = new Map<string, number>();

  constructor(text: string) {
    this.#text = text;
  }

  scan(): Map<string, number> {
    let table: (string | number)[] = [];
    for (;;) {
      this.#skipBlank();
      if (this.#at >= this.#text.length) return this.#lines;
      if (this.#peek() === "[") table = this.#header();
      else this.#keyValue(table);
    }
  }

  #header(): (string | number)[] {
    const isArray = this.#text.startsWith("[[", this.#at);
    this.#at += isArray ? 2 : 1;
    const keys = this.#keys();
    this.#at += isArray ? 2 : 1;
    const path: (string | number)[] = [];
    keys.forEach((key, i) => {
      path.push(key);
      const name = formatPath(path);
      this.#note(path);
      if (isArray && i === keys.length - 1) this.#tableArrays.set(name, (this.#tableArrays.get(name) ?? 0) + 1);
      const count = this.#tableArrays.get(name);
      if (count !== undefined) {
        path.push(count - 1);
        this.#note(path);
      }
    });
    return path;
  }

  #keyValue(table: readonly (string | number)[]): void {
    const path = [...table];
    for (const key of this.#keys()) {
      path.push(key);
      this.#note(path);
    }
    this.#at += 1; // "="
    this.#skipSpaces();
    this.#value(path);
  }

  /** Dotted key up to "=" or "]", surrounding spaces included. */
  #keys(): string[] {
    const keys: string[] = [];
    for (;;) {
      this.#skipSpaces();
      const quote = this.#peek();
      if (quote === '"' || quote === "'") keys.push(this.#quotedKey(quote));
      else {
        const begin = this.#at;
        while (/[A-Za-z0-9_-]/.test(this.#peek())) this.#at++;
        keys.push(this.#text.slice(begin, this.#at));
      }
      this.#skipSpaces();
      if (this.#peek() !== ".") return keys;
      this.#at++;
    }
  }

  #quotedKey(quote: string): string {
    const begin = this.#at;
    this.#string();
    const raw = this.#text.slice(begin + 1, this.#at - 1);
    if (quote === "'") return raw;
    return raw.replaceAll(/\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|.)/g, (_, escape: string) => {
      const simple = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", e: "\u001b" }[escape];
      if (simple !== undefined) return simple;
      return escape.length > 1 ? String.fromCodePoint(Number.parseInt(escape.slice(1), 16)) : escape;
    });
  }

  #value(path: readonly (string | number)[]): void {
    const first = this.#peek();
    if (first === '"' || first === "'") this.#string();
    else if (first === "[") this.#list(path);
    else if (first === "{") this.#inlineTable(path);
    else while (this.#at < this.#text.length && !",]}#\n".includes(this.#peek())) this.#at++;
  }

  #list(path: readonly (string | number)[]): void {
    this.#at++;
    for (let i = 0; ; i++) {
      this.#skipBlank();
      if (this.#peek() === "]" || this.#peek() === "") break;
      const element = [...path, i];
      this.#note(element);
      this.#value(element);
      this.#skipBlank();
      if (this.#peek() === ",") this.#at++;
    }
    this.#at++;
  }

  #inlineTable(path: readonly (string | number)[]): void {
    this.#at++;
    for (;;) {
      this.#skipBlank();
      if (this.#peek() === "}" || this.#peek() === "") break;
      this.#keyValue(path);
      this.#skipBlank();
      if (this.#peek() === ",") this.#at++;
    }
    this.#at++;
  }

  /** Any of the four kinds of string. */
  #string(): void {
    const quote = this.#peek();
    const isLong = this.#text.startsWith(quote.repeat(3), this.#at);
    const end = isLong ? quote.repeat(3) : quote;
    this.#at += end.length;
    while (this.#at < this.#text.length && !this.#text.startsWith(end, this.#at)) {
      if (quote === '"' && this.#peek() === "\\") this.#step();
      this.#step();
    }
    this.#at += end.length;
    // A long string may end in up to two quotes that belong to it.
    if (isLong) while (this.#peek() === quote) this.#at++;
  }

  #note(path: readonly (string | number)[]): void {
    if (path.length > DEEPEST_KEY) throw new DeepKey(this.#line, path);
    const name = formatPath(path);
    if (!this.#lines.has(name)) this.#lines.set(name, this.#line);
  }

  #peek(): string {
    return this.#text[this.#at] ?? "";
  }

  #step(): void {
    if (this.#peek() === "\n") this.#line++;
    this.#at++;
  }

  #skipSpaces(): void {
    while (this.#peek() === " " || this.#peek() === "\t") this.#at++;
  }

  /** Spaces, line ends and comments. */
  #skipBlank(): void {
    for (;;) {
      const next = this.#peek();
      if (next === "#") while (this.#at < this.#text.length && this.#peek() !== "\n") this.#at++;
      else if (next !== "" && /\s|\uFEFF/.test(next)) this.#step();
      else return;
    }
  }
}
