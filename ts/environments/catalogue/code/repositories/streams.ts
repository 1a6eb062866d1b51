/** Streams of requests to a project, in the form of its entry. Most of them are legal; edges of the rules are met often. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { type Domain } from "./domains.ts";
import { domainOf, type Project } from "./project.ts";

/** A request, whatever the entry looks like. */
export interface Request {
  readonly name: string;
  readonly args: Readonly<Record<string, string | number | readonly string[]>>;
}

const LENGTH = [13, 19] as const;
/** Optional features that one stream is about, besides favoured ones. */
const ACTIVE = 2;
/** Of so many draws one ignores what the stream knows of the state. */
const ODD = 8;
const ITEMS = 4;
const PEOPLE = 3;

/** What a stream believes: it knows no refusals but those for items that are out. */
class Desk {
  readonly rng: Rng;
  readonly project: Project;
  readonly domain: Domain;
  day: number;
  items = 0;
  people = 0;
  loans: { number: number; item: number; person: number }[] = [];
  lent = 0;
  /** Who brought something back last, and may owe something. */
  returner = 1;

  constructor(project: Project, rng: Rng) {
    this.rng = rng;
    this.project = project;
    this.domain = domainOf(project);
    this.day = between(rng, 1, 9);
  }

  constant(name: string): number {
    return this.project.settings[name] as number;
  }

  request(name: string, args: Request["args"] = {}): Request {
    return { name, args };
  }

  name(): string {
    const words = sample(this.domain.words, between(this.rng, 1, 2), this.rng);
    return words
      .map((word) => (this.rng.integer(3) === 0 ? word.toUpperCase() : word))
      .join("  ".slice(this.rng.integer(2)));
  }

  value(): number {
    const edges = [
      this.constant("CHEAP_VALUE"),
      this.constant("CHEAP_VALUE") - 1,
      this.constant("LEAST_VALUE"),
      50 * between(this.rng, 8, 40),
      between(this.rng, 300, 2_500),
    ];
    return this.rng.integer(ODD) === 0 ? this.constant("LEAST_VALUE") - 1 : this.rng.pick(edges);
  }

  addItem(): Request {
    this.items += 1;
    return this.request(`add-${this.domain.item}`, { name: this.name(), value: this.value() });
  }

  addPerson(): Request {
    this.people += 1;
    const name = `${at(["ann", "bob", "cem", "dia", "eli"], this.people % 5)} ${at(["fox", "gray", "hill"], this.rng.integer(3))}`;
    return this.request(`add-${this.domain.person}`, { name, tier: this.rng.pick(this.domain.tiers) });
  }

  item(): number {
    return between(this.rng, 1, Math.max(1, this.items));
  }

  person(): number {
    return between(this.rng, 1, Math.max(1, this.people));
  }

  /** Somebody who may owe something. */
  debtor(): number {
    return this.rng.integer(4) === 0 ? this.person() : this.returner;
  }

  /** Somebody who has something to bring back, where there is one. */
  borrower(): number {
    return this.loans.length === 0 ? this.person() : this.rng.pick(this.loans).person;
  }

  /** The number of a loan that is open, as far as the stream knows. */
  loan(): number {
    if (this.loans.length === 0 || this.rng.integer(ODD) === 0) return between(this.rng, 1, Math.max(1, this.lent));
    // The older one of two.
    return Math.min(this.rng.pick(this.loans).number, this.rng.pick(this.loans).number);
  }

  lend(): Request {
    const out = new Set(this.loans.map(({ item }) => item));
    const free = range(this.items)
      .map((index) => index + 1)
      .filter((item) => !out.has(item));
    const item = free.length === 0 || this.rng.integer(ODD) === 0 ? this.item() : this.rng.pick(free);
    const person = this.person();
    if (!out.has(item)) {
      this.lent += 1;
      this.loans.push({ number: this.lent, item, person });
    }
    return this.request("lend", { [this.domain.item]: item, [this.domain.person]: person, day: this.day });
  }

  giveBack(): Request {
    const number = this.loan();
    this.returner = this.loans.find((loan) => loan.number === number)?.person ?? this.returner;
    this.loans = this.loans.filter((loan) => loan.number !== number);
    return this.request("give-back", { loan: number, day: this.day });
  }

  handOver(): Request {
    const number = this.loan();
    const to = this.person();
    const old = this.loans.find((loan) => loan.number === number);
    if (old !== undefined && old.person !== to) {
      this.lent += 1;
      this.loans = [...this.loans.filter((loan) => loan !== old), { number: this.lent, item: old.item, person: to }];
    }
    return this.request("hand-over", { loan: number, to, day: this.day });
  }

  reserve(): Request {
    const item = this.loans.length === 0 || this.rng.integer(ODD) === 0 ? this.item() : this.rng.pick(this.loans).item;
    return this.request("reserve", { [this.domain.item]: item, [this.domain.person]: this.person(), day: this.day });
  }

