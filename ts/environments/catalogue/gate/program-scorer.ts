/**
 * Scores programs of one row for the quality gate, several at once.
 *
 * The exam of an instance follows from it, and an env worker works it out for one reply. Here many replies stand for one instance, so that its exam
 * is worked out once; `hasOneExam` compares it with another one.
 */
import { setMaxListeners } from "node:events";

import { Slots } from "../../../async/slots.ts";
import { canonicalJson } from "../../../canonical-json.ts";
import type { SandboxPool } from "../../../sandbox/index.ts";
import type { Exam, ProgramRow } from "../row.ts";
import { scoreProgram } from "../score-program.ts";

export class ProgramScorer {
  readonly #row: ProgramRow;
  readonly #pool: SandboxPool;
  readonly #slots: Slots;
  readonly #stop = new AbortController();
  readonly #exams = new WeakMap<object, Exam>();
  readonly #times: number[] = [];

  constructor(row: ProgramRow, { pool, atOnce }: { readonly pool: SandboxPool; readonly atOnce: number }) {
    this.#row = row;
    this.#pool = pool;
    this.#slots = new Slots(atOnce);
    // Each program that waits listens to it.
    setMaxListeners(0, this.#stop.signal);
  }

  readonly score = async (instance: object, reply: string): Promise<number> =>
    this.#slots.run(this.#stop.signal, async () => {
      const begun = performance.now();
      const earned = await this.#scored(instance, reply, this.examOf(instance));
      this.#times.push(performance.now() - begun);
      return earned;
    });

  /**
   * Whether a program earns 1. No test runs after one that failed, unless the tests earn by what is printed: `lessThanAll` shows that nothing but all
   * tests earns 1.
   */
  readonly isFull = async (instance: object, reply: string): Promise<boolean> => {
    const exam = this.examOf(instance);
    const { base: _base, credit: _credit, parts: _parts, ...strict } = exam;
    return (await this.scoreBy(exam.earns === undefined ? strict : exam, instance, reply)) >= 1;
  };

  /** By another exam than the instance's own. */
  readonly scoreBy = async (exam: Exam, instance: object, reply: string): Promise<number> =>
    this.#slots.run(this.#stop.signal, async () => this.#scored(instance, reply, exam));

  /** The result of work that scores; when it rejects, no further program is begun. */
  async during<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      this.#stop.abort(error);
      throw error;
    }
  }

  examOf(instance: object): Exam {
    const known = this.#exams.get(instance) ?? this.#row.exam(instance);
    this.#exams.set(instance, known);
    return known;
  }

  /** Whether a copy of the instance has the same exam. */
  hasOneExam(instance: object): boolean {
    const copy = JSON.parse(JSON.stringify(instance)) as object;
    return canonicalJson(dataOf(this.#row.exam(copy))) === canonicalJson(dataOf(this.examOf(instance)));
  }

  /** The most that a program earns which fails a single test. */
  lessThanAll(instance: object): number {
    const { credit, tests, base = 0 } = this.examOf(instance);
    if (credit === undefined) return base < 1 ? 0 : 1;
    return Math.max(...tests.map((_, failed) => credit(tests.map((_test, index) => index !== failed))));
  }

  get p99Ms(): number {
    return this.#times.toSorted((a, b) => a - b)[Math.floor(0.99 * this.#times.length)] ?? 0;
  }

  #scored(instance: object, reply: string, exam: Exam): Promise<number> {
    const row = { ...this.#row, exam: () => exam };
    return scoreProgram(row, instance, reply, { pool: async () => this.#pool });
  }
}

/** Without its functions. */
function dataOf(exam: Exam): unknown {
  return JSON.parse(JSON.stringify(exam));
}
