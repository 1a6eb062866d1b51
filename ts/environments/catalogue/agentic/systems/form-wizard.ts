/** form-wizard: an application is filled in page by page, with tokens, rules of notation, and pages that depend on answers. */
import { z } from "zod";

import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { at } from "../../lists.ts";
import { MONTHS } from "../../months.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { call } from "../records.ts";

/** How a value has to be written. */
type Notation = "date" | "centimetres" | "minutes" | "cents" | "initials" | "checked";

interface Field {
  name: string;
  notation: Notation;
  /** The fact in words, and what has to be written. */
  fact: string;
  value: string;
}

interface Page {
  name: string;
  title: string;
  /** Key of the token of each visit. */
  seed: number;
  fields: Field[];
  /** The page is asked for only where this answer was given on the first page. */
  onlyFor: string | null;
}

interface Instance {
  applicant: string;
  kind: string;
  kinds: string[];
  pages: Page[];
}

interface World {
  readonly instance: Instance;
  opened: number;
  token: string | null;
  current: number;
  kind: string | null;
  readonly saved: Map<string, string>;
  isSent: boolean;
}

/** By level: pages that apply, others, fields of a page. */
const SIZES = [
  [1, 1, 2],
  [2, 1, 3],
  [3, 2, 4],
  [4, 3, 5],
  [6, 4, 6],
] as const;
const RULES: Readonly<Record<Notation, string>> = {
  date: "as year-month-day with two digits each for month and day",
  centimetres: "in whole centimetres, digits only",
  minutes: "in minutes, digits only",
  cents: "in cents, digits only",
  initials: "capital letters without dots",
  checked: "the number, a hyphen, and the sum of its digits modulo 10",
};
const KEYS = [
  "issued",
  "height",
  "length",
  "fee",
  "contact",
  "licence",
  "width",
  "arrival",
  "deposit",
  "deputy",
  "permit",
  "opened",
];

const openShape = z.object({ page: z.string().max(40) });
const fillShape = z.object({
  token: z.string().max(40),
  values: z.array(z.object({ field: z.string().max(40), value: z.string().max(60) })).max(12),
});

const tools = {
  open_page: worldTool<World, typeof openShape>({
    description: "Opens a page of the form; an earlier token ends",
    parameters: openShape,
    run: (world, { page: wanted }) => {
      const index = wanted === "start" ? -1 : world.instance.pages.findIndex((one) => one.name === wanted);
      if (index < 0 && wanted !== "start") throw new Refusal(`there is no page ${wanted}`);
      world.opened += 1;
      world.current = index;
      world.token = tokenOf(world);
      if (index < 0)
        return {
          token: world.token,
          fields: [{ field: "kind", rule: `one of ${world.instance.kinds.join(", ")}` }],
          pages: world.instance.pages.map(({ name: one, title }) => ({ page: one, title })),
        };
      const page = at(world.instance.pages, index);
      return {
        token: world.token,
        applies_to: page.onlyFor ?? "all kinds",
        fields: page.fields.map(({ name: field, notation }) => ({ field, rule: RULES[notation] })),
      };
    },
  }),
  save_page: worldTool<World, typeof fillShape>({
    description: "Saves the values of the open page, all of them at once",
    parameters: fillShape,
    run: (world, { token, values }) => {
      const page = world.current < 0 ? null : at(world.instance.pages, world.current);
      if (world.isSent) throw new Refusal("the form has been sent");
      if (token !== world.token) throw new Refusal("the token is not valid");
      const names = page === null ? ["kind"] : page.fields.map((one) => one.name);
      if (
        values
          .map(({ field }) => field)
          .toSorted()
          .join() !== names.toSorted().join()
      )
        throw new Refusal(`the page has the fields ${names.join(", ")}`);
      if (page === null && !world.instance.kinds.includes(values[0]?.value ?? ""))
        throw new Refusal("there is no such kind");
      if (page !== null && world.kind === null) throw new Refusal("the page start comes first");
      world.token = null;
      for (const { field, value } of values) {
        if (page === null) world.kind = value;
        else world.saved.set(`${page.name} ${field}`, value);
      }
      return "saved";
    },
  }),
  send: worldTool<World, z.ZodObject>({
    description: "Sends the form; afterwards nothing can be changed",
    parameters: z.object({}),
    run: (world) => {
      if (world.isSent) throw new Refusal("the form has been sent");
      if (world.kind === null) throw new Refusal("the page start comes first");
      world.isSent = true;
      return "sent";
    },
  }),
};