  importLine(): string {
    const value = this.value();
    const amounts = [
      String(Math.floor(value / 100)),
      `${Math.floor(value / 100)}.${value % 10}`,
      `${Math.floor(value / 100)}.${String(value % 100).padStart(2, "0")}`,
    ];
    const lines = [
      `${this.name()};${this.rng.pick(amounts)}`,
      `${this.name()};${this.rng.pick(amounts)}`,
      `${this.name()};${this.rng.pick(this.domain.words)};${this.rng.pick(amounts)}`,
      `#${this.name()};3`,
      `${this.name()};three`,
    ];
    return this.rng.pick(lines);
  }
}

type Draw = (desk: Desk) => Request;

const DESK_DRAWS: readonly Draw[] = [
  (desk) => desk.lend(),
  (desk) => desk.lend(),
  (desk) => desk.lend(),
  (desk) => desk.giveBack(),
  (desk) => desk.giveBack(),
  (desk) => desk.giveBack(),
  (desk) => desk.request("balance", { [desk.domain.person]: desk.debtor() }),
];

const FEATURE_DRAWS: Readonly<Record<string, Draw>> = {
  pay: (desk) =>
    desk.request("pay", {
      [desk.domain.person]: desk.debtor(),
      amount: desk.constant("LEAST_RATE") * between(desk.rng, 1, 4) - (desk.rng.integer(3) === 0 ? 7 : 0),
    }),
  renew: (desk) => desk.request("renew", { loan: desk.loan(), day: desk.day }),
  reserve: (desk) => desk.reserve(),
  nightly: (desk) => desk.request("nightly", { day: desk.day }),
  damage: (desk) =>
    desk.request("report-damage", {
      [desk.domain.item]: desk.item(),
      [desk.domain.person]: desk.person(),
      grade: desk.rng.pick([
        "scratch",
        "scratch",
        "dent",
        "dent",
        "broken",
        desk.rng.integer(4) === 0 ? "gone" : "dent",
      ]),
      day: desk.day,
    }),
  voucher: (desk) =>
    desk.request("add-voucher", {
      [desk.domain.person]: desk.borrower(),
      percent: desk.rng.integer(ODD) === 0 ? desk.rng.pick([0, 100, 101]) : 10 * between(desk.rng, 1, 8),
      until: desk.day + between(desk.rng, 4, 30),
    }),
  statement: (desk) => desk.request("statement", { [desk.domain.person]: desk.debtor() }),
  report: (desk) => {
    const first = Math.max(1, desk.day - between(desk.rng, 3, 20));
    return desk.request("report", { first, last: desk.rng.integer(ODD) === 0 ? first - 1 : desk.day });
  },
  handover: (desk) => desk.handOver(),
  search: (desk) =>
    desk.request("search", {
      text: sample(desk.domain.words, between(desk.rng, 2, 5), desk.rng)
        .map((word) => word.slice(0, 5))
        .join(" "),
      page: desk.rng.pick([1, 1, 1, 2]),
    }),
  import: (desk) => {
    const lines = range(between(desk.rng, 2, 4)).map(() => desk.importLine());
    desk.items += lines.length - 1;
    return desk.request(`import-${desk.domain.item}s`, { lines });
  },
  forecast: (desk) => desk.request("forecast", { day: desk.day + between(desk.rng, 0, 9) }),
};

/** Optional features that are `favoured` come as often as the desk. */
export function drawStream(
  project: Project,
  rng: Rng,
  { favoured = [] }: { favoured?: readonly string[] } = {},
): Request[] {
  const desk = new Desk(project, rng);
  const requests = [...range(ITEMS).map(() => desk.addItem()), ...range(PEOPLE).map(() => desk.addPerson())];
  const others = sample(
    project.features.filter((feature) => !favoured.includes(feature)),
    ACTIVE,
    rng,
  );
  const optional = [...favoured, ...favoured, ...others].flatMap((feature) => FEATURE_DRAWS[feature] ?? []);
  for (const _ of range(between(rng, LENGTH[0], LENGTH[1]))) {
    desk.day += rng.integer(3) === 0 ? between(rng, 6, 14) : rng.integer(3);
    const isOptional = optional.length > 0 && rng.integer(3) === 0;
    requests.push(rng.pick(isOptional ? optional : DESK_DRAWS)(desk));
  }
  if (rng.integer(4) === 0) requests.push(desk.request("journal"));
  return requests;
}

/** Requests as the project's entry takes them. */
export function encoded({ entry }: Project, requests: readonly Request[]): Json[] {
  return requests.map(({ name, args }): Json => {
    if (entry === "api") return { path: `/${name}`, body: args };
    if (entry === "queue") return [name, args];
    const words = Object.entries(args).map(([key, value]) => `${key}=${argumentText(value)}`);
    return [name, ...words].join(" ");
  });
}

function argumentText(value: string | number | readonly string[]): string {
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return value.replaceAll(" ", "_");
  return value.map((part) => `${part.replaceAll(" ", "_")},`).join("");
}
