/**
 * Clients of rest-goal-agent: they know the documentation and the goals, and see the server's answers alone. The careful one is the gold
 * script, so it proves that the goals can be reached; what it can be made to neglect are the slips.
 */
import type { Call } from "../../row.ts";
import { call } from "../records.ts";
import { goalOf } from "./goals.ts";
import { type Api, hasQuirk, type Instance, type Level, type Neglect, referenceOf } from "./instance.ts";
import { type Request, type Response, Server } from "./server.ts";

/** A record as the client knows it. */
interface Known {
  readonly id: string;
  readonly level: Level;
  readonly name: string;
  parent: string | null;
  fields: Record<string, unknown>;
  locked: boolean;
  version: number | undefined;
}

const MOST_POLLS = 12;

class Client {
  readonly calls: Call[] = [];
  readonly server: Server;
  readonly #instance: Instance;
  readonly #api: Api;
  readonly #neglect: Neglect | null;
  readonly #known: Known[] = [];
  #token: string | null = null;
  #left = 0;

  constructor(instance: Instance, neglect: Neglect | null) {
    this.server = new Server(instance);
    this.#instance = neglect === "last goal" ? { ...instance, goals: instance.goals.slice(0, -1) } : instance;
    this.#api = instance.api;
    this.#neglect = neglect;
    this.calls.push(call("read_documentation"));
  }