export const formWizard = defineWorldRow<Instance, World>({
  id: "form-wizard",
  asks: "fill in the pages of a form that apply, with tokens of visits and rules of notation, and send it",
  make,
  effort: ({ pages, kind }) =>
    3 * applying({ pages, kind }).reduce((sum, page) => sum + page.fields.length, 0) + pages.length,
  canonical: ({ pages, kind }) => [kind, pages.map(({ fields }) => fields.map(({ value }) => value))],
  prompts: [
    (one) =>
      `Fill in a form for ${one.applicant}, a ${one.kind}, and send it. Begin with the page "start". Fill in each page that applies to this kind or to all, and no others. A page is opened, which gives a token, and saved with that token before another page is opened. Each field has its own rule of notation. Facts:\n${facts(one)}`,
    (one) =>
      `Facts about an applicant:\n${facts(one)}\n\nEnter them in the form: kind is ${one.kind}, name ${one.applicant}. The page "start" asks for the kind; later pages say to which kinds they apply, and pages of other kinds must stay empty. Tokens hold for one visit. Values have to follow the rules that the pages state. Send the form at the end.`,
    (one) =>
      `${one.applicant} (${one.kind}) needs an application handed in. What is known:\n${facts(one)}\nOpen pages, read their rules (how dates, lengths, sums and numbers are written), save each with the token of the visit, skip pages for other kinds, then send. The first page is "start".`,
    (one) =>
      `Hand in the application of ${one.applicant}. Kind: ${one.kind}.\n${facts(one)}\nThe form has a page "start" and more. Only pages for all kinds and for this kind are to be saved. Convert every value to the notation of its field. Do not forget to send it: before that it does not count.`,
  ],
  tools,
  world: (instance) => ({ instance, opened: 0, token: null, current: -1, kind: null, saved: new Map(), isSent: false }),
  gold: (instance) => script(instance, applying(instance), (field) => field.value),
  slips: (instance) => {
    const gold = script(instance, applying(instance), (field) => field.value);
    return {
      "does not send it": gold.slice(0, -1),
      "writes the facts as they are": script(instance, applying(instance), (field) => field.fact),
      "fills in every page": script(instance, instance.pages, (field) => field.value),
      "leaves the last page out": script(instance, applying(instance).slice(0, -1), (field) => field.value),
      "takes another kind": script(
        { ...instance, kind: instance.kinds.find((kind) => kind !== instance.kind) ?? "" },
        applying(instance),
        (field) => field.value,
      ),
    };
  },
  blankets: (instance) => ({
    "sends it empty": script(instance, [], () => ""),
    "writes the facts as they are": script(instance, applying(instance), (field) => field.fact),
    "zeros everywhere": script(instance, applying(instance), () => "0"),
  }),
  grade: (instance, { kind, saved, isSent }) => {
    if (!isSent || kind !== instance.kind) return 0;
    const wanted = new Map(
      applying(instance).flatMap((page) =>
        page.fields.map((field): [string, string] => [`${page.name} ${field.name}`, field.value]),
      ),
    );
    const right = [...wanted].filter(([key, value]) => saved.get(key)?.trim() === value).length;
    const wrong = [...saved.keys()].filter((key) => !wanted.has(key)).length;
    return Math.max(0, (right - wrong) / wanted.size) ** 2;
  },
});

