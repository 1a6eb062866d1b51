/**
 * Reads the source of a service: a small part of Python. Functions at the top, blocks by four spaces, whole numbers, texts, lists in brackets, calls,
 * indexes, comparisons, `and`, `or`, `not`. There is nothing else, and a text that is anything else is refused with its line.
 */

export type Operator = "+" | "-" | "*" | "//" | "%" | "<" | "<=" | ">" | ">=" | "==" | "!=" | "and" | "or";

export type Expression =
  | { readonly is: "value"; readonly value: number | string | boolean | null }
  | { readonly is: "name"; readonly name: string }
  | { readonly is: "list"; readonly items: readonly Expression[] }
  | { readonly is: "call"; readonly name: string; readonly args: readonly Expression[] }
  | { readonly is: "item"; readonly of: Expression; readonly index: Expression }
  | { readonly is: "not" | "minus"; readonly of: Expression }
  | { readonly is: "both"; readonly op: Operator; readonly left: Expression; readonly right: Expression };

export type Statement =
  | { readonly do: "set"; readonly name: string; readonly to: Expression }
  | { readonly do: "call"; readonly call: Expression }
  | { readonly do: "return"; readonly value: Expression }
  | { readonly do: "pass" }
  | { readonly do: "while"; readonly test: Expression; readonly body: readonly Statement[] }
  | {
      readonly do: "if";
      readonly test: Expression;
      readonly holds: readonly Statement[];
      readonly or: readonly Statement[];
    };

export interface Routine {
  readonly parameters: readonly string[];
  readonly body: readonly Statement[];
}

/** What a file defines: constants, in their order, and functions. */
export interface Module {
  readonly constants: readonly (readonly [name: string, value: Expression])[];
  readonly routines: ReadonlyMap<string, Routine>;
}

/** Why a text is no source; the message has the line. */
export class NotSource extends Error {}

const TOKEN = /\s*(?:(\d{1,9})|"([^"\\]*)"|([A-Za-z_]\w*)|(\/\/|<=|>=|==|!=|[-+*%<>()[\],=]))/uy;
const WORDS = ["and", "or", "not", "if", "elif", "else", "while", "return", "def", "pass", "None", "True", "False"];
const NAME = /^[A-Za-z_]\w*$/u;
const LEVELS: readonly (readonly Operator[])[] = [
  ["or"],
  ["and"],
  ["<", "<=", ">", ">=", "==", "!="],
  ["+", "-"],
  ["*", "//", "%"],
];
/** Of the levels above, which takes one operator at most. */
const COMPARISON = 2;
/** Brackets within brackets. */
const DEEPEST = 40;
const INDENT = 4;

interface Token {
  readonly kind: "number" | "text" | "word" | "sign";
  readonly text: string;
}

interface Line {
  readonly number: number;
  readonly depth: number;
  readonly tokens: readonly Token[];
}

/** Throws NotSource. */
export function parseModule(source: string): Module {
  const lines = source.split("\n").flatMap((text, index) => readLine(text, index + 1));
  const reader = new Blocks(lines);
  const constants: [string, Expression][] = [];
  const routines = new Map<string, Routine>();
  for (let line = reader.peek(0); line !== undefined; line = reader.peek(0)) {
    const first = line.tokens[0]?.text;
    if (first === "def") {
      const [name, routine] = reader.routine();
      routines.set(name, routine);
      continue;
    }
    const statement = reader.statement(0);
    if (statement.do !== "set")
      throw new NotSource(`line ${line.number}: only functions and constants stand at the top`);
    constants.push([statement.name, statement.to]);
  }
  const [left] = reader.rest();
  if (left !== undefined) throw new NotSource(`line ${left.number}: unexpected indent`);
  return { constants, routines };
}