  run(): void {
    this.#readAll();
    const found = goalOf(this.#instance, "found");
    const founded =
      found === null
        ? null
        : this.#create(1, {
            name: found.name,
            [referenceOf(this.#api, 1) ?? ""]: this.#named(found.top).id,
            [this.#api.kinds[1].choice]: found.choice,
          });
    this.#mark();
    this.#changeLowest(found?.name ?? null, founded);
    this.#add();
    this.#clear();
  }

  // ---- reading ----

  #readAll(): void {
    const [top, middle, low] = this.#api.kinds;
    this.#readList(0, `/${top.plural}`, null);
    this.#readList(1, `/${middle.plural}`, null);
    if (hasQuirk(this.#api, "nested"))
      for (const { id } of this.#of(1)) this.#readList(2, `/${middle.plural}/${id}/${low.plural}`, id);
    else this.#readList(2, `/${low.plural}`, null);
  }

  #readList(level: Level, path: string, above: string | null): void {
    const ids: string[] = [];
    let [page, next]: [number, number | null] = [1, null];
    for (;;) {
      const query = next === null ? "" : `?${this.#api.paging}=${next}`;
      const { body } = this.#send({ method: "GET", path: `${path}${query}` });
      const {
        items = [],
        pages = 0,
        next: cursor = null,
      } = (body ?? {}) as {
        items?: readonly Record<string, unknown>[];
        pages?: number;
        next?: number | null;
      };
      for (const item of items) {
        if (hasQuirk(this.#api, "summary")) ids.push(String(item["id"]));
        else this.#learn(level, item, above);
      }
      page += 1;
      next = this.#api.paging === "cursor" ? cursor : page <= pages ? page : null;
      if (next === null || this.#neglect === "pages") break;
    }
    for (const id of ids) {
      const { status, body } = this.#send({ method: "GET", path: `${path}/${id}` });
      if (status === 200) this.#learn(level, body as Record<string, unknown>, above);
    }
  }

  #learn(level: Level, item: Record<string, unknown>, above: string | null): Known {
    const { id, name, locked = false, version, ...rest } = item;
    const reference = referenceOf(this.#api, level) ?? "";
    const { [reference]: parent = above, ...fields } = rest;
    const known: Known = {
      id: String(id),
      level,
      name: String(name),
      parent: typeof parent === "string" ? parent : null,
      fields,
      locked: locked === true,
      version: version as number | undefined,
    };
    this.#known.push(known);
    return known;
  }

  // ---- changing ----

  #mark(): void {
    const mark = goalOf(this.#instance, "mark");
    if (mark !== null) this.#change(this.#named(mark.top), { [this.#api.kinds[0].choice]: mark.choice });
  }

  /** New amounts, and records that get another one above them. */
  #changeLowest(newName: string | null, newId: string | null): void {
    const [, middle, low] = this.#api.kinds;
    const set = goalOf(this.#instance, "set");
    const clear = goalOf(this.#instance, "clear");
    const gone = new Set(this.#cleared().map(({ id }) => id));
    for (const one of this.#of(2)) {
      const above = this.#known.find(({ id }) => id === one.parent);
      const isBelow = this.#neglect === "condition" || above?.fields[middle.choice] === set?.above;
      const isMeant = this.#neglect === "conditions" || (isBelow && one.fields[low.choice] === set?.choice);
      const amount = set !== null && isMeant ? { [this.#api.amount]: this.#amount(set.amount) } : {};
      const isMoved = clear !== null && gone.has(one.parent ?? "") && this.#neglect !== "below";
      const heir = isMoved ? (clear.heir === newName ? newId : this.#named(clear.heir).id) : null;
      const changes = { ...amount, ...(heir === null ? {} : { [referenceOf(this.#api, 2) ?? ""]: heir }) };
      if (Object.keys(changes).length > 0) this.#change(one, changes);
    }
  }

  #add(): void {
    const add = goalOf(this.#instance, "add");
    if (add === null) return;
    const middle = this.#named(add.middle).id;
    this.#create(
      2,
      {
        name: add.name,
        [referenceOf(this.#api, 2) ?? ""]: middle,
        [this.#api.kinds[2].choice]: add.choice,
        [this.#api.amount]: this.#amount(add.amount),
      },
      false,
    );
  }

  #clear(): void {
    for (const one of this.#cleared()) {
      const wasLocked = this.#unlock(one);
      const { status } = this.#send({ method: "DELETE", path: this.#pathOf(one), ...this.#versionOf(one) });
      if (wasLocked && status >= 300) this.#lock(one);
    }
  }

  #cleared(): Known[] {
    const clear = goalOf(this.#instance, "clear");
    if (clear === null) return [];
    const top = this.#named(clear.top).id;
    const { choice } = this.#api.kinds[1];
    return this.#of(1).filter(({ parent, fields }) => parent === top && fields[choice] === clear.choice);
  }

  /** Its id, once it is there, where that is needed. */
  #create(level: Level, body: Record<string, unknown>, isNeeded = true): string | null {
    const reference = referenceOf(this.#api, level) ?? "";
    const { [reference]: above, ...rest } = body;
    const isNested = level === 2 && hasQuirk(this.#api, "nested");
    const [, middle] = this.#api.kinds;
    const path = `${isNested ? `/${middle.plural}/${above as string}` : ""}/${this.#api.kinds[level].plural}`;
    const answer = this.#send({ method: "POST", path, body: isNested ? rest : body }).body as {
      id?: string;
      job?: string;
    } | null;
    if (answer?.job === undefined || !isNeeded) return answer?.id ?? null;
    // A client that takes the job for the record has no id.
    if (this.#neglect === "jobs") return answer.job;
    for (let poll = 0; poll < MOST_POLLS; poll++) {
      const state = this.#send({ method: "GET", path: `/jobs/${answer.job}` }).body as { state?: string; id?: string };
      if (state.state === "done") return state.id ?? null;
    }
    return null;
  }

  #change(one: Known, changes: Record<string, unknown>): void {
    const wasLocked = this.#unlock(one);
    const isWhole = hasQuirk(this.#api, "replace") && this.#neglect !== "replace";
    const body = { ...(isWhole ? { name: one.name, ...one.fields } : {}), ...changes };
    const method = hasQuirk(this.#api, "replace") ? "PUT" : "PATCH";
    const path = this.#pathOf(one);
    const { status, body: shown } = this.#send({ method, path, body, ...this.#versionOf(one) });
    if (status === 200) this.#update(one, shown as Record<string, unknown>);
    const { [referenceOf(this.#api, one.level) ?? ""]: parent } = changes;
    if (status === 200 && typeof parent === "string") one.parent = parent;
    if (wasLocked && this.#neglect !== "locks") this.#lock(one);
  }

  #unlock(one: Known): boolean {
    if (!one.locked) return false;
    const { status, body } = this.#send({ method: "POST", path: `${this.#pathOf(one)}/unlock` });
    if (status === 200) this.#update(one, body as Record<string, unknown>);
    return true;
  }

  #lock(one: Known): void {
    this.#send({ method: "POST", path: `${this.#pathOf(one)}/lock` });
  }

  #update(one: Known, shown: Record<string, unknown>): void {
    if (this.#neglect !== "versions") one.version = shown["version"] as number | undefined;
    one.locked = shown["locked"] === true;
  }

  // ---- requests ----

  #send(request: Request): Response {
    if (hasQuirk(this.#api, "session") && this.#left === 0) this.#logIn();
    this.#left -= 1;
    const whole = this.#token === null ? request : { ...request, token: this.#token };
    return this.#ask(whole);
  }

  #logIn(): void {
    if (this.#neglect === "session" && this.#token !== null) return;
    const { body } = this.#ask({ method: "POST", path: "/sessions", body: { key: this.#instance.key } });
    const { token = "", valid_for_requests: life = 0 } = body as { token?: string; valid_for_requests?: number };
    this.#token = token;
    this.#left = life;
  }

  #ask(request: Request): Response {
    this.calls.push(call("request", { ...request }));
    return this.server.send(request);
  }

  // ---- knowledge ----

  #of(level: Level): Known[] {
    return this.#known.filter((one) => one.level === level);
  }

  /** An unknown name gives a record that no request finds. */
  #named(name: string): Known {
    const none = {
      id: "unknown",
      level: 0 as const,
      name,
      parent: null,
      fields: {},
      locked: false,
      version: undefined,
    };
    return this.#known.find((one) => one.name === name) ?? none;
  }

  #pathOf({ id, level, parent }: Known): string {
    const [, middle] = this.#api.kinds;
    const above = level === 2 && hasQuirk(this.#api, "nested") ? `/${middle.plural}/${parent ?? ""}` : "";
    return `${above}/${this.#api.kinds[level].plural}/${id}`;
  }

  #versionOf({ version }: Known): { if_version?: number } {
    return version === undefined ? {} : { if_version: version };
  }

  /** A client that does not know of hundredths sends whole coins. */
  #amount(amount: number): number {
    return this.#neglect === "minor" ? Math.floor(amount / 100) : amount;
  }
}

export interface Attempt {
  readonly calls: readonly Call[];
  readonly server: Server;
}

export function reached(instance: Instance, neglect: Neglect | null = null): Attempt {
  const client = new Client(instance, neglect);
  client.run();
  return client;
}

/** What a neglect needs to be one: a quirk of the API, or a condition on the records. */
export function neglectsOf({ api, goals }: Pick<Instance, "api" | "goals">): Neglect[] {
  const kinds = goals.map(({ goal }) => goal);
  const needs: [Neglect, boolean][] = [
    ["pages", true],
    ["last goal", true],
    ["condition", kinds.includes("set")],
    ["conditions", kinds.includes("set")],
    ["below", kinds.includes("clear")],
    ["session", hasQuirk(api, "session")],
    ["versions", hasQuirk(api, "versions") && hasQuirk(api, "locks")],
    ["replace", hasQuirk(api, "replace")],
    ["minor", hasQuirk(api, "minor")],
    ["locks", hasQuirk(api, "locks")],
    ["jobs", hasQuirk(api, "jobs") && kinds.includes("found")],
  ];
  return needs.filter(([, isNeeded]) => isNeeded).map(([neglect]) => neglect);
}
