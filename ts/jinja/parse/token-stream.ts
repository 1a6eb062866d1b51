/** The tokens of a template and the reading position. */
import { TemplateFailure } from "../failures.ts";
import type { Token, TokenKind } from "./lexer.ts";

/** Most nested expressions and blocks; Python's parser has a similar limit. */
const MAX_NESTING = 150;

export class TokenStream {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get current(): Token {
    return this.ahead(0);
  }

  ahead(count: number): Token {
    const token = this.#tokens[this.#at + count] ?? this.#tokens.at(-1);
    if (token === undefined) throw new TemplateFailure("the template has no tokens");
    return token;
  }

  next(): Token {
    const token = this.current;
    this.#at += 1;
    return token;
  }

  is(kind: TokenKind, text?: string): boolean {
    return this.current.kind === kind && (text === undefined || this.current.text === text);
  }

  isName(...names: string[]): boolean {
    return this.current.kind === "name" && names.includes(this.current.text);
  }

  isSign(...signs: string[]): boolean {
    return this.current.kind === "sign" && signs.includes(this.current.text);
  }

  skip(kind: TokenKind, text: string): boolean {
    const found = this.is(kind, text);
    if (found) this.#at += 1;
    return found;
  }

  expect(kind: TokenKind, text?: string): Token {
    if (!this.is(kind, text)) this.fail(`${describe({ kind, text: text ?? "" })} is expected`);
    return this.next();
  }

  nested<T>(parse: () => T): T {
    this.#depth += 1;
    if (this.#depth > MAX_NESTING) this.fail(`it nests more than ${MAX_NESTING} deep`);
    const result = parse();
    this.#depth -= 1;
    return result;
  }

  fail(what: string): never {
    throw new TemplateFailure(`line ${this.current.line}: ${what}, where ${describe(this.current)} stands`);
  }
}

function describe({ kind, text }: Pick<Token, "kind" | "text">): string {
  const kinds: Partial<Record<TokenKind, string>> = {
    end: "the end of the template",
    close: "the end of the tag",
    endprint: "'}}'",
    data: "text",
  };
  return kinds[kind] ?? (text === "" ? `a ${kind}` : `'${text}'`);
}
