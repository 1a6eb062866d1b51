/**
 * The source of a template as tokens, by the rules of jinja2's lexer with `trim_blocks` and `lstrip_blocks` and without a trailing newline.
 */
import { TemplateFailure, TemplateUnsupported } from "../failures.ts";
import { isSpace, SPACE } from "../python/text.ts";

export type TokenKind =
  | "data"
  | "open"
  | "close"
  | "print"
  | "endprint"
  | "name"
  | "string"
  | "int"
  | "float"
  | "sign"
  | "end";

export interface Token {
  readonly kind: TokenKind;
  /** The text, the unescaped text of a string, or the sign. */
  readonly text: string;
  readonly line: number;
}

const ANY_SPACE = `[${SPACE}]*`;
const TAG = new RegExp(
  `(\\{%(-|\\+|)${ANY_SPACE}raw${ANY_SPACE}(?:-%\\}${ANY_SPACE}|%\\}))|(\\{%|\\{\\{|\\{#)(-|\\+|)`,
  "g",
);
const RAW_END = new RegExp(`\\{%(-|\\+|)${ANY_SPACE}endraw${ANY_SPACE}(?:\\+%\\}|-%\\}${ANY_SPACE}|%\\}\\n?)`, "g");
const COMMENT_END = new RegExp(`\\+#\\}|-#\\}${ANY_SPACE}|#\\}\\n?`, "g");
const BLOCK_END = new RegExp(`\\+%\\}|-%\\}${ANY_SPACE}|%\\}\\n?`, "y");
const PRINT_END = new RegExp(`-\\}\\}${ANY_SPACE}|\\}\\}`, "y");
const BLANK = new RegExp(`^[${SPACE}]*$`);
const WHITESPACE = new RegExp(`[${SPACE}]+`, "y");
const FLOAT = /(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iy;
const INT = /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy;
const NAME = /[\p{ID_Start}_][\p{ID_Continue}]*/uy;
const STRING = /'[^'\\]*(?:\\[\s\S][^'\\]*)*'|"[^"\\]*(?:\\[\s\S][^"\\]*)*"/y;
const SIGN = /\/\/|\*\*|==|!=|>=|<=|[-+/*%~()[\]{}<>=.:|,;]/y;
const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

export function tokenize(source: string): Token[] {
  return new Lexer(source).run();
}

class Lexer {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  #at = 0;
  /** Place up to which lines are counted. */
  #counted = 0;
  #line = 1;
  /** The last tag or text ended with a newline, or this is the beginning. */
  #startsLine = true;

  constructor(source: string) {
    this.#source = source.replace(/\r\n|\r/g, "\n").replace(/\n$/, "");
  }

  run(): Token[] {
    for (;;) {
      TAG.lastIndex = this.#at;
      const match = TAG.exec(this.#source);
      if (match === null) break;
      const [whole, raw, rawSign, tag, sign] = match;
      const isPrint = tag === "{{";
      const text = this.#source.slice(this.#at, match.index);
      this.#push("data", this.#beforeTag(text, raw === undefined ? (sign ?? "") : (rawSign ?? ""), isPrint));
      this.#moveTo(match.index + whole.length);
      if (raw !== undefined) this.#raw();
      else if (tag === "{#") this.#comment();
      else this.#inside(isPrint);
    }
    this.#push("data", this.#source.slice(this.#at));
    this.#moveTo(this.#source.length);
    this.#push("end", "");
    return this.#tokens;
  }

  #push(kind: TokenKind, text: string): void {
    if (kind === "data" && text === "") return;
    this.#tokens.push({ kind, text, line: this.#lineNumber() });
  }

  #lineNumber(): number {
    for (; this.#counted < this.#at; this.#counted++) if (this.#source[this.#counted] === "\n") this.#line += 1;
    return this.#line;
  }

  #moveTo(place: number): void {
    this.#at = place;
    this.#startsLine = place > 0 ? this.#source[place - 1] === "\n" : true;
  }

  /** `-` removes all space before a tag; `lstrip_blocks` removes the space between the beginning of its line and the tag. */
  #beforeTag(text: string, sign: string, isPrint: boolean): string {
    if (sign === "-") {
      let end = text.length;
      while (end > 0 && isSpace(text[end - 1] ?? "")) end -= 1;
      return text.slice(0, end);
    }
    if (sign === "+" || isPrint) return text;
    const line = text.lastIndexOf("\n") + 1;
    const isAlone = line > 0 || this.#startsLine;
    const isBlank = line < text.length && BLANK.test(text.slice(line));
    return isAlone && isBlank ? text.slice(0, line) : text;
  }

  #raw(): void {
    RAW_END.lastIndex = this.#at;
    const match = RAW_END.exec(this.#source);
    if (match === null) this.#fail("a raw block has no end");
    this.#push("data", this.#beforeTag(this.#source.slice(this.#at, match.index), match[1] ?? "", false));
    this.#moveTo(match.index + match[0].length);
  }

  #comment(): void {
    COMMENT_END.lastIndex = this.#at;
    const match = COMMENT_END.exec(this.#source);
    if (match === null) this.#fail("a comment has no end");
    this.#moveTo(match.index + match[0].length);
  }

  #inside(isPrint: boolean): void {
    this.#push(isPrint ? "print" : "open", "");
    const brackets: string[] = [];
    for (;;) {
      const end = brackets.length === 0 ? this.#match(isPrint ? PRINT_END : BLOCK_END) : null;
      if (end !== null) {
        this.#push(isPrint ? "endprint" : "close", "");
        this.#moveTo(this.#at + end.length);
        return;
      }
      this.#token(brackets);
    }
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#source)?.[0] ?? null;
  }

  #token(brackets: string[]): void {
    const blank = this.#match(WHITESPACE);
    if (blank !== null) return this.#moveTo(this.#at + blank.length);
    const rules: readonly [TokenKind, RegExp][] = [
      ["float", FLOAT],
      ["int", INT],
      ["name", NAME],
      ["string", STRING],
      ["sign", SIGN],
    ];
    for (const [kind, pattern] of rules) {
      const text = this.#match(pattern);
      if (text === null) continue;
      if (kind === "sign") this.#balance(text, brackets);
      this.#push(kind, kind === "string" ? this.#unescaped(text.slice(1, -1)) : text);
      this.#moveTo(this.#at + text.length);
      return;
    }
    const next = this.#source[this.#at];
    if (next === undefined) this.#fail("a tag has no end");
    this.#fail(`${JSON.stringify(next)} is unexpected`);
  }

  #balance(sign: string, brackets: string[]): void {
    const closing = CLOSING[sign];
    if (closing !== undefined) brackets.push(closing);
    else if (")]}".includes(sign) && brackets.pop() !== sign) this.#fail(`'${sign}' is unexpected`);
  }

  #unescaped(text: string): string {
    const escape =
      /\\(?:x(?<x>[\da-fA-F]{2})|u(?<u>[\da-fA-F]{4})|U(?<wide>[\da-fA-F]{8})|(?<octal>[0-7]{1,3})|(?<sign>[\s\S]))/g;
    return text.replace(escape, (whole, ...found) => {
      const { x, u, wide, octal, sign } = found.at(-1) as Partial<
        Record<"x" | "u" | "wide" | "octal" | "sign", string>
      >;
      const hex = x ?? u ?? wide;
      if (hex !== undefined) {
        const point = Number.parseInt(hex, 16);
        return point > 0x10ffff ? this.#fail("an escape is no character") : String.fromCodePoint(point);
      }
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
      if (sign === "N") throw new TemplateUnsupported(`line ${this.#lineNumber()}: the escape \\N is not implemented`);
      if (sign !== undefined && sign > "\x7f") {
        throw new TemplateUnsupported(`line ${this.#lineNumber()}: a backslash before ${sign} is not implemented`);
      }
      if (sign === "x" || sign === "u" || sign === "U") this.#fail(`an escape \\${sign} is cut short`);
      const named: Record<string, string> = { n: "\n", t: "\t", r: "\r", a: "\x07", b: "\b", f: "\f", v: "\v" };
      if (sign === "\n") return "";
      if (sign === "\\" || sign === "'" || sign === '"') return sign;
      return named[sign ?? ""] ?? whole;
    });
  }

  #fail(what: string): never {
    throw new TemplateFailure(`line ${this.#lineNumber()}: ${what}`);
  }
}
