/** The documentation of a drawn API, and the prompts of rest-goal-agent. */
import { goalTexts } from "./goals.ts";
import { type Api, fieldsOf, hasQuirk, type Instance, referenceOf } from "./instance.ts";

/** All that a client needs to know about the API. */
export function documentation({ api }: Instance): string {
  return [overview(api), reading(api), changing(api), limits(api)].join("\n\n");
}

function overview(api: Api): string {
  const [top, middle, low] = api.kinds;
  const kinds = ([0, 1, 2] as const).map((level) => {
    const { plural, singular, choice, options } = api.kinds[level];
    const reference = referenceOf(api, level);
    const amount = level === 2 ? `, ${api.amount} (${amountText(api)})` : "";
    return `- ${plural}: a ${singular} has an id, a name, ${reference === null ? "" : `${reference}, `}${choice} (${options.join(", ")})${amount}`;
  });
  return `RECORDS\n${kinds.join("\n")}\nEach ${middle.singular} belongs to a ${top.singular}, each ${low.singular} to a ${middle.singular}.`;
}

function amountText(api: Api): string {
  return hasQuirk(api, "minor") ? "a whole number of cents; people name it in coins of 100 cents" : "a whole number";
}

function reading(api: Api): string {
  const [top, middle, low] = api.kinds;
  const below = hasQuirk(api, "nested")
    ? `GET /${middle.plural}/{id}/${low.plural} lists the ${low.plural} of one ${middle.singular}, and a ${low.singular} is /${middle.plural}/{id of its ${middle.singular}}/${low.plural}/{id}; there is no list of all ${low.plural}`
    : `GET /${low.plural} lists all ${low.plural}`;
  const pages =
    api.paging === "page"
      ? `A list has at most ${api.pageSize} items and says how many pages there are; ?page=2 is the second page`
      : `A list has at most ${api.pageSize} items; where next is not null, ?cursor=<next> continues it`;
  return [
    "READING",
    `GET /${top.plural} and GET /${middle.plural} list these records; ${below}. ${pages}. GET of a record's path shows it.`,
    ...(hasQuirk(api, "summary") ? ["Lists show ids and names only; the record itself shows the rest."] : []),
    ...(hasQuirk(api, "stale")
      ? [
          `Lists are rebuilt when ${api.lag} requests have followed the last change; until then they show the state before. Records themselves are always up to date.`,
        ]
      : []),
  ].join("\n");
}

function changing(api: Api): string {
  const [, middle, low] = api.kinds;
  const wanted = (level: 1 | 2): string =>
    [
      "name",
      ...fieldsOf(api, level),
      ...(level === 2 && hasQuirk(api, "nested") ? [] : [referenceOf(api, level)]),
    ].join(", ");
  const change = hasQuirk(api, "replace")
    ? "PUT of a record's path replaces its name and fields by the body: a field that the body leaves out becomes null. The reference to the record above stays if it is left out."
    : "PATCH of a record's path changes the fields in the body and no others.";
  return [
    "CHANGING",
    `POST to a list's path creates a record. A ${middle.singular} needs ${wanted(1)}; a ${low.singular} needs ${wanted(2)}.`,
    `${change} A record moves when its reference changes. DELETE of a record's path deletes it.`,
    hasQuirk(api, "cascade")
      ? "With a record everything below it is deleted."
      : "A record that has others below it is not deleted (409).",
    ...(hasQuirk(api, "versions")
      ? [
          "PUT, PATCH and DELETE need if_version, the version that the record has now; it grows with every change, also with unlock and lock. Otherwise the answer is 412.",
        ]
      : []),
    ...(hasQuirk(api, "locks")
      ? [
          "A locked record cannot be changed or deleted (423). POST to its path with /unlock or /lock behind it, without a body, opens and closes the lock.",
        ]
      : []),
    ...(hasQuirk(api, "jobs")
      ? [
          "POST of a new record and DELETE are carried out some requests later: the answer is 202 with a job. GET /jobs/{job} says when it is done, and the id of a new record. Jobs go on when you stop.",
        ]
      : []),
  ].join("\n");
}

function limits(api: Api): string {
  return [
    "LIMITS",
    ...(hasQuirk(api, "session")
      ? [
          `Every request but the first needs a token. POST /sessions with the body {"key": "..."} gives one that is valid for ${api.tokenLife} requests; afterwards, and without one, the answer is 401.`,
        ]
      : ["No token is needed."]),
    "The number of requests is limited, those that fail included; when it is reached, all are answered with 429.",
  ].join("\n");
}

const CARE =
  "Conditions in the goals are about the records as they are now, before your first change. Everything that the goals do not speak of has to be as it was in the end: another change costs as much as a necessary one earns.";

export const PROMPTS: readonly ((instance: Instance) => string)[] = [
  (one) =>
    `Bring the records behind an HTTP interface into the wanted state. The tool read_documentation describes the interface; the tool request uses it, ${one.budget} times at most.${key(one)}\n\nWanted:\n${list(one)}\n\n${CARE}`,
  (one) =>
    `You work for an operator who keeps ${plurals(one)} in a web service. Read its documentation first.${key(one)} These statements shall be true when you are done:\n${list(one)}\n\n${CARE} You have ${one.budget} requests.`,
  (one) =>
    `${CARE}\n\nGoals for the service of ${plurals(one)}:\n${list(one)}\n\nIt is reached by the tool request alone (no more than ${one.budget} requests, failed ones count), as its documentation says.${key(one)}`,
  (one) =>
    `With at most ${one.budget} requests to a service that its documentation describes, see to it that\n${list(one)}\n${CARE}${key(one)}`,
];

function key({ api, key: text }: Instance): string {
  return hasQuirk(api, "session") ? ` Your key is ${text}.` : "";
}

function plurals({ api }: Instance): string {
  const [top, middle, low] = api.kinds;
  return `${top.plural}, ${middle.plural} and ${low.plural}`;
}

function list(one: Instance): string {
  return goalTexts(one)
    .map((text) => `- ${text}`)
    .join("\n");
}
