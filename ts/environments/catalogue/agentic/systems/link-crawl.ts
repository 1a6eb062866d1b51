/** link-crawl: documents with a label are collected from linked pages within a number of requests, by what pages say about their parts. */
import { z } from "zod";

import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { call, namesOf, recordName, recordNames } from "../records.ts";

interface Page {
  id: string;
  /** Pages to which it links; those below it and others. */
  links: string[];
  /** Documents on the page, with their labels. */
  documents: { id: string; label: string }[];
  /** The page that it has moved to; null: none. */
  moved: string | null;
}

interface Instance {
  pages: Page[];
  label: string;
  /** Documents with the label in the part below each page, as the pages that link to it say. */
  counts: Record<string, number>;
  budget: number;
  /** Pages that have to be requested, in an order in which each is linked by one before, and the documents. */
  route: string[];
  wanted: string[];
}

interface World {
  readonly instance: Instance;
  requests: number;
  submitted: string[] | null;
}

/** By level: pages, links of a page to elsewhere, moved pages, spare requests. */
const SIZES = [
  [6, 0, 0, 1],
  [12, 1, 1, 1],
  [22, 1, 2, 2],
  [40, 2, 4, 2],
  [70, 2, 7, 3],
] as const;

const tools = {
  get_page: worldTool({
    description: "Requests a page",
    parameters: z.object({ page: recordName }),
    run: (world: World, { page: id }) => {
      const { pages, counts, budget } = world.instance;
      if (world.requests >= budget) throw new Refusal("no requests are left");
      const page = pages.find((one) => one.id === id);
      world.requests += 1;
      const left = { requests_left: budget - world.requests };
      if (page === undefined) return { status: 404, ...left };
      if (page.moved !== null) return { status: 301, moved_to: page.moved, ...left };
      return {
        status: 200,
        documents: page.documents,
        links: page.links.map((to) => ({
          page: to,
          ...(Object.hasOwn(counts, `${id} ${to}`)
            ? { part_of_this_page: true, wanted_documents_below: counts[`${id} ${to}`] }
            : {}),
        })),
        ...left,
      };
    },
  }),
  submit: worldTool({
    description: "Hands in names of documents; possible once",
    parameters: z.object({ documents: recordNames }),
    run: (world: World, { documents }) => {
      if (world.submitted !== null) throw new Refusal("documents were handed in already");
      world.submitted = documents;
      return "received";
    },
  }),
};

