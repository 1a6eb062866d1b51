/** The rules that the repaired database has to keep by itself: how they are asked for, and hidden writes that they refuse or let through. */
import { at } from "../../../lists.ts";
import type { Level } from "../../../row.ts";
import { type Books, type Head, type Line, sumOf } from "./books.ts";

export const RULES = [
  "range",
  "exists",
  "follows",
  "fixed",
  "price",
  "frozen",
  "steps",
  "append",
  "lines",
  "limit",
] as const;
export type Rule = (typeof RULES)[number];

/** The rules of a level are the first so many. */
const COUNTS = [3, 4, 6, 8, 10] as const;

export function rulesOf(level: Level): readonly Rule[] {
  return RULES.slice(0, COUNTS[level - 1]);
}

export function ruleText(rule: Rule, { names, mostQuantity, mostLines }: Books): string {
  const { head, line, item, party, quantity, total } = names;
  switch (rule) {
    case "range":
      return `${quantity} of a row of ${line} is a whole number from 1 to ${mostQuantity}`;
    case "exists":
      return `a row of ${line} belongs to a ${head} and to a ${item} that exist`;
    case "follows":
      return `when rows of ${line} are added, changed, moved to another ${head}, replaced (INSERT OR REPLACE) or removed, ${total} of each ${head} concerned becomes the sum of ${quantity} times price over its rows, without any further statement`;
    case "fixed":
      return `${total} of a ${head}, new or old, cannot be given any other value than that sum`;
    case "price":
      return `price of a row of ${line} is a whole number from 0 to the price of its ${item}`;
    case "frozen":
      return `rows of ${line} cannot be added to a ${head} that is not open, nor changed, replaced, removed, moved into it or out of it`;
    case "steps":
      return `a new ${head} is open; its status then goes from open to paid and from paid to sent, and no other way`;
    case "append":
      return `rows of journal are added, and never changed, replaced or removed`;
    case "lines":
      return `a ${head} has at most ${mostLines} rows of ${line}`;
    case "limit":
      return `${total} of all open rows of ${head} of one ${party} is together at most its credit`;
  }
}

/** A hidden write. Without `query` it has to leave everything as it is; with one it has to succeed, and the query then gives the value. */
export interface Probe {
  readonly rule: Rule;
  readonly sql: string;
  readonly query?: string;
  readonly value?: readonly (readonly (number | string)[])[];
}

/** Heads that the hidden writes are about. */
export interface Stage {
  /** Two open heads of one party with room for more lines. */
  readonly first: Head;
  readonly second: Head;
  readonly full: Head;
  readonly closed: Head;
}

/** Null where the books have no such heads. */
export function stageOf({ right, mostLines }: Books): Stage | null {
  const count = ({ id }: Head): number => right.lines.filter((one) => one.head === id).length;
  const open = right.heads.filter((one) => one.status === "open" && count(one) > 1 && count(one) < mostLines - 1);
  const first = open.find((one) => open.some((other) => other !== one && other.party === one.party));
  const second = open.find((one) => one !== first && one.party === first?.party);
  const full = right.heads.find((one) => one.status === "open" && count(one) === mostLines);
  const closed = right.heads.find((one) => one.status !== "open" && count(one) > 0);
  if (first === undefined || second === undefined || full === undefined || closed === undefined) return null;
  return { first, second, full, closed };
}

export function probesOf(books: Books, stage: Stage, rules: readonly Rule[]): Probe[] {
  return new Probes(books, stage).all().filter(({ rule }) => rules.includes(rule));
}

type Value = number | string | null;
const sql = (value: Value): string =>
  value === null ? "NULL" : typeof value === "number" ? String(value) : `'${value}'`;
const NOWHERE = 99_999;

class Probes {
  readonly #books: Books;
  readonly #stage: Stage;

  constructor(books: Books, stage: Stage) {
    this.#books = books;
    this.#stage = stage;
  }

  all(): Probe[] {
    return [
      ...this.#range(),
      ...this.#exists(),
      ...this.#follows(),
      ...this.#fixed(),
      ...this.#price(),
      ...this.#frozen(),
      ...this.#steps(),
      ...this.#append(),
      ...this.#lines(),
      ...this.#limit(),
    ];
  }