function readLine(text: string, number: number): Line[] {
  const code = text.replace(/#[^"]*$/u, "").trimEnd();
  if (code === "") return [];
  const spaces = code.length - code.trimStart().length;
  if (spaces % INDENT !== 0) throw new NotSource(`line ${number}: blocks are indented by ${INDENT} spaces`);
  const tokens: Token[] = [];
  TOKEN.lastIndex = spaces;
  while (TOKEN.lastIndex < code.length) {
    const start = TOKEN.lastIndex;
    const [, digits, quoted, word, sign] = TOKEN.exec(code) ?? [];
    if (digits !== undefined) tokens.push({ kind: "number", text: digits });
    else if (quoted !== undefined) tokens.push({ kind: "text", text: quoted });
    else if (word !== undefined) tokens.push({ kind: "word", text: word });
    else if (sign !== undefined) tokens.push({ kind: "sign", text: sign });
    else if (code.slice(start).trim() === ":" && start > 0) {
      tokens.push({ kind: "sign", text: ":" });
      break;
    } else throw new NotSource(`line ${number}: ${JSON.stringify(code.slice(start, start + 10))} is not understood`);
  }
  return [{ number, depth: spaces / INDENT, tokens }];
}

/** Lines as blocks of statements. */
class Blocks {
  readonly #lines: readonly Line[];
  #next = 0;

  constructor(lines: readonly Line[]) {
    this.#lines = lines;
  }

  /** The next line, if it has this depth. */
  peek(depth: number): Line | undefined {
    const line = this.#lines[this.#next];
    return line?.depth === depth ? line : undefined;
  }

  rest(): readonly Line[] {
    return this.#lines.slice(this.#next);
  }

  routine(): [string, Routine] {
    const words = this.#take(0);
    words.word("def");
    const name = words.name();
    words.sign("(");
    const parameters: string[] = [];
    while (!words.has(")")) {
      if (parameters.length > 0) words.sign(",");
      parameters.push(words.name());
    }
    words.sign(")");
    return [name, { parameters, body: this.#block(words, 0) }];
  }

  statement(depth: number): Statement {
    const words = this.#take(depth);
    if (words.takes("pass")) return words.ended({ do: "pass" });
    if (words.takes("return")) return words.ended({ do: "return", value: words.expression() });
    if (words.takes("while")) return { do: "while", test: words.expression(), body: this.#block(words, depth) };
    if (words.takes("if")) return this.#branch(words, depth);
    const target = words.expression();
    if (target.is === "name" && words.takes("="))
      return words.ended({ do: "set", name: target.name, to: words.expression() });
    if (target.is === "call") return words.ended({ do: "call", call: target });
    throw words.refused("a statement was expected");
  }

  #branch(words: Words, depth: number): Statement {
    const test = words.expression();
    const holds = this.#block(words, depth);
    const next = this.peek(depth)?.tokens[0];
    if (next?.kind !== "word" || (next.text !== "elif" && next.text !== "else"))
      return { do: "if", test, holds, or: [] };
    const more = this.#take(depth);
    if (more.takes("elif")) return { do: "if", test, holds, or: [this.#branch(more, depth)] };
    more.word("else");
    return { do: "if", test, holds, or: this.#block(more, depth) };
  }

  /** The statements behind a colon. */
  #block(words: Words, depth: number): Statement[] {
    words.sign(":");
    words.ended(null);
    if (depth >= DEEPEST) throw words.refused("too many blocks within blocks");
    const body: Statement[] = [];
    while (this.peek(depth + 1) !== undefined) body.push(this.statement(depth + 1));
    if (body.length === 0) throw words.refused("an indented block was expected behind this line");
    return body;
  }

  #take(depth: number): Words {
    const line = this.peek(depth);
    if (line === undefined) throw new NotSource("an indented block ends too early");
    this.#next += 1;
    return new Words(line);
  }
}

/** The tokens of a line. */
class Words {
  readonly #line: Line;
  #next = 0;
  #depth = 0;

  constructor(line: Line) {
    this.#line = line;
  }

  refused(why: string): NotSource {
    return new NotSource(`line ${this.#line.number}: ${why}`);
  }

  has(text: string): boolean {
    const token = this.#line.tokens[this.#next];
    return token !== undefined && token.kind !== "text" && token.kind !== "number" && token.text === text;
  }

  takes(text: string): boolean {
    if (!this.has(text)) return false;
    this.#next += 1;
    return true;
  }

  sign(text: string): void {
    if (!this.takes(text)) throw this.refused(`${text} was expected`);
  }

  word(text: string): void {
    this.sign(text);
  }

  name(): string {
    const token = this.#line.tokens[this.#next];
    if (token?.kind !== "word" || !NAME.test(token.text) || WORDS.includes(token.text))
      throw this.refused("a name was expected");
    this.#next += 1;
    return token.text;
  }

  ended<Made>(made: Made): Made {
    if (this.#next < this.#line.tokens.length) throw this.refused("something is left at the end of the line");
    return made;
  }

  expression(level = 0): Expression {
    const operators = LEVELS[level];
    if (operators === undefined) return this.#unary();
    if (level === COMPARISON && this.takes("not")) return { is: "not", of: this.expression(COMPARISON) };
    let left = this.expression(level + 1);
    for (;;) {
      const op = operators.find((one) => this.takes(one));
      if (op === undefined) return left;
      left = { is: "both", op, left, right: this.expression(level + 1) };
      if (level === COMPARISON && operators.some((one) => this.has(one)))
        throw this.refused("comparisons are not chained");
    }
  }

  #unary(): Expression {
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw this.refused("too many brackets within brackets");
    const made: Expression = this.takes("-") ? { is: "minus", of: this.#unary() } : this.#items(this.#primary());
    this.#depth -= 1;
    return made;
  }

  #items(of: Expression): Expression {
    if (!this.takes("[")) return of;
    const index = this.expression();
    this.sign("]");
    return this.#items({ is: "item", of, index });
  }

  #primary(): Expression {
    const token = this.#line.tokens[this.#next];
    if (token === undefined) throw this.refused("the line ends too early");
    if (token.kind === "number" || token.kind === "text") {
      this.#next += 1;
      return { is: "value", value: token.kind === "number" ? Number(token.text) : token.text };
    }
    if (this.takes("(")) {
      const inside = this.expression();
      this.sign(")");
      return inside;
    }
    if (this.takes("[")) return { is: "list", items: this.#some("]") };
    if (this.takes("None")) return { is: "value", value: null };
    if (this.takes("True")) return { is: "value", value: true };
    if (this.takes("False")) return { is: "value", value: false };
    const name = this.name();
    return this.takes("(") ? { is: "call", name, args: this.#some(")") } : { is: "name", name };
  }

  #some(end: string): Expression[] {
    const items: Expression[] = [];
    while (!this.takes(end)) {
      if (items.length > 0) this.sign(",");
      items.push(this.expression());
    }
    return items;
  }
}
