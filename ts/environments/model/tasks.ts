/**
 * Tasks of an environment's split: numbered, named, hashed, and read page by page.
 *
 * Every worker that reads the same environment with the same seed sees the same tasks in the same order. A reader that
 * goes forward generates one row per task; one that goes back starts the stream anew.
 */
import { taskHash } from "../../datasets/index.ts";
import { messageOf, PrlError } from "../../errors.ts";

/** Task rows as an environment gives them. */
export type TaskRows<Row> = Iterable<Row> | AsyncIterable<Row> | EndlessTasks<Row>;

export interface EndlessTasks<Row> {
  readonly endless: true;
  readonly rows: Iterable<Row> | AsyncIterable<Row>;
}

/** Marks rows as endless, so that readers do not wait for the last one. */
export function endless<Row>(rows: Iterable<Row> | AsyncIterable<Row>): EndlessTasks<Row> {
  return { endless: true, rows };
}

export interface Task<Row = unknown> {
  /** Stable name within the split. */
  key: string;
  /** Digest of the content (see `taskHash`). */
  hash: string;
  data: Row;
}

export interface TaskPage {
  tasks: Task[];
  /** Cursor for the next page, to give as `after`; null: this was the last page. */
  next: string | null;
  endless: boolean;
  /** Data rows, from the first one up to the end of this page, that gave no task; absent: none. */
  left_out?: number;
  /** Set by an env worker: the source's environment has group rewards. */
  scores_groups?: boolean;
}

/**
 * For each task the number of equal tasks before it. Equal rows have equal keys, so only this number distinguishes their rollouts: it
 * is the epoch in their seeds and part of their ids.
 */
export function occurrences(tasks: readonly Pick<Task, "key">[]): number[] {
  const seen = new Map<string, number>();
  return tasks.map(({ key }) => {
    const before = seen.get(key) ?? 0;
    seen.set(key, before + 1);
    return before;
  });
}

/** Gives pages of tasks. */
export interface TaskSource {
  /**
   * Up to `limit` tasks after the cursor (null: from the first one). Calls are answered one after the other.
   * Errors: PRL_ENVIRONMENT_FAILED when generating threw, PRL_ENVIRONMENT_INVALID for a row that is not a JSON object.
   */
  page(after: string | null, limit: number): Promise<TaskPage>;
}

export class TaskReader<Row> implements TaskSource {
  readonly #open: (leaveOut: () => void) => TaskRows<Row>;
  readonly #key: ((row: Row, index: number) => string) | undefined;
  #stream: TaskStream<Row> | null = null;
  #last: Promise<unknown> = Promise.resolve();

  /** @param open begins the rows anew; gets a function that counts a data row that gives no task */
  constructor(open: (leaveOut: () => void) => TaskRows<Row>, key?: (row: Row, index: number) => string) {
    this.#open = open;
    this.#key = key;
  }

  async page(after: string | null, limit: number): Promise<TaskPage> {
    const start = parseCursor(after);
    const turn = this.#last.then(() => this.#read(start, limit));
    this.#last = turn.catch(() => null);
    return turn;
  }

  async #read(start: number, limit: number): Promise<TaskPage> {
    try {
      return await this.#readFrom(start, limit);
    } catch (cause) {
      this.#stream = null;
      if (cause instanceof PrlError) throw cause;
      const message = `generating tasks threw: ${messageOf(cause)}`;
      throw new PrlError("PRL_ENVIRONMENT_FAILED", message, { cause });
    }
  }

  async #readFrom(start: number, limit: number): Promise<TaskPage> {
    let stream = this.#stream;
    if (stream === null || stream.position > start) {
      // A generator that has a file open closes it then.
      await stream?.rows.return?.();
      const count = { leftOut: 0 };
      const source = this.#open(() => count.leftOut++);
      const isEndless = "endless" in source;
      stream = { rows: iterate(isEndless ? source.rows : source), endless: isEndless, position: 0, count };
      this.#stream = stream;
    }
    const tasks: Task[] = [];
    while (tasks.length < limit) {
      const { done, value } = await stream.rows.next();
      if (done === true) {
        this.#stream = null;
        if (stream.endless)
          throw new PrlError("PRL_ENVIRONMENT_INVALID", `endless tasks ended after ${stream.position}`);
        return { tasks, next: null, endless: false, ...leftOutOf(stream) };
      }
      if (stream.position >= start) tasks.push(this.#task(value, stream.position));
      stream.position += 1;
    }
    return { tasks, next: String(stream.position), endless: stream.endless, ...leftOutOf(stream) };
  }

  #task(row: Row, index: number): Task {
    if (typeof row !== "object" || row === null || Array.isArray(row)) {
      throw new PrlError("PRL_ENVIRONMENT_INVALID", `task ${index} is no object`);
    }
    const hash = taskHash(row);
    return { key: this.#key?.(row, index) ?? hash, hash, data: row };
  }
}

interface TaskStream<Row> {
  rows: Iterator<Row> | AsyncIterator<Row>;
  endless: boolean;
  /** Number of tasks read. */
  position: number;
  count: { readonly leftOut: number };
}

function leftOutOf({ count: { leftOut } }: TaskStream<unknown>): { left_out?: number } {
  return leftOut === 0 ? {} : { left_out: leftOut };
}

function iterate<Row>(rows: Iterable<Row> | AsyncIterable<Row>): Iterator<Row> | AsyncIterator<Row> {
  return Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
}

function parseCursor(after: string | null): number {
  if (after === null) return 0;
  const position = /^\d{1,15}$/u.test(after) ? Number(after) : Number.NaN;
  if (Number.isNaN(position)) {
    throw new PrlError("PRL_ENVIRONMENT_REQUEST", `"${after}" is no task cursor; give the \`next\` of the page before`);
  }
  return position;
}
