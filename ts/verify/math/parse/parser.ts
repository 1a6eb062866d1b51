/**
 * From tokens to an expression: recursive descent over LaTeX and plain notation together.
 *
 * Whatever is not understood to its end is refused with `Unparsable`; nothing is guessed from a part. Depth is bounded, so
 * that a tower of brackets ends as an error and not as a full stack.
 */
import {
  call,
  type Expression,
  type Joined,
  negative,
  number,
  product,
  type RelationOperator,
  sum,
} from "../values/expression.ts";
import { differential } from "./differential.ts";
import { parseAccent, parseBars, parseCommand } from "./parse-command.ts";
import { takeUnit } from "./parse-unit.ts";
import { parseBrackets, parseSetBraces, reversedInterval } from "./parse-brackets.ts";
import { isZeroBeforeLetters, parseNumber, splitDigits } from "./parse-number.ts";
import { textNode } from "./parse-symbol.ts";
import { parseWord, splitLetters } from "./parse-word.ts";
import type { Token } from "./tokens.ts";
import { Unparsable } from "./unparsable.ts";
import { isSeparatorWord } from "../answer-text/vocabulary.ts";

const MAX_DEPTH = 2000;

const RELATIONS: Readonly<Record<string, RelationOperator>> = {
  "=": "=",
  "<": "<",
  ">": ">",
  "\\le": "<=",
  "\\ge": ">=",
  "\\ne": "!=",
  "\\in": "in",
  "\\approx": "~",
  "\\sim": "~",
  "\\equiv": "=",
};

export class Parser {
  #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  /** Inside |...| a bar closes. */
  bars = 0;
  /** In {x : ...} a colon ends what is described. */
  described = false;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  /** Everything; throws Unparsable when something is left. */
  whole(): Expression {
    const expression = this.list();
    if (this.peek() !== undefined) throw new Unparsable(`unexpected ${this.peek()?.text}`);
    return expression;
  }

  peek(ahead = 0): Token | undefined {
    return this.#tokens[this.#at + ahead];
  }

  next(): Token {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw new Unparsable("it ends too early");
    return token;
  }

  isSign(text: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token?.type === "sign" && token.text === text;
  }

  isCommand(name: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token?.type === "command" && token.text === name;
  }

  takeSign(text: string): boolean {
    if (!this.isSign(text)) return false;
    this.#at++;
    return true;
  }

  takeCommand(name: string): boolean {
    if (!this.isCommand(name)) return false;
    this.#at++;
    return true;
  }

  expectSign(text: string): void {
    if (!this.takeSign(text)) throw new Unparsable(`expected ${text}`);
  }

  /** Other tokens instead of the next ones. */
  replace(count: number, ...tokens: readonly Token[]): void {
    this.#tokens = this.#tokens.toSpliced(this.#at, count, ...tokens);
  }

