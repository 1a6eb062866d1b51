/** incident-operations: a cluster fails in virtual time; the policy finds the cause, acts under delays and side effects, and reports. */
import { z } from "zod";

import { defineWorldRow, type Family, type WorldRow, worldTool } from "../../row.ts";
import { type Action, CAUSES } from "./cluster.ts";
import { blanketsOf, make, scriptOf, slipsOf } from "./generator.ts";
import { grade, Incident, type Instance, rightShare, wonShare } from "./incident.ts";
import { PROMPTS } from "./wordings.ts";

const nothing = z.object({});
const target = z.string().max(40);
const service = z.object({ target: target.describe("a service") });
const store = z.object({ target: target.describe("a store") });

function ordered(incident: Incident, action: Action): Record<string, unknown> {
  incident.act(action);
  return { ordered: action.kind, target: action.target, minute: incident.cluster.minute };
}

const tools = {
  status: worldTool<Incident, typeof nothing>({
    description: "The last minutes of every service and store: arrivals, tries, served, failed, waiting; takes no time",
    parameters: nothing,
    run: (incident) => incident.status(),
  }),
  logs: worldTool({
    description: "The log of a service, or of a store and its cache; takes a minute",
    parameters: z.object({ component: target }),
    run: (incident: Incident, { component }) => incident.logsOf(component).join("\n"),
  }),
  wait: worldTool({
    description: "Lets minutes pass",
    parameters: z.object({ minutes: z.int().min(1).max(10) }),
    run: (incident: Incident, { minutes }) => {
      incident.wait(minutes);
      return incident.status();
    },
  }),
  rollback: worldTool({
    description: "Brings the version before back to a service",
    parameters: service,
    run: (incident: Incident, args) => ordered(incident, { kind: "rollback", ...args }),
  }),
  restart: worldTool({
    description: "Restarts all instances of a service",
    parameters: service,
    run: (incident: Incident, args) => ordered(incident, { kind: "restart", ...args }),
  }),
  scale: worldTool({
    description: "Sets the number of instances of a service",
    parameters: service.extend({ instances: z.int().min(1).max(1_000) }),
    run: (incident: Incident, args) => ordered(incident, { kind: "scale", ...args }),
  }),
  retries: worldTool({
    description: "Sets how often a service tries a failed request again",
    parameters: service.extend({ retries: z.int().min(0).max(100) }),
    run: (incident: Incident, args) => ordered(incident, { kind: "retries", ...args }),
  }),
  warm: worldTool({
    description: "Fills the cache of a store",
    parameters: store,
    run: (incident: Incident, args) => ordered(incident, { kind: "warm", ...args }),
  }),
  failover: worldTool({
    description: "Moves a store to its second machine",
    parameters: store,
    run: (incident: Incident, args) => ordered(incident, { kind: "failover", ...args }),
  }),
  shed: worldTool({
    description: "Turns away a share of the requests of all services that read from a store, for some minutes",
    parameters: store.extend({ percent: z.int().min(1).max(100), minutes: z.int().min(1).max(60) }),
    run: (incident: Incident, args) => ordered(incident, { kind: "shed", ...args }),
  }),
  report: worldTool({
    description: "Closes the incident with its cause and the service or store that it is in",
    parameters: z.object({ cause: z.enum(CAUSES), component: target }),
    run: (incident: Incident, { cause, component }) => {
      incident.close(cause, component);
      return "closed";
    },
  }),
};

const row: WorldRow = defineWorldRow<Instance, Incident>({
  id: "incident-operations",
  asks: "a failing cluster in virtual time: find the cause, act under delays and side effects, keep requests served, report",
  make,
  effort: ({ services, stores, harmless }) => 10 * services.length + 5 * stores.length + 3 * harmless.length,
  canonical: ({ services, stores, fault }) => [services, stores, fault],
  prompts: PROMPTS,
  tools,
  world: (instance) => new Incident(instance),
  gold: (instance) => scriptOf(instance, instance.plan),
  slips: slipsOf,
  blankets: blanketsOf,
  grade,
  parts: (instance, incident) => ({
    won: wonShare(instance, incident),
    report: rightShare(instance, incident),
    [`cause/${instance.fault.cause.replaceAll(" ", "-")}`]: grade(instance, incident),
  }),
});

export const incidentOperations: Family<WorldRow> = { id: "incident-operations", rows: [row] };
