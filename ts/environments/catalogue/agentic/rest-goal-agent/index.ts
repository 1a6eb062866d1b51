/** rest-goal-agent: records are brought into a wanted state through an HTTP interface that was drawn with its documentation and its traps. */
import { z } from "zod";

import { at } from "../../lists.ts";
import { type Call, defineWorldRow, type Family, type Script, type WorldRow, worldTool } from "../../row.ts";
import { call } from "../records.ts";
import { reached } from "./client.ts";
import { drawInstance } from "./generator.ts";
import { grade, passedParts } from "./goals.ts";
import { type Instance, type Neglect, referenceOf } from "./instance.ts";
import { Server } from "./server.ts";
import { documentation, PROMPTS } from "./wordings.ts";

const SLIPS: Readonly<Record<Neglect, string>> = {
  session: "does not ask for a second token",
  versions: "sends the version from before the unlocking",
  replace: "puts the changed field alone",
  jobs: "takes a job for the record",
  minor: "sends coins for cents",
  locks: "leaves locks open",
  pages: "reads the first page only",
  conditions: "gives all records the amount",
  condition: "forgets the condition on the record above",
  "last goal": "leaves the last goal out",
  below: "deletes before it moves",
};

const nothing = z.object({});
const tools = {
  read_documentation: worldTool<Server, typeof nothing>({
    description: "What the interface offers and demands. It is no request",
    parameters: nothing,
    run: ({ instance }) => documentation(instance),
  }),
  request: worldTool({
    description: "Sends one request and shows status and body of the answer",
    parameters: z.object({
      method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]),
      path: z.string().max(200),
      body: z.record(z.string().max(40), z.unknown()).optional().describe("a JSON object"),
      token: z.string().max(60).optional(),
      if_version: z.int().optional(),
    }),
    run: (server: Server, request) => server.send(request),
  }),
};

const row: WorldRow = defineWorldRow<Instance, Server>({
  id: "rest-goal-agent",
  asks: "bring records into a wanted state through a drawn HTTP interface with documentation, quirks and a budget, and change nothing else",
  make: drawInstance,
  effort: (instance) => reached(instance).calls.length,
  canonical: skeleton,
  prompts: PROMPTS,
  tools,
  world: (instance) => new Server(instance),
  gold: (instance) => reached(instance).calls,
  slips: (instance) => ({
    ...Object.fromEntries(instance.traps.map((neglect) => [SLIPS[neglect], reached(instance, neglect).calls])),
    "renames a record that no goal speaks of": [...reached(instance).calls, ...renamed(instance)],
    "creates one record more": [...reached(instance).calls, ...created(instance)],
  }),
  blankets: (instance) => ({
    "deletes all middle records": deleted(instance, 1),
    "deletes all lowest records": deleted(instance, 2),
    ...(instance.goals.some(({ goal }) => goal === "set")
      ? { "gives all lowest records the amount": everywhere(instance) }
      : {}),
  }),
  grade: (instance, server) => grade(instance, server.end()),
  parts: (instance, server) => passedParts(instance, server.end()),
});

export const restGoalAgent: Family<WorldRow> = { id: "rest-goal-agent", rows: [row] };

/** The API's properties, the goals and the shape of the records, without names. */
function skeleton({ api, records, goals }: Instance): unknown {
  const place = new Map(records.map(({ id }, index) => [id, index]));
  return [
    [...api.quirks].toSorted(),
    api.paging,
    goals.map(({ goal }) => goal).toSorted(),
    records.map(({ parent, fields, locked }) => [place.get(parent ?? "") ?? null, Object.values(fields), locked]),
  ];
}

interface Sent {
  readonly if_version?: number;
  readonly token?: string;
}

/** A new session, as far as the API has any. */
function opened(server: Server, calls: Call[]): Sent {
  const { api, key } = server.instance;
  if (!api.quirks.includes("session")) return {};
  const request = { method: "POST" as const, path: "/sessions", body: { key } };
  calls.push(call("request", request));
  const { token = "" } = server.send(request).body as { token?: string };
  return { token };
}

/** Further calls after the gold script: the first of the highest records gets another name. */
function renamed(instance: Instance): Script {
  const { server } = reached(instance);
  const { api } = instance;
  const calls: Call[] = [];
  const sent = opened(server, calls);
  const one = at(
    server.end().filter(({ level }) => level === 0),
    0,
  );
  const path = `/${api.kinds[0].plural}/${one.id}`;
  const shown = server.send({ method: "GET", path, ...sent }).body as { version?: number };
  const version = shown.version === undefined ? {} : { if_version: shown.version };
  const method = api.quirks.includes("replace") ? "PUT" : "PATCH";
  const request = { method, path, body: { ...one.fields, name: "Other" }, ...sent, ...version };
  return [...calls, call("request", { method: "GET", path, ...sent }), call("request", request)];
}

function created(instance: Instance): Script {
  const { api, records } = instance;
  const calls: Call[] = [];
  const sent = opened(reached(instance).server, calls);
  const { plural, choice, options } = api.kinds[1];
  const above = at(records, 0).id;
  const body = { name: "Other", [choice]: at(options, 0), [referenceOf(api, 1) ?? ""]: above };
  return [...calls, call("request", { method: "POST", path: `/${plural}`, body, ...sent })];
}

function everywhere(instance: Instance): Script {
  return reached({ ...instance, goals: instance.goals.filter(({ goal }) => goal === "set") }, "conditions").calls;
}

/** Deletes every record of a level, with its first version and without looking at conditions. */
function deleted(instance: Instance, level: 1 | 2): Script {
  const { api, records } = instance;
  const calls: Call[] = [];
  const server = new Server(instance);
  const sent = opened(server, calls);
  const requests = records.flatMap((one, index): Call[] => {
    if (one.level !== level) return [];
    const above = level === 2 && api.quirks.includes("nested") ? `/${api.kinds[1].plural}/${one.parent ?? ""}` : "";
    const version = api.quirks.includes("versions") ? { if_version: 1 + (index % 7) } : {};
    const path = `${above}/${api.kinds[level].plural}/${one.id}`;
    return [call("request", { method: "DELETE", path, ...sent, ...version })];
  });
  return [...calls, ...requests];
}