  /** Tries a reading; when it fails, nothing was read. */
  attempt<Result>(read: () => Result): Result | null {
    const [at, depth, bars, described, tokens] = [this.#at, this.#depth, this.bars, this.described, this.#tokens];
    try {
      return read();
    } catch (error) {
      if (!(error instanceof Unparsable)) throw error;
      [this.#at, this.#depth, this.bars, this.described, this.#tokens] = [at, depth, bars, described, tokens];
      return null;
    }
  }

  /** Everything up to dx, which is read too: its factors and the letter. Null where no dx stands outside of brackets; then nothing was read. */
  integrand(): { body: Expression; variable: string } | null {
    let [depth, open] = [0, 1];
    for (let at = this.#at; at < this.#tokens.length; at++) {
      const token = this.#tokens[at];
      if (token === undefined) return null;
      if (token.type === "sign" && "([{".includes(token.text)) depth++;
      if (token.type === "sign" && ")]}".includes(token.text) && --depth < 0) return null;
      if (depth === 0 && token.type === "command" && token.text === "int") open++;
      const found = depth === 0 ? differential(token, this.#tokens[at + 1]) : null;
      if (found === null || --open > 0) continue;
      const before = found.before === "" || token.type !== "word" ? [] : [{ ...token, text: found.before }];
      const tokens = [...this.#tokens.slice(this.#at, at), ...before];
      this.#at = at + found.tokens;
      return { body: tokens.length === 0 ? number(1) : new Parser(tokens).whole(), variable: found.variable };
    }
    return null;
  }

  // ---- lists and relations ----

  /** Items between commas, semicolons, "and" and "or". One item is itself. */
  list(): Expression {
    const items = [this.relation()];
    let joined: Joined = ",";
    for (;;) {
      const separator = this.#separator();
      if (separator === null || this.peek() === undefined) break;
      if (separator !== ",") joined = separator;
      items.push(this.relation());
    }
    const [only] = items;
    return items.length === 1 && only !== undefined ? only : { kind: "tuple", items, brackets: "", joined };
  }

  #separator(): Joined | null {
    const token = this.peek();
    if (token === undefined) return null;
    const isWord = (token.type === "word" || token.type === "text") && isSeparatorWord(token.text);
    const isSign = token.type === "sign" && (token.text === "," || token.text === ";");
    const isCommand =
      token.type === "command" && (token.text === "lor" || token.text === "land" || token.text === "vee");
    if (!isWord && !isSign && !isCommand) return null;
    this.#at++;
    // "a, and b" is one separator.
    const word = isSign ? this.peek() : token;
    if (word === undefined || (word.type !== "word" && word.type !== "text" && word.type !== "command")) return ",";
    if (isSign && !(word.type !== "command" && isSeparatorWord(word.text))) return ",";
    if (isSign) this.#at++;
    return /^(?:and|land)$/iu.test(word.text.trim()) ? "and" : "or";
  }

  relation(): Expression {
    const sides = [this.setExpression()];
    const operators: RelationOperator[] = [];
    for (;;) {
      const token = this.peek();
      const operator =
        token === undefined || token.type === "number"
          ? undefined
          : token.type === "command"
            ? RELATIONS[`\\${token.text}`]
            : token.type === "sign"
              ? RELATIONS[token.text]
              : undefined;
      if (operator === undefined) break;
      this.#at++;
      operators.push(operator);
      sides.push(this.setExpression());
    }
    const [only] = sides;
    return operators.length === 0 && only !== undefined ? only : { kind: "relation", sides, operators };
  }

  setExpression(): Expression {
    let left = this.additive();
    for (;;) {
      const name = this.takeCommand("cup")
        ? "union"
        : this.takeCommand("cap")
          ? "intersection"
          : this.takeCommand("setminus") || this.takeCommand("backslash")
            ? "difference"
            : null;
      if (name === null) return this.#ratio(left);
      left = { kind: "setOperation", name, of: [left, this.additive()] };
    }
  }

  #ratio(first: Expression): Expression {
    const parts = [first];
    let isClock = false;
    while (!this.described && this.takeSign(":")) {
      isClock ||= /^0\d$/u.test(this.peek()?.text ?? "");
      parts.push(this.additive());
    }
    return parts.length === 1 ? first : ratioOf(parts, isClock);
  }

  // ---- arithmetic ----

  additive(): Expression {
    if (++this.#depth > MAX_DEPTH) throw new Unparsable("too deep");
    const terms = [this.#signed()];
    for (;;) {
      if (this.takeSign("+")) terms.push(this.#term());
      else if (this.takeSign("-")) terms.push(negative(this.#term()));
      else if (this.takeCommand("pm") || this.takeCommand("mp")) {
        const base = sum(terms.splice(0));
        terms.push({ kind: "plusMinus", base, offset: this.#term() });
      } else break;
    }
    this.#depth--;
    return sum(terms);
  }

  #signed(): Expression {
    let sign = 1;
    for (;;) {
      if (this.takeSign("-")) sign = -sign;
      else if (!this.takeSign("+")) break;
    }
    if (this.takeCommand("pm") || this.takeCommand("mp")) {
      return { kind: "plusMinus", base: number(0), offset: this.#term() };
    }
    const term = this.#term();
    return sign < 0 ? negative(term) : term;
  }

  #term(): Expression {
    let sign = 1;
    for (;;) {
      if (this.takeSign("-")) sign = -sign;
      else if (!this.takeSign("+")) break;
    }
    const start = this.peek();
    if (start !== undefined && isZeroBeforeLetters(start, this.peek(1))) throw new Unparsable("zero before letters");
    let factors = [this.power()];
    for (;;) {
      if (this.takeSign("*") || this.takeCommand("cdot") || this.takeCommand("times") || this.takeCommand("ast")) {
        factors.push(this.#signedPower());
      } else if (this.takeSign("/") || this.takeCommand("div")) {
        factors.push({ kind: "power", base: this.#signedPower(), exponent: number(-1) });
      } else if (this.takeCommand("bmod") || this.takeCommand("mod") || this.#takeWord("mod")) {
        factors = [call("mod", product(factors), this.#signedPower())];
      } else if (this.takeCommand("pmod")) {
        factors = [call("residue", product(factors), this.#argument())];
      } else if (takeUnit(this, factors)) {
        break;
      } else if (this.#startsFactor()) {
        if (this.peek()?.type === "number" && factors.at(-1)?.kind === "number") throw new Unparsable("two numbers");
        factors.push(this.power());
      } else break;
    }
    const term = product(factors);
    return sign < 0 ? negative(term) : term;
  }

  #signedPower(): Expression {
    let sign = 1;
    while (this.isSign("-") || this.isSign("+")) sign = this.next().text === "-" ? -sign : sign;
    const value = this.power();
    return sign < 0 ? negative(value) : value;
  }

  #takeWord(text: string): boolean {
    const token = this.peek();
    if (token?.type !== "word" || token.text.toLowerCase() !== text) return false;
    this.#at++;
    return true;
  }

  #startsFactor(): boolean {
    const token = this.peek();
    if (token === undefined) return false;
    switch (token.type) {
      case "number":
        return true;
      case "text":
        return false;
      case "word":
        return !isSeparatorWord(token.text);
      case "command":
        return !NO_FACTOR.has(token.text);
      case "sign":
        return token.text === "(" || token.text === "{" || (token.text === "|" && this.bars === 0);
    }
  }

  /** A primary with everything behind it: powers, factorials, percent, degrees. */
  power(): Expression {
    if (++this.#depth > MAX_DEPTH) throw new Unparsable("too deep");
    let base = this.#primary();
    for (;;) {
      if (this.isSign("^")) {
        this.#at++;
        if (this.takeCommand("circ")) base = { kind: "degrees", value: base };
        else if (this.isSign("'") || this.isCommand("prime")) throw new Unparsable("derivatives are not known");
        else base = { kind: "power", base, exponent: this.#argument(true) };
      } else if (this.takeSign("!")) {
        base = this.takeSign("!") ? call("doubleFactorial", base) : call("factorial", base);
      } else if (this.isSign("%")) {
        this.#at++;
        base = { kind: "percent", value: base };
      } else break;
    }
    this.#depth--;
    return base;
  }

  /** {...}, or one token: \frac12, 2^3, x_1. */
  argument(): Expression {
    return this.#argument();
  }

  #argument(signed = false): Expression {
    if (this.takeSign("{")) {
      const inner = this.list();
      this.expectSign("}");
      return inner;
    }
    if (signed && this.takeSign("-")) return negative(this.#argument());
    const token = this.peek();
    if (token?.type === "number" && !signed) splitDigits(this, token);
    if (token?.type === "word") splitLetters(this, token, signed);
    if (signed) return this.takeSign("(") ? this.#grouped() : this.#primary();
    return this.#primary();
  }

  #grouped(): Expression {
    const inner = this.list();
    this.expectSign(")");
    return inner;
  }

  #primary(): Expression {
    const token = this.next();
    switch (token.type) {
      case "number":
        return parseNumber(this, token);
      case "text":
        return textNode(token.text);
      case "word":
        return parseWord(this, token);
      case "command":
        return parseAccent(this, token.text) ?? parseCommand(this, token.text);
      case "sign":
        return this.#sign(token.text);
    }
  }

  #sign(text: string): Expression {
    if (text === "(" || text === "[") return parseBrackets(this, text);
    if (text === "{") {
      const inner = this.list();
      this.expectSign("}");
      return inner.kind === "tuple" && inner.brackets === "" ? { kind: "set", items: inner.items } : inner;
    }
    if (text === "|") return parseBars(this);
    if (text === "]") return reversedInterval(this);
    if (text === "<") return parseBrackets(this, "<");
    throw new Unparsable(`unexpected ${text}`);
  }

  /** {a, b} written with \{ \}. */
  braces(): Expression {
    return parseSetBraces(this);
  }
}

/** Hours and minutes where a part begins with 0 or the last one says am or pm. */
function ratioOf(parts: readonly Expression[], isClock: boolean): Expression {
  const last = parts.at(-1);
  const half = last?.kind === "quantity" ? /^([ap])\s*m$/u.exec(last.unit) : null;
  if (half !== null && last?.kind === "quantity") {
    return call("clock", ...parts.slice(0, -1), last.value, { kind: "text", text: `${half[1]}m` });
  }
  return isClock ? call("clock", ...parts) : { kind: "ratio", parts };
}

/** Commands that cannot begin a factor of an implicit product. */
const NO_FACTOR = new Set(
  (
    "cup cap setminus backslash pm mp cdot times ast div bmod mod pmod le ge ne in approx sim equiv } rfloor rceil rangle " +
    "lor land vee \\ end ldots dots cdots circ rightarrow to implies Rightarrow"
  ).split(" "),
);
