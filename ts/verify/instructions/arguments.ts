/** An instruction's arguments, as data sets give them. */
import { PrlError } from "../../errors.ts";

export type InstructionArguments = Readonly<Record<string, unknown>>;
export type Instruction = (response: string, args: Arguments) => boolean;

/** Typed access to an instruction's arguments. Errors: PRL_VERIFY_OPTIONS naming instruction and argument. */
export class Arguments {
  readonly #id: string;
  readonly #values: InstructionArguments;
  readonly prompt: string | undefined;

  constructor(id: string, values: InstructionArguments, prompt: string | undefined) {
    this.#id = id;
    this.#values = values;
    this.prompt = prompt;
  }

  text(name: string): string {
    const value = this.#values[name];
    if (typeof value !== "string" || value === "") throw this.#wrong(name, "a text");
    return value;
  }

  /** A whole number from 0 on. */
  number(name: string): number {
    const value = this.#values[name];
    if (typeof value !== "number" || !Number.isInteger(value) || value < 0) throw this.#wrong(name, "a whole number");
    return value;
  }

  texts(name: string): string[] {
    const value = this.#values[name];
    const isList = Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string");
    if (!isList) throw this.#wrong(name, "a list of texts");
    return value;
  }

  relation(name: string): string {
    const value = this.#values[name] ?? "at least";
    if (value !== "at least" && value !== "less than") throw this.#wrong(name, '"at least" or "less than"');
    return value;
  }

  /** The names that a prompt lists for the instruction, or else an argument of ours. */
  listedNames(): string[] {
    const listed = /list of person names:\s*([^.\n]+)/iu.exec(this.prompt ?? "")?.[1];
    if (listed === undefined) return this.texts("names");
    const names = listed.split(",").map((name) => name.trim());
    if (names.every((name) => name === "")) {
      throw new PrlError("PRL_VERIFY_OPTIONS", `instruction ${this.#id}: the prompt lists no names`);
    }
    return names.filter((name) => name !== "");
  }

  #wrong(name: string, expected: string): PrlError {
    const given = JSON.stringify(this.#values[name]) ?? "nothing";
    return new PrlError("PRL_VERIFY_OPTIONS", `instruction ${this.#id}: ${name}: expected ${expected}, got ${given}`);
  }
}
