/** The prompts of incident-operations. */
import { CAUSES } from "./cluster.ts";
import type { Instance } from "./incident.ts";

const RULES = `Reading a log and every order take a minute; the status takes none. A scale-up works after 3 minutes, a rollback and a failover after 2; during a rollback half of the instances work, during a failover the store answers nothing, and its cache is half as warm afterwards. A restart takes one minute and loses what waits. Warming a cache takes 6 minutes and loads its store. A store that gets more queries than it can answer answers fewer than it could.`;
const CAUSE_LIST = `The causes that are known: ${CAUSES.join(", ")}. A leak does not end with a restart, it begins anew.`;
const SCORE = `What counts is the number of requests that are served to the end, compared with the best plan, times what the report leaves of it: all if cause and component are right, 15 percent if one of them is, else nothing. Without a report nothing counts. The report closes the incident; what was ordered goes on working.`;

export const PROMPTS: readonly ((instance: Instance) => string)[] = [
  (one) => `You are on call. ${begun(one)}\n\n${cluster(one)}\n\n${RULES}\n\n${CAUSE_LIST}\n\n${SCORE}`,
  (one) =>
    `${cluster(one)}\n\n${begun(one)} Find out what went wrong, keep the users served, and report.\n\n${SCORE}\n\n${CAUSE_LIST}\n${RULES}`,
  (one) =>
    `An alarm has gone off. ${SCORE}\n\nHow the tools work: ${RULES}\n\nThe system: ${cluster(one)}\n\n${begun(one)} ${CAUSE_LIST}`,
  (one) =>
    `Take over this incident.\n- ${begun(one)}\n- ${cluster(one)}\n- ${CAUSE_LIST}\n- ${RULES}\n- ${SCORE}\n\nBegin with the status.`,
];

function begun({ minutes }: Instance): string {
  return `It is minute 0; since minute -5 requests fail. In minute ${minutes} the incident is over whatever you do.`;
}

function cluster({ services, stores }: Instance): string {
  const reads = stores.map(
    ({ name }, index) =>
      `${services
        .filter(({ store }) => store === index)
        .map((one) => one.name)
        .join(", ")} read${services.filter(({ store }) => store === index).length === 1 ? "s" : ""} from ${name}`,
  );
  return `Services with queues answer requests and read from stores, each behind a cache of the store's name: ${reads.join("; ")}. A failed request is tried once more.`;
}
