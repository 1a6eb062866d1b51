/**
 * A service under traffic, in virtual time: every call of the operator takes minutes, in which clients send requests and the queue works.
 *
 * The files on the disk run from the next restart on. The store outlives a restart; the cache does not, and the queue only where it was saved.
 */
import { createRng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";
import { Refusal } from "../../row.ts";
import { type Program, programOf, type Service, type Tables, type Value } from "./machine.ts";
import { answerOf, isFailure, type Request, requestOf, started } from "./probes.ts";
import { type File, FILES, type Spec, sourcesOf } from "./source.ts";
import { type Module, NotSource, parseModule } from "./syntax.ts";

export interface Instance extends Spec {
  /** Ids of FAULTS. */
  readonly faults: readonly string[];
  readonly minutes: number;
  /** Requests of a minute, the accounts of the clients, and the seed of the traffic. */
  readonly pace: number;
  readonly accounts: readonly string[];
  readonly seed: number;
  /** Seeds of hidden sequences: for each fault, and in the end for the whole. */
  readonly probes: readonly (readonly number[])[];
  /** Seed of a sequence that users complain of; null: they only say that something is wrong. */
  readonly complaint: number | null;
  /** Requests that are answered with one restart that loses nothing. */
  readonly answered: number;
}

export const TEST_ACCOUNTS = ["test-a", "test-b", "test-c"] as const;
/** Minutes in which a restart refuses requests. */
export const DOWN = { save: 2, kill: 1 } as const;
const SHOWN = 12;
const LONGEST_FILE = 6_000;

interface Seen {
  readonly minute: number;
  readonly text: string;
}

export class Live {
  readonly instance: Instance;
  readonly #disk: string[];
  readonly #tables: Tables = new Map();
  readonly #log: Seen[] = [];
  #service: Service | null = null;
  #running: Program;
  #sent = 0;
  minute = 0;
  answered = 0;
  refused = 0;
  failed = 0;
  /** Jobs that were taken on, and those of them that a restart has lost. */
  queued = 0;
  lost = 0;
  isRestored = false;

  constructor(instance: Instance) {
    this.instance = instance;
    this.#disk = sourcesOf(instance, instance.faults);
    this.#running = programOf(this.#disk);
    this.#start();
    for (const [index, account] of instance.accounts.entries())
      this.#table("rows").set(account, 40 + ((instance.seed + 37 * index) % 60));
  }

  /** What answers; null while the service is down. */
  get running(): Program | null {
    return this.#service === null ? null : this.#running;
  }

  read(file: File): string {
    this.#pass(1);
    return (
      this.#disk[FILES.indexOf(file)]
        ?.trimEnd()
        .split("\n")
        .map((line, index) => `${index + 1}: ${line}`)
        .join("\n") ?? ""
    );
  }

  /** Puts lines in the place of some, which may be none: `to` is `from` less one then. Throws Refusal. */
  edit(file: File, from: number, to: number, text: string): string {
    const index = FILES.indexOf(file);
    const lines = at(this.#disk, index).trimEnd().split("\n");
    if (from > lines.length + 1 || to > lines.length || to < from - 1)
      throw new Refusal(`${file} has ${lines.length} lines`);
    const source = `${[...lines.slice(0, from - 1), ...text.split("\n"), ...lines.slice(to)].join("\n")}\n`;
    if (source.length > LONGEST_FILE) throw new Refusal(`a file has at most ${LONGEST_FILE} characters`);
    this.#check();
    this.#disk[index] = source;
    this.#pass(1);
    return `${file} is written; it runs from the next restart on`;
  }

  /** Throws Refusal. */
  request(request: Omit<Request, "after" | "id"> & { readonly id?: string | undefined }): string {
    const accounts: readonly string[] = TEST_ACCOUNTS;
    if (!accounts.includes(request.key) || (request.other !== "" && !accounts.includes(request.other)))
      throw new Refusal(`requests of yours are for the accounts ${TEST_ACCOUNTS.join(", ")} only`);
    this.#check();
    const answer = this.#answer({ ...request, id: request.id ?? `own-${this.minute}`, after: 0 });
    this.#pass(1);
    return answer ?? "error 503: the service is down";
  }

  /** Throws Refusal. */
  restart(queue: "save" | "kill"): string {
    this.#check();
    const jobs = this.#table("jobs");
    if (queue === "kill") {
      this.lost += jobs.size;
      jobs.clear();
    }
    for (const name of ["copies", "until"]) this.#table(name).clear();
    this.#service = null;
    this.#pass(DOWN[queue]);
    const read = this.#disk.map((source, index) => readFile(at(FILES, index), source));
    const problem = read.find((one) => typeof one === "string");
    if (problem !== undefined) return `the service does not start: ${problem}`;
    this.#running = read.filter((one) => typeof one !== "string");
    return this.#start();
  }

  /** Throws Refusal. */
  restore(): string {
    this.#check();
    this.isRestored = true;
    for (const name of ["rows", "jobs", "ids"]) this.#table(name).clear();
    this.#pass(1);
    return "the backup of last night is back";
  }

  /** Throws Refusal. */
  wait(minutes: number): Record<string, unknown> {
    this.#check();
    this.#pass(minutes);
    return this.status();
  }

  status(): Record<string, unknown> {
    return {
      minute: this.minute,
      minutes_left: Math.max(0, this.instance.minutes - this.minute),
      service: this.#service === null ? "down" : "up",
      answered: this.answered,
      refused: this.refused,
      failed: this.failed,
      waiting_jobs: this.#table("jobs").size,
      last_requests: this.#log.slice(-SHOWN).map(({ minute, text }) => `minute ${minute}: ${text}`),
    };
  }

  /** Lets the rest of the time pass. */
  finish(): void {
    this.#pass(this.instance.minutes);
  }

  #check(): void {
    if (this.minute >= this.instance.minutes) throw new Refusal("the time is over");
  }

  #start(): string {
    const service = started(this.#running, this.#tables, () => this.minute);
    if (typeof service === "string") return `the service does not start: ${service}`;
    this.#service = service;
    return "the service runs";
  }

  #pass(minutes: number): void {
    for (let left = minutes; left > 0 && this.minute < this.instance.minutes; left--) {
      this.minute += 1;
      const service = this.#service;
      if (service !== null) answerOf(() => service.call("work", []));
      const rng = createRng(this.instance.seed + this.minute);
      for (let count = this.instance.pace; count > 0; count--)
        this.#traffic(requestOf(this.instance.rules, rng, { keys: this.instance.accounts, index: this.#sent }));
    }
  }

  #traffic(request: Request): void {
    // Clients never send an id twice.
    const answer = this.#answer({ ...request, id: `c${this.#sent}` });
    this.#sent += 1;
    if (answer === null) this.refused += 1;
    else if (isFailure(answer)) this.failed += 1;
    else this.answered += 1;
    if (answer === '"queued"') this.queued += 1;
    this.#log.push({ minute: this.minute, text: `${shownRequest(request)}: ${answer ?? "refused"}` });
    if (this.#log.length > SHOWN) this.#log.shift();
  }

  #answer({ op, key, other, amount, id }: Request): string | null {
    const service = this.#service;
    return service === null ? null : answerOf(() => service.call("handle", [op, key, other, amount, id]));
  }

  #table(meaning: string): Map<string | number, Value> {
    const name = this.instance.names[meaning] ?? meaning;
    const known = this.#tables.get(name);
    if (known !== undefined) return known;
    const made = new Map<string | number, Value>();
    this.#tables.set(name, made);
    return made;
  }
}

export function shownRequest({ op, key, other, amount }: Request): string {
  return `${op} ${key} ${other} ${amount}`;
}

/** The file as part of a program, or why it cannot be read. */
function readFile(name: File, source: string): Module | string {
  try {
    return parseModule(source);
  } catch (error) {
    if (error instanceof NotSource) return `${name}, ${error.message}`;
    throw error;
  }
}
