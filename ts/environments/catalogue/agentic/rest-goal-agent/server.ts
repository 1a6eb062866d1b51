/**
 * The server of rest-goal-agent: it carries requests out as the drawn API says. What it answers follows from the instance and the requests
 * before; it has no clock, and a request is its unit of time.
 */
import { at } from "../../lists.ts";
import {
  type ApiRecord,
  type Fields,
  fieldsOf,
  hasQuirk,
  type Instance,
  type Level,
  type Quirk,
  referenceOf,
} from "./instance.ts";

export interface Request {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  readonly token?: string | undefined;
  readonly if_version?: number | undefined;
}

export interface Response {
  readonly status: number;
  readonly body: unknown;
}

interface Stored extends ApiRecord {
  readonly version: number;
}

interface Job {
  readonly id: string;
  readonly due: number;
  readonly carryOut: () => string | null;
  isDone: boolean;
  /** The record that it made. */
  record: string | null;
}

/** What a path means. */
interface Target {
  readonly level: Level;
  /** The record above, of nested paths. */
  readonly above: string | null;
  readonly id: string | null;
  readonly action: "lock" | "unlock" | null;
  readonly query: string;
}

const LONGEST_TEXT = 80;
const LARGEST = 10_000_000;

export class Server {
  readonly instance: Instance;
  /** Requests that were answered. */
  requests = 0;
  readonly #records: Map<string, Stored>;
  #listed: readonly Stored[];
  #lastChange = Number.NEGATIVE_INFINITY;
  #token: string | null = null;
  #tokenFrom = 0;
  #tokens = 0;
  #made = 0;
  readonly #jobs: Job[] = [];

  constructor(instance: Instance) {
    this.instance = instance;
    this.#records = new Map(instance.records.map((one, index) => [one.id, { ...one, version: 1 + (index % 7) }]));
    this.#listed = [...this.#records.values()];
  }

