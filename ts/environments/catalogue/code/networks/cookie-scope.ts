/** cookie-scope: the cookies that a browser sends with requests, in order, after servers have set, changed and expired them. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Setting {
  host: string;
  path: string;
  name: string;
  value: string;
  domain: string | null;
  scope: string | null;
  secure: boolean;
  life: number | null;
}
type Event = { do: "set"; setting: Setting } | { do: "get"; secure: boolean; host: string; path: string };
export interface CookieProblem {
  events: Event[];
}

/** By level: cookies that are set, requests. */
const SIZES = [
  [4, 2],
  [6, 3],
  [9, 4],
  [12, 5],
  [16, 7],
] as const;
const HOSTS = ["site.test", "app.site.test", "api.app.site.test", "mysite.test"];
const PATHS = ["/", "/a", "/a/b", "/ab", "/a/b/c"];

export const cookieScope = itemRow<CookieProblem>({
  id: "cookie-scope",
  asks: "the cookies that a browser sends, in order, by domain, path, security and expiry",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${text(one)}\n\nThe minutes are the lines' numbers. ${RULES}\n\nWhich cookies go along with each GET? One line for each GET in order: name=value pairs in the order of sending, separated by spaces, or - for none.`,
    (one) =>
      `${RULES}\n\nLog of a browser, one event a minute (the number in front is the minute):\n${text(one)}\n\nWrite for every GET a line with the cookies that are sent, as name=value with spaces between, in the right order; - if there is none.`,
    (one) =>
      `A browser starts without cookies. Its history, by minutes:\n${text(one)}\n\nReconstruct the Cookie headers of the GET requests: a line per request, pairs name=value joined by a space, - for an empty header. ${RULES}`,
    (one) =>
      `Which state leaks to which host? Events (minute: event):\n${text(one)}\n\n${RULES} For each GET, in order, list the pairs name=value that accompany it on one line (spaces between, - when nothing is sent).`,
  ],
});

const RULES =
  "A cookie without Domain goes only to the host that set it; with Domain it goes to that host and all hosts below it, and a host can only set a Domain that is itself or above it (otherwise the cookie is ignored). A cookie goes to paths that equal its Path or continue it at a slash; without Path, its path is that of the response up to, not including, the last slash, or / if nothing is left. Secure cookies go only over https. Max-Age counts minutes: the cookie is gone when they have passed, and at once with 0. Name, domain and path identify a cookie; setting it again keeps its time of creation, unless it was gone. Longer paths are sent first, among equally long ones the earlier created.";

function text({ events }: CookieProblem): string {
  return events
    .map((event, minute) => {
      if (event.do === "get") return `${minute}: GET ${event.secure ? "https" : "http"}://${event.host}${event.path}`;
      const { host, path, name, value, domain, scope, secure, life } = event.setting;
      const parts = [
        `${name}=${value}`,
        ...(domain === null ? [] : [`Domain=${domain}`]),
        ...(scope === null ? [] : [`Path=${scope}`]),
        ...(secure ? ["Secure"] : []),
        ...(life === null ? [] : [`Max-Age=${life}`]),
      ];
      return `${minute}: response of https://${host}${path} has Set-Cookie: ${parts.join("; ")}`;
    })
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [count, gets] = at(SIZES, level - 1);
  const names = "uvwxyz".slice(0, 2 + Math.ceil(level / 2)).split("");
  const hosts = HOSTS.slice(0, 2 + Math.ceil(level / 3));
  const set = (index: number): Event => {
    const host = rng.pick(hosts);
    return {
      do: "set",
      setting: {
        host,
        path: rng.pick(["/a/b/c", "/a/b", "/x", "/a/"]),
        name: rng.pick(names),
        value: String(index + 1),
        domain:
          rng.integer(2) === 0
            ? null
            : rng.pick(rng.integer(4) === 0 ? hosts : hosts.filter((one) => host === one || host.endsWith(`.${one}`))),
        scope: rng.integer(2) === 0 ? null : rng.pick(PATHS),
        secure: rng.integer(4) === 0,
        life: rng.integer(3) === 0 ? rng.pick([0, between(rng, 2, 9), between(rng, 3, 20)]) : null,
      },
    };
  };
  const get = (): Event => ({
    do: "get",
    secure: rng.integer(3) > 0,
    host: rng.pick(hosts),
    path: rng.pick(["/a/b/c", "/a/b", "/ab/c", "/a/bc", "/x"]),
  });
  const events = range(count).map(set);
  for (const index of range(gets))
    events.splice(Math.max(2, Math.floor((events.length * (index + 1)) / gets)), 0, get());
  const problem = { events };
  const { items, checked } = headers(problem, "right");
  if (items.filter((item) => item === "-").length > 0.4 * gets || !items.some((item) => item.includes(" ")))
    return null;
  const misses = (["prefix", "suffix", "order"] as const).map((slip) => headers(problem, slip).items);
  return { problem, items, misses, effort: checked + count };
}

/** Slips: paths and domains as plain prefixes and suffixes, or creation order alone. */
function headers({ events }: CookieProblem, how: "right" | "prefix" | "suffix" | "order") {
  let jar: {
    name: string;
    value: string;
    domain: string;
    isExact: boolean;
    path: string;
    secure: boolean;
    ends: number;
  }[] = [];
  let checked = 0;
  const items: string[] = [];
  for (const [minute, event] of events.entries()) {
    jar = jar.filter(({ ends }) => ends > minute);
    if (event.do === "set") {
      const { host, path, name, value, domain, scope, secure, life } = event.setting;
      if (domain !== null && !isBelow(host, domain)) continue;
      const own = {
        name,
        value,
        domain: domain ?? host,
        isExact: domain === null,
        path: scope ?? (path.slice(0, path.lastIndexOf("/")) || "/"),
        secure,
        ends: life === null ? Infinity : minute + life,
      };
      const place = jar.findIndex((one) => one.name === name && one.domain === own.domain && one.path === own.path);
      if (place < 0) jar.push(own);
      else jar[place] = own;
      continue;
    }
    checked += jar.length;
    const sent = jar.filter((one) => {
      const onHost = one.isExact
        ? event.host === one.domain
        : how === "suffix"
          ? event.host.endsWith(one.domain)
          : isBelow(event.host, one.domain);
      const onPath =
        how === "prefix"
          ? event.path.startsWith(one.path)
          : event.path === one.path || event.path.startsWith(one.path.endsWith("/") ? one.path : `${one.path}/`);
      return onHost && onPath && (event.secure || !one.secure);
    });
    if (how !== "order") sent.sort((a, b) => b.path.length - a.path.length);
    items.push(sent.map(({ name, value }) => `${name}=${value}`).join(" ") || "-");
  }
  return { items, checked };
}

function isBelow(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`);
}