  // ---- statements ----

  #own({ id }: Head): Line[] {
    return this.#books.right.lines.filter((one) => one.head === id).toSorted((a, b) => a.no - b.no);
  }

  #next(head: Head): number {
    return Math.max(...this.#own(head).map(({ no }) => no)) + 1;
  }

  #put(
    head: Value,
    no: number,
    { item, quantity, price }: { item: Value; quantity: Value; price: Value },
    or = "",
  ): string {
    const { names } = this.#books;
    const columns = `${names.head}_id, no, ${names.item}_id, ${names.quantity}, price`;
    return `INSERT ${or}INTO ${names.line} (${columns}) VALUES (${[head, no, item, quantity, price].map(sql).join(", ")})`;
  }

  /** A new line of the first head. */
  #added(part: { item?: Value; quantity?: Value; price?: Value }): string {
    const item = at(this.#books.items, 0);
    return this.#put(this.#stage.first.id, this.#next(this.#stage.first), {
      item: item.id,
      quantity: 1,
      price: 1,
      ...part,
    });
  }

  #set({ head, no }: Line, assignment: string): string {
    const { names } = this.#books;
    return `UPDATE ${names.line} SET ${assignment} WHERE ${names.head}_id = ${head} AND no = ${no}`;
  }

  #remove({ head, no }: Line): string {
    const { names } = this.#books;
    return `DELETE FROM ${names.line} WHERE ${names.head}_id = ${head} AND no = ${no}`;
  }

  #moved(line: Line, to: Head): string {
    return this.#set(line, `${this.#books.names.head}_id = ${to.id}, no = ${this.#next(to)}`);
  }

  #bad(rule: Rule, ...statements: string[]): Probe[] {
    return statements.map((statement) => ({ rule, sql: statement }));
  }

  /** It succeeds, and so many lines of the first head have this property. */
  #counted(rule: Rule, statement: string, where: string, count: number): Probe {
    const { names } = this.#books;
    const query = `SELECT COUNT(*) FROM ${names.line} WHERE ${names.head}_id = ${this.#stage.first.id} AND ${where}`;
    return { rule, sql: statement, query, value: [[count]] };
  }

  /** It succeeds, and the heads have these totals. */
  #totals(rule: Rule, statement: string, totals: readonly (readonly [head: Head, total: number])[]): Probe {
    const { names } = this.#books;
    const ids = totals.map(([{ id }]) => id).join(", ");
    return {
      rule,
      sql: statement,
      query: `SELECT id, ${names.total} FROM ${names.head} WHERE id IN (${ids}) ORDER BY id`,
      value: totals.map(([{ id }, total]) => [id, total]).toSorted(([a = 0], [b = 0]) => a - b),
    };
  }

  // ---- rules ----

  #range(): Probe[] {
    const { names, mostQuantity } = this.#books;
    const existing = at(this.#own(this.#stage.first), 0);
    const wrong = [0, -2, mostQuantity + 1, 1.5, null, "many"].map((quantity) => this.#added({ quantity }));
    const replaced = this.#put(existing.head, existing.no, { ...existing, quantity: 0 }, "OR REPLACE ");
    const no = this.#next(this.#stage.first);
    return [
      ...this.#bad("range", ...wrong, replaced),
      ...this.#bad(
        "range",
        this.#set(existing, `${names.quantity} = 0`),
        this.#set(existing, `${names.quantity} = NULL`),
      ),
      this.#counted("range", this.#added({ quantity: 1 }), `no = ${no} AND ${names.quantity} = 1`, 1),
      this.#counted(
        "range",
        this.#added({ quantity: mostQuantity }),
        `${names.quantity} = ${mostQuantity} AND no = ${no}`,
        1,
      ),
    ];
  }

  #exists(): Probe[] {
    const { names } = this.#books;
    const line = at(this.#own(this.#stage.first), 0);
    const item = at(this.#books.items, 1).id;
    return [
      ...this.#bad(
        "exists",
        this.#put(NOWHERE, 1, { item, quantity: 1, price: 1 }),
        this.#put(null, 1, { item, quantity: 1, price: 1 }),
        this.#added({ item: NOWHERE }),
        this.#added({ item: null }),
        this.#set(line, `${names.item}_id = ${NOWHERE}`),
        this.#set(line, `${names.head}_id = ${NOWHERE}`),
      ),
      this.#counted(
        "exists",
        this.#added({ item }),
        `no = ${this.#next(this.#stage.first)} AND ${names.item}_id = ${item}`,
        1,
      ),
    ];
  }

  #follows(): Probe[] {
    const { names, right } = this.#books;
    const { first, second } = this.#stage;
    const own = this.#own(first);
    const [line, last] = [at(own, 0), at(own, own.length - 1)];
    const amount = (one: Line): number => one.quantity * one.price;
    const other = line.quantity === 1 ? 2 : 1;
    const replaced = this.#put(first.id, line.no, { ...line, quantity: other }, "OR REPLACE ");
    const all = own.reduce((sum, { price }) => sum + price, 0);
    const grown = first.total + (other - line.quantity) * line.price;
    const everyLine = `UPDATE ${names.line} SET ${names.quantity} = 1 WHERE ${names.head}_id = ${first.id}`;
    return [
      this.#totals("follows", this.#added({ quantity: 3, price: 7 }), [[first, first.total + 21]]),
      this.#totals("follows", this.#set(line, `${names.quantity} = ${other}`), [[first, grown]]),
      this.#totals("follows", this.#remove(last), [[first, first.total - amount(last)]]),
      this.#totals("follows", replaced, [[first, grown]]),
      this.#totals("follows", everyLine, [[first, all]]),
      this.#totals("follows", this.#moved(line, second), [
        [first, first.total - amount(line)],
        [second, sumOf(right.lines, second.id) + amount(line)],
      ]),
    ];
  }

  #head(id: number, status: string, total: number, or = ""): string {
    const { names } = this.#books;
    const columns = `id, ${names.party}_id, status, ${names.total}`;
    return `INSERT ${or}INTO ${names.head} (${columns}) VALUES (${id}, ${this.#stage.first.party}, '${status}', ${total})`;
  }

  #fixed(): Probe[] {
    const { names } = this.#books;
    const { first } = this.#stage;
    const set = (value: string): string => `UPDATE ${names.head} SET ${names.total} = ${value} WHERE id = ${first.id}`;
    return [
      ...this.#bad("fixed", set(`${names.total} + 1`), set("0"), set("NULL"), this.#head(NOWHERE, "open", 5)),
      ...this.#bad("fixed", this.#head(first.id, "open", first.total + 7, "OR REPLACE ")),
      this.#totals("fixed", this.#head(NOWHERE, "open", 0), [[{ ...first, id: NOWHERE }, 0]]),
      this.#totals("fixed", set(String(first.total)), [[first, first.total]]),
    ];
  }

  #price(): Probe[] {
    const { items } = this.#books;
    const line = at(this.#own(this.#stage.first), 0);
    const [item] = items;
    const list = items.find((one) => one.id === line.item)?.price ?? 0;
    const most = item?.price ?? 0;
    const no = this.#next(this.#stage.first);
    const wrong = [-1, most + 1, 0.5, null].map((price) => this.#added({ price }));
    return [
      ...this.#bad("price", ...wrong, this.#set(line, `price = ${list + 1}`)),
      this.#counted("price", this.#added({ price: most }), `no = ${no} AND price = ${most}`, 1),
      this.#counted("price", this.#added({ price: 0 }), `no = ${no} AND price = 0`, 1),
    ];
  }

  #frozen(): Probe[] {
    const { names, items } = this.#books;
    const { first, closed } = this.#stage;
    const [line, other] = [at(this.#own(closed), 0), at(this.#own(first), 0)];
    const fresh = { item: at(items, 0).id, quantity: 1, price: 0 };
    return [
      ...this.#bad(
        "frozen",
        this.#put(closed.id, this.#next(closed), fresh),
        this.#set(line, `${names.quantity} = ${line.quantity === 1 ? 2 : 1}`),
        this.#remove(line),
        this.#moved(other, closed),
        this.#moved(line, first),
        this.#put(closed.id, line.no, { ...line, price: 0 }, "OR REPLACE "),
      ),
      this.#counted(
        "frozen",
        this.#set(other, `${names.quantity} = 1`),
        `no = ${other.no} AND ${names.quantity} = 1`,
        1,
      ),
      this.#counted("frozen", this.#remove(other), `no = ${other.no}`, 0),
    ];
  }

  #steps(): Probe[] {
    const { names } = this.#books;
    const { first, closed } = this.#stage;
    const set = ({ id }: Head, status: Value): string =>
      `UPDATE ${names.head} SET status = ${sql(status)} WHERE id = ${id}`;
    const good = (head: Head, status: string): Probe => ({
      rule: "steps",
      sql: set(head, status),
      query: `SELECT status FROM ${names.head} WHERE id = ${head.id}`,
      value: [[status]],
    });
    const wrong = closed.status === "paid" ? "open" : "paid";
    return [
      ...this.#bad("steps", set(first, "sent"), set(first, "lost"), set(first, null), set(closed, wrong)),
      ...this.#bad("steps", this.#head(NOWHERE, "sent", 0)),
      good(first, "paid"),
      ...(closed.status === "paid" ? [good(closed, "sent")] : []),
    ];
  }

  #append(): Probe[] {
    const { names } = this.#books;
    const columns = `(seq, writer, action, ${names.head}_id)`;
    const values = (seq: number): string => `VALUES (${seq}, 'probe', 'paid', ${this.#stage.first.id})`;
    return [
      ...this.#bad(
        "append",
        `UPDATE journal SET ${names.quantity} = 1, writer = 'x' WHERE seq = 1`,
        "DELETE FROM journal WHERE seq = 2",
        `INSERT OR REPLACE INTO journal ${columns} ${values(1)}`,
      ),
      {
        rule: "append",
        sql: `INSERT INTO journal ${columns} ${values(900_000)}`,
        query: "SELECT writer FROM journal WHERE seq = 900000",
        value: [["probe"]],
      },
    ];
  }

  #lines(): Probe[] {
    const { items, names, mostLines } = this.#books;
    const { first, full } = this.#stage;
    const fresh = { item: at(items, 0).id, quantity: 1, price: 0 };
    const line = at(this.#own(full), 0);
    return [
      ...this.#bad("lines", this.#put(full.id, mostLines + 1, fresh), this.#moved(at(this.#own(first), 0), full)),
      {
        rule: "lines",
        sql: this.#put(full.id, line.no, { ...line, quantity: 1, price: 0 }, "OR REPLACE "),
        query: `SELECT COUNT(*) FROM ${names.line} WHERE ${names.head}_id = ${full.id}`,
        value: [[mostLines]],
      },
      this.#counted("lines", this.#added({}), `no = ${this.#next(first)}`, 1),
    ];
  }

  #limit(): Probe[] {
    const { items, mostQuantity } = this.#books;
    const item = at(
      items.toSorted((a, b) => b.price - a.price),
      0,
    );
    const slack = this.#slack();
    const quantity = Math.floor(slack / item.price);
    if (quantity < 1 || quantity >= mostQuantity) return [];
    const added = (count: number): string => this.#added({ item: item.id, quantity: count, price: item.price });
    return [
      ...this.#bad("limit", added(quantity + 1), added(mostQuantity)),
      this.#counted("limit", added(quantity), `no = ${this.#next(this.#stage.first)}`, 1),
    ];
  }

  /** What the party of the first head may still order. */
  #slack(): number {
    const { right, parties } = this.#books;
    const { party } = this.#stage.first;
    const open = right.heads.filter((one) => one.party === party && one.status === "open");
    const most = parties.find(({ id }) => id === party)?.most ?? 0;
    return most - open.reduce((sum, { total }) => sum + total, 0);
  }
}