export const linkCrawl = defineWorldRow<Instance, World>({
  id: "link-crawl",
  asks: "collect all documents with a label from linked pages within a number of requests, without following links that lead nowhere new",
  make,
  effort: ({ pages, route }) => pages.length + route.length,
  canonical: ({ pages }) => pages.map(({ links, documents }) => [links.length, documents.map(({ label }) => label)]),
  prompts: [
    (one) =>
      `Collect every document with the label "${one.label}". Start at ${at(one.pages, 0).id}. Pages link to their parts, and to pages elsewhere; for a part, the link says how many documents with this label the part holds on all its pages together. You have ${one.budget} requests, so parts with 0 are not worth one, and links to elsewhere lead to pages that belong to some part anyway. A moved page costs a request and names its new place. Hand in all names at once; a wrong one costs as much as a right one earns.`,
    (one) =>
      `Which documents are labelled "${one.label}"? The site begins with ${at(one.pages, 0).id}. Requests: ${one.budget} at most, including answers 301 (moved) and 404. A link marked as part of the page tells the number of such documents below it; other links are cross references and can be left alone. Submit the complete list once.`,
    (one) =>
      `Crawl frugally. Entry page: ${at(one.pages, 0).id}. Wanted label: ${one.label}. Every request counts against ${one.budget}. The tree of parts reaches every page once; the counts at links to parts are right; cross links repeat pages. Then submit exactly the documents with the label.`,
    (one) =>
      `With no more than ${one.budget} page requests find all "${one.label}" documents of the site whose first page is ${at(one.pages, 0).id}, and submit them in one go. Use the counts: a link to a part of a page shows how many of them are in that part. Follow redirections (one request each). Extra or missing documents lower the result.`,
  ],
  tools,
  world: (instance) => ({ instance, requests: 0, submitted: null }),
  gold: (instance) => script(instance.route, instance.wanted),
  slips: (instance) => {
    const { route, wanted, pages, label } = instance;
    const other = pages.flatMap(({ documents }) => documents).find((one) => one.label !== label);
    return {
      "leaves a document out": script(route, wanted.slice(0, -1)),
      "one with another label": script(route, [...wanted, ...(other === undefined ? ["doc-0"] : [other.id])]),
      "hands in nothing": script(route, null),
      "reads only the first page": script(
        route.slice(0, 1),
        at(pages, 0).documents.map(({ id }) => id),
      ),
    };
  },
  blankets: (instance) => ({
    "hands in what the first page has": script(
      instance.route.slice(0, 1),
      at(instance.pages, 0).documents.map(({ id }) => id),
    ),
    "follows first links": script(firstLinks(instance), seenOn(instance, firstLinks(instance))),
    "all requests on the first page": [
      ...range(instance.budget).map(() => call("get_page", { page: at(instance.pages, 0).id })),
      call("submit", { documents: ["doc-0"] }),
    ],
  }),
  grade: ({ wanted }, { submitted }) => {
    if (submitted === null) return 0;
    const all = new Set(submitted);
    const hits = wanted.filter((id) => all.has(id)).length;
    return Math.max(0, (hits - (submitted.length - hits)) / wanted.length) ** 2;
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, cross, movedCount, spare] = at(SIZES, level - 1);
  const ids = namesOf("page", count + movedCount, rng);
  const labels = distinct(4, () => word(rng));
  const [label = ""] = labels;
  const parent = range(count).map((index) => (index === 0 ? -1 : Math.max(0, index - between(rng, 1, 4))));
  const documentNames = namesOf("doc", 2 * count, rng);
  const documents = range(count).map((index) =>
    range(rng.integer(3)).map((place) => ({
      id: at(documentNames, 2 * index + place),
      label: rng.pick([label, ...labels.slice(1), at(labels, 3)]),
    })),
  );
  const below = range(count).map(() => 0);
  for (const index of range(count).toReversed()) {
    below[index] = at(below, index) + at(documents, index).filter((one) => one.label === label).length;
    if (index > 0) below[at(parent, index)] = at(below, at(parent, index)) + at(below, index);
  }
  // Some parts are linked by an old name, which has moved.
  const moved = new Map(
    sample(range(count).slice(1), movedCount, rng).map((index, place) => [index, at(ids, count + place)]),
  );
  const linkName = (index: number): string => moved.get(index) ?? at(ids, index);
  const counts: Record<string, number> = {};
  const pages = range(count).map((index): Page => {
    const parts = range(count).filter((other) => at(parent, other) === index);
    for (const part of parts) counts[`${at(ids, index)} ${linkName(part)}`] = at(below, part);
    const others = sample(
      range(count).filter((other) => other !== index && !parts.includes(other)),
      cross,
      rng,
    );
    return {
      id: at(ids, index),
      links: shuffled([...parts.map(linkName), ...others.map((other) => at(ids, other))], rng),
      documents: at(documents, index),
      moved: null,
    };
  });
  for (const [index, name] of moved) pages.push({ id: name, links: [], documents: [], moved: at(ids, index) });
  const route = range(count).flatMap((index) =>
    at(below, index) === 0 && index > 0 ? [] : moved.has(index) ? [linkName(index), at(ids, index)] : [at(ids, index)],
  );
  const wanted = documents
    .flat()
    .filter((one) => one.label === label)
    .map(({ id }) => id);
  const isEasy =
    route.length < 3 ||
    documents.slice(1).every((some) => some.every((one) => one.label !== label)) ||
    route.length > count + movedCount - 2 ||
    wanted.length < 2 ||
    wanted.length > 20;
  return isEasy ? null : { pages, label, counts, budget: route.length + spare, route, wanted };
}

/** Always the first link of the page before. */
function firstLinks({ pages, budget }: Instance): string[] {
  const path = [at(pages, 0).id];
  while (path.length < budget) {
    const page = pages.find(({ id }) => id === path.at(-1));
    path.push(page?.moved ?? page?.links[0] ?? at(pages, 0).id);
  }
  return path;
}

/** Documents of all labels on these pages, as many as can be handed in. */
function seenOn({ pages }: Instance, path: readonly string[]): string[] {
  const all = pages.filter(({ id }) => path.includes(id)).flatMap(({ documents }) => documents.map(({ id }) => id));
  return all.length === 0 ? ["doc-0"] : all.slice(0, 20);
}

function script(route: readonly string[], documents: readonly string[] | null): Script {
  return [
    ...route.map((page) => call("get_page", { page })),
    ...(documents === null ? [] : [call("submit", { documents: documents.length === 0 ? ["doc-0"] : documents })]),
  ];
}
