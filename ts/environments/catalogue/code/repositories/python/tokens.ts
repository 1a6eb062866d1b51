/** Words of a Python text. Line breaks and indentation are tokens, as in CPython; inside brackets they are not. */
export type Kind = "name" | "number" | "text" | "format" | "sign" | "line" | "indent" | "dedent" | "end";

export interface Token {
  readonly kind: Kind;
  readonly text: string;
}

const TOKEN =
  /[^\S\n]*(?:(?<comment>#[^\n]*)|(?<format>f"(?:[^"\\\n]|\\.)*")|(?<doc>"""[\s\S]*?""")|(?<text>"(?:[^"\\\n]|\\.)*")|(?<name>[A-Za-z_]\w*)|(?<number>\d+)|(?<sign>\/\/=|\/\/|\*\*|[-+*%<>=!]=|[-+*%<>=()[\]{},:.])|(?<line>\n))/gy;
const KINDS = ["name", "sign", "line", "text", "number", "format", "doc", "comment"] as const;
const WIDTH = 4;

/** Throws SyntaxError. */
export function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let depth = 0;
  let indent = 0;
  const level = (to: number): void => {
    for (; indent < to; indent++) tokens.push({ kind: "indent", text: "" });
    for (; indent > to; indent--) tokens.push({ kind: "dedent", text: "" });
  };
  TOKEN.lastIndex = 0;
  let startsLine = true;
  while (TOKEN.lastIndex < source.length) {
    const at = TOKEN.lastIndex;
    const found = TOKEN.exec(source)?.groups;
    if (found === undefined) {
      if (source.slice(at).trim() === "") break;
      throw new SyntaxError(`no token: ${JSON.stringify(source.slice(at, at + 30))}`);
    }
    const kind = KINDS.find((one) => found[one] !== undefined) ?? "line";
    const text = found[kind];
    if (kind === "comment") continue;
    if (kind === "line") {
      if (depth === 0 && !startsLine) tokens.push({ kind: "line", text: "" });
      startsLine ||= depth === 0;
      continue;
    }
    if (startsLine) {
      const lineAt = source.lastIndexOf("\n", TOKEN.lastIndex - (text?.length ?? 0) - 1) + 1;
      level((TOKEN.lastIndex - (text?.length ?? 0) - lineAt) / WIDTH);
      startsLine = false;
    }
    if (kind === "doc") {
      tokens.push({ kind: "text", text: '""' });
      continue;
    }
    if ("([{".includes(text ?? "") && kind === "sign") depth += 1;
    if (")]}".includes(text ?? "") && kind === "sign") depth -= 1;
    tokens.push({ kind, text: text ?? "" });
  }
  if (!startsLine) tokens.push({ kind: "line", text: "" });
  level(0);
  tokens.push({ kind: "end", text: "" });
  return tokens;
}

/** A reader of tokens with one word of look-ahead. */
export class Tokens {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get next(): Token {
    return this.#tokens[this.#at] ?? { kind: "end", text: "" };
  }

  take(): Token {
    const token = this.next;
    this.#at += 1;
    return token;
  }

  /** Whether the next token is this sign or word. */
  is(text: string): boolean {
    const { kind, text: found } = this.next;
    return (kind === "sign" || kind === "name") && found === text;
  }

  /** Takes the next token where it is this sign or word. */
  accept(text: string): boolean {
    const found = this.is(text);
    if (found) this.#at += 1;
    return found;
  }

  expect(text: string): void {
    if (!this.accept(text)) throw new SyntaxError(`expected ${text}, found ${JSON.stringify(this.next)}`);
  }

  expectKind(kind: Kind): string {
    const token = this.take();
    if (token.kind !== kind) throw new SyntaxError(`expected a ${kind}, found ${JSON.stringify(token)}`);
    return token.text;
  }
}