function make(rng: Rng, level: Level): Instance {
  const [applyingCount, others, fieldCount] = at(SIZES, level - 1);
  const kinds = shuffled(["trader", "carrier", "lodger"], rng);
  const [kind = "", ...rest] = kinds;
  const titles = sample(
    ["Identity", "Vehicle", "Storage", "Insurance", "Premises", "Staff", "Journey", "Payment", "Goods", "Safety"],
    applyingCount + others,
    rng,
  );
  const pages = titles.map((title, index): Page => {
    const keys = sample(KEYS, fieldCount, rng);
    return {
      name: title.toLowerCase(),
      title,
      seed: between(rng, 1000, 8000),
      fields: keys.map((key) => fieldOf(key, rng)),
      onlyFor: index < applyingCount ? (rng.integer(2) === 0 ? kind : null) : rng.pick(rest),
    };
  });
  return {
    applicant: distinct(1, () => name(rng)).join(""),
    kind,
    kinds: kinds.toSorted(),
    pages: shuffled(pages, rng),
  };
}

function fieldOf(key: string, rng: Rng): Field {
  const notation = rng.pick(["date", "centimetres", "minutes", "cents", "initials", "checked"] as const);
  const [a, b, c] = [between(rng, 1, 28), between(rng, 1, 12), between(rng, 1, 59)];
  const two = (value: number): string => String(value).padStart(2, "0");
  switch (notation) {
    case "date":
      return {
        name: key,
        notation,
        fact: `${a} ${at(MONTHS, b - 1)} ${1960 + c}`,
        value: `${1960 + c}-${two(b)}-${two(a)}`,
      };
    case "centimetres":
      return { name: key, notation, fact: `${b}.${two(c)} m`, value: String(100 * b + c) };
    case "minutes":
      return { name: key, notation, fact: `${b} h ${c} min`, value: String(60 * b + c) };
    case "cents":
      return { name: key, notation, fact: `${a} euros and ${c} cents`, value: String(100 * a + c) };
    case "initials": {
      const names = distinct(3, () => name(rng));
      return { name: key, notation, fact: names.join(" "), value: names.map((one) => one.charAt(0)).join("") };
    }
    case "checked": {
      const digits = String(between(rng, 10_000, 99_999));
      const sum = digits.split("").reduce((all, digit) => all + Number(digit), 0);
      return { name: key, notation, fact: `number ${digits}`, value: `${digits}-${sum % 10}` };
    }
  }
}

function applying({ pages, kind }: Pick<Instance, "pages" | "kind">): Page[] {
  return pages.filter(({ onlyFor }) => onlyFor === null || onlyFor === kind);
}

/** The token of a visit follows from the page and from the number of visits before. */
function tokenOf({ instance, opened, current }: Pick<World, "instance" | "opened" | "current">): string {
  const seed = current < 0 ? 4321 : at(instance.pages, current).seed;
  return `visit-${1000 + ((seed * 7 + opened * 131) % 9000)}`;
}

/** All pages are looked at; those of `saved` are saved. */
function script(instance: Instance, saved: readonly Page[], written: (field: Field) => string): Script {
  let opened = 0;
  const visit = (current: number, page: string, values: { field: string; value: string }[] | null): Call[] => {
    opened += 1;
    const token = tokenOf({ instance, opened, current });
    return [call("open_page", { page }), ...(values === null ? [] : [call("save_page", { token, values })])];
  };
  return [
    ...visit(-1, "start", [{ field: "kind", value: instance.kind }]),
    ...instance.pages.flatMap((page, index) =>
      visit(
        index,
        page.name,
        saved.includes(page) ? page.fields.map((field) => ({ field: field.name, value: written(field) })) : null,
      ),
    ),
    call("send"),
  ];
}

function facts({ pages }: Instance): string {
  return pages
    .flatMap(({ title, fields }) => fields.map((field) => `- ${title}, ${field.name}: ${field.fact}`))
    .join("\n");
}