  send(request: Request): Response {
    if (this.requests >= this.instance.budget) return { status: 429, body: "the budget of requests is used up" };
    this.requests += 1;
    this.#runJobs(this.requests);
    const { lag } = this.instance.api;
    if (!this.#is("stale") || this.requests - this.#lastChange > lag) this.#listed = [...this.#records.values()];
    if (request.method === "POST" && request.path === "/sessions") return this.#logIn(request);
    if (this.#is("session") && !this.#isTokenValid(request.token ?? null))
      return { status: 401, body: "a valid token is needed" };
    const job = /^\/jobs\/([\w-]{1,40})$/u.exec(request.path)?.[1];
    if (job !== undefined && request.method === "GET") return this.#showJob(job);
    const target = this.#targetOf(request.path);
    if (target === null) return { status: 404, body: "no such path" };
    return target.id === null ? this.#onCollection(target, request) : this.#onRecord(target, target.id, request);
  }

  /** The records after all jobs. */
  end(): readonly ApiRecord[] {
    this.#runJobs(Number.POSITIVE_INFINITY);
    return [...this.#records.values()];
  }

  #is(quirk: Quirk): boolean {
    return hasQuirk(this.instance.api, quirk);
  }

  // ---- sessions and jobs ----

  #logIn({ body = {} }: Request): Response {
    if (!this.#is("session")) return { status: 404, body: "no such path" };
    if (body["key"] !== this.instance.key) return { status: 403, body: "the key is wrong" };
    const { tokens, api } = this.instance;
    this.#token = at(tokens, this.#tokens % tokens.length);
    this.#tokens += 1;
    this.#tokenFrom = this.requests;
    return { status: 201, body: { token: this.#token, valid_for_requests: api.tokenLife } };
  }

  #isTokenValid(token: string | null): boolean {
    return token !== null && token === this.#token && this.requests - this.#tokenFrom <= this.instance.api.tokenLife;
  }

  #runJobs(now: number): void {
    for (const job of this.#jobs)
      if (!job.isDone && job.due <= now) {
        job.isDone = true;
        job.record = job.carryOut();
      }
  }

  #showJob(id: string): Response {
    const job = this.#jobs.find((one) => one.id === id);
    if (job === undefined) return { status: 404, body: "no such job" };
    return { status: 200, body: job.isDone ? { state: "done", id: job.record } : { state: "waiting" } };
  }

  /** At once, or as a job. */
  #later(carryOut: () => string | null, answer: (id: string | null) => Response): Response {
    if (!this.#is("jobs")) return answer(carryOut());
    const { jobs, api } = this.instance;
    const round = Math.floor(this.#jobs.length / jobs.length);
    const id = `${at(jobs, this.#jobs.length % jobs.length)}${round === 0 ? "" : `-${round}`}`;
    this.#jobs.push({ id, due: this.requests + api.lag, carryOut, isDone: false, record: null });
    return { status: 202, body: { job: id } };
  }

  // ---- paths ----

  #targetOf(path: string): Target | null {
    const { kinds } = this.instance.api;
    const [route = "", query = ""] = path.split("?");
    const segments = route.split("/").slice(1);
    const isBelow =
      this.#is("nested") && segments[0] === kinds[1].plural && segments[2] === kinds[2].plural && segments.length > 2;
    const above = isBelow ? at(segments, 1) : null;
    if (above !== null && this.#records.get(above)?.level !== 1) return null;
    const [plural = "", id = null, action = null, ...rest] = isBelow ? segments.slice(2) : segments;
    const level = kinds.findIndex((one) => one.plural === plural) as Level | -1;
    if (level === -1 || rest.length > 0 || (level === 2 && this.#is("nested") !== isBelow)) return null;
    if (action !== null && action !== "lock" && action !== "unlock") return null;
    return { level, above, id, action, query };
  }

  // ---- collections ----

  #onCollection(target: Target, { method, body }: Request): Response {
    if (method === "GET") return this.#list(target);
    if (method !== "POST") return { status: 405, body: "a collection has GET and POST" };
    return this.#create(target, body ?? {});
  }

  #list({ level, above, query }: Target): Response {
    const { paging, pageSize } = this.instance.api;
    const all = this.#listed.filter((one) => one.level === level && (above === null || one.parent === above));
    const value = new RegExp(`(?:^|&)${paging}=([0-9]{1,5})(?:$|&)`, "u").exec(query)?.[1];
    // A cursor is the number of the next record, with a check digit behind it.
    const from =
      value === undefined ? 0 : paging === "page" ? (Number(value) - 1) * pageSize : Math.floor(Number(value) / 10);
    if (from < 0 || (paging === "cursor" && value !== undefined && Number(value) !== cursorOf(from)))
      return { status: 400, body: `no such ${paging}` };
    const shown = all.slice(from, from + pageSize);
    const items = shown.map((one) => (this.#is("summary") ? { id: one.id, name: one.name } : this.#shown(one)));
    if (paging === "page")
      return { status: 200, body: { items, pages: Math.max(1, Math.ceil(all.length / pageSize)) } };
    return { status: 200, body: { items, next: from + pageSize < all.length ? cursorOf(from + pageSize) : null } };
  }

  #create({ level, above }: Target, body: NonNullable<Request["body"]>): Response {
    const { api, fresh } = this.instance;
    const reference = referenceOf(api, level);
    const given = above === null || reference === null ? body : { ...body, [reference]: above };
    const wanted = ["name", ...fieldsOf(api, level), ...(reference === null ? [] : [reference])];
    const missing = wanted.filter((one) => !Object.hasOwn(given, one));
    if (missing.length > 0) return { status: 400, body: `missing: ${missing.join(", ")}` };
    const wrong = this.#wrongIn(level, given);
    if (wrong !== null) return { status: 400, body: wrong };
    const fields = Object.fromEntries(fieldsOf(api, level).map((one) => [one, given[one] as string | number]));
    const carryOut = (): string => {
      const round = Math.floor(this.#made / fresh.length);
      const id = `${api.kinds[level].singular}-${at(fresh, this.#made % fresh.length)}${round === 0 ? "" : round}`;
      this.#made += 1;
      const parent = reference === null ? null : (given[reference] as string);
      this.#store({ id, level, name: given["name"] as string, parent, fields, locked: false, version: 1 });
      return id;
    };
    return this.#later(carryOut, (id) => ({ status: 201, body: { id } }));
  }

  // ---- records ----

  #onRecord(target: Target, id: string, request: Request): Response {
    const record = this.#records.get(id);
    const isThere =
      record !== undefined &&
      record.level === target.level &&
      (target.above === null || record.parent === target.above);
    if (!isThere) return { status: 404, body: "no such record" };
    if (target.action !== null) return this.#onLock(target.action, record, request);
    const { method } = request;
    if (method === "GET") return { status: 200, body: this.#shown(record) };
    const change = this.#is("replace") ? "PUT" : "PATCH";
    if (method !== change && method !== "DELETE") return { status: 405, body: `a record has GET, ${change}, DELETE` };
    if (this.#is("versions") && request.if_version !== record.version)
      return { status: 412, body: "if_version is not the version of the record" };
    if (record.locked) return { status: 423, body: "the record is locked" };
    return method === "DELETE" ? this.#delete(record) : this.#change(record, request.body ?? {});
  }

  #onLock(action: "lock" | "unlock", record: Stored, { method }: Request): Response {
    if (!this.#is("locks") || method !== "POST") return { status: 404, body: "no such path" };
    const changed = { ...record, locked: action === "lock", version: record.version + 1 };
    this.#store(changed);
    return { status: 200, body: this.#shown(changed) };
  }

  #change(record: Stored, body: NonNullable<Request["body"]>): Response {
    const { api } = this.instance;
    const { level } = record;
    const wrong = this.#wrongIn(level, body);
    if (wrong !== null) return { status: 400, body: wrong };
    const reference = referenceOf(api, level);
    const above = reference === null ? undefined : body[reference];
    const parent = typeof above === "string" ? above : record.parent;
    const kept: Fields = this.#is("replace")
      ? Object.fromEntries(fieldsOf(api, level).map((one) => [one, null]))
      : record.fields;
    const given = fieldsOf(api, level).filter((one) => Object.hasOwn(body, one));
    const fields = { ...kept, ...Object.fromEntries(given.map((one) => [one, body[one] as string | number])) };
    const name = typeof body["name"] === "string" ? body["name"] : record.name;
    const changed = { ...record, name, parent, fields, version: record.version + 1 + (record.version % 3) };
    this.#store(changed);
    return { status: 200, body: this.#shown(changed) };
  }

  #delete(record: Stored): Response {
    const below = (id: string): Stored[] => [...this.#records.values()].filter(({ parent }) => parent === id);
    if (!this.#is("cascade") && below(record.id).length > 0)
      return { status: 409, body: "there are records below this one" };
    const remove = (id: string): void => {
      for (const one of below(id)) remove(one.id);
      this.#records.delete(id);
      this.#lastChange = this.requests;
    };
    const carryOut = (): null => {
      remove(record.id);
      return null;
    };
    return this.#later(carryOut, () => ({ status: 204, body: null }));
  }

  /** Null where all known fields have values of their type. */
  #wrongIn(level: Level, body: NonNullable<Request["body"]>): string | null {
    const { api } = this.instance;
    const reference = referenceOf(api, level);
    const { choice, options } = api.kinds[level];
    const known = ["name", ...fieldsOf(api, level), ...(reference === null ? [] : [reference])];
    const other = Object.keys(body).find((one) => !known.includes(one));
    if (other !== undefined) return `unknown field ${other.slice(0, LONGEST_TEXT)}; there are ${known.join(", ")}`;
    const { name, [choice]: chosen, [api.amount]: amount } = body;
    if (name !== undefined && (typeof name !== "string" || name === "" || name.length > LONGEST_TEXT))
      return "name: a text is needed";
    if (chosen !== undefined && !options.some((option) => option === chosen))
      return `${choice}: one of ${options.join(", ")}`;
    if (amount !== undefined && !(Number.isInteger(amount) && Number(amount) >= 0 && Number(amount) <= LARGEST))
      return `${api.amount}: a whole number is needed`;
    const above = reference === null ? undefined : body[reference];
    const found = typeof above === "string" ? this.#records.get(above) : undefined;
    if (above !== undefined && found?.level !== level - 1) return `${reference ?? ""}: there is no such record`;
    return null;
  }

  #store(record: Stored): void {
    this.#records.set(record.id, record);
    this.#lastChange = this.requests;
  }

  #shown({ id, level, name, parent, fields, locked, version }: Stored): Record<string, unknown> {
    const reference = referenceOf(this.instance.api, level);
    return {
      id,
      name,
      ...(reference === null ? {} : { [reference]: parent }),
      ...fields,
      ...(this.#is("locks") ? { locked } : {}),
      ...(this.#is("versions") ? { version } : {}),
    };
  }
}

function cursorOf(from: number): number {
  return from * 10 + ((from * 7 + 3) % 10);
}
