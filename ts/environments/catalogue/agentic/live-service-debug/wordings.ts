/** The prompts of live-service-debug. */
import { at } from "../../lists.ts";
import { complaintText } from "./generator.ts";
import { DOWN, type Instance, TEST_ACCOUNTS } from "./live.ts";
import { DOMAINS } from "./source.ts";

const TOOLS = `Every call of yours takes a minute, in which clients go on sending requests; a restart takes ${DOWN.save} minutes if it saves the queue and ${DOWN.kill} if it does not, and then the jobs that wait are lost. While the service restarts, or cannot be started, requests are refused. An edit counts from the next restart on. The store outlives a restart, the cache begins empty. The backup is of last night: what came since is lost with it. Requests of yours may use the accounts ${TEST_ACCOUNTS.join(", ")} only.`;
const SOURCE =
  "The files handler, store, cache and queue are one program in a small part of Python: functions, if, while, return, assignments, calls, lists in brackets, whole numbers, texts. get, put, drop, size, oldest and newest (key) work on tables, now() is the minute; work() runs at the begin of each minute.";
const SCORE =
  "The score is the square of the share of hidden tests that the running service passes at the end (one for each fault, one for the whole), times the square of the share of queued jobs that no restart has lost, times the square of the requests that were answered, compared with a single restart that saves the queue. After the backup was brought back it is 0.";

export const PROMPTS: readonly ((instance: Instance) => string)[] = [
  (one) =>
    `You are on call this week. ${begun(one)} ${complaintText(one)}\n\n${rulesText(one)}\n\n${SOURCE}\n\n${TOOLS}\n\n${SCORE}`,
  (one) =>
    `How the service has to work:\n\n${rulesText(one)}\n\n${begun(one)} Find what is wrong in the source, repair it, restart once, and lose nothing.\n\n${complaintText(one)}\n\n${SCORE}\n\n${TOOLS}\n${SOURCE}`,
  (one) =>
    `You take over a running service. ${SCORE}\n\n${TOOLS}\n\n${begun(one)}\n\n${SOURCE}\n\n${rulesText(one)}\n\n${complaintText(one)}`,
  (one) =>
    `Repair this service while it runs.\n- ${begun(one)}\n- ${SOURCE}\n- ${TOOLS}\n- ${SCORE}\n\nWhat is known: ${complaintText(one)}\n\nWhat is right:\n\n${rulesText(one)}`,
];

function begun({ rules, faults, minutes }: Instance): string {
  const { unit, owner } = at(DOMAINS, rules.domain);
  return `A service that counts the ${unit} of each ${owner} gives wrong answers since its last deploy; ${faults.length === 1 ? "one line of its source is" : `${faults.length} lines of its source are`} to blame. You have ${minutes} minutes.`;
}

function rulesText({ rules }: Instance): string {
  const { unit, owner, ops } = at(DOMAINS, rules.domain);
  const [show, add, take, move] = ops;
  const { fee, bonus, known, keep, batch, delay } = rules;
  return [
    `- A request has an op, a key, another key, an amount and an id. "${show}" answers the ${unit} of the ${owner} key, as the cache shows them. Every other op with an amount below 1 is answered "bad amount"${known === null ? "" : `; next, an id that was first used less than ${known} minutes ago is answered "repeated" (after ${known} minutes it counts as new, and is remembered anew)`}. An op that does not exist is "unknown".`,
    `- "${add}" adds the amount to the key${bonus === null ? "" : `, and one ${bonus[1]}th of it more (whole part) if it is ${bonus[0]} or above`}, and answers the ${unit} after it. An amount above ${rules.limit} is "too much".`,
    `- "${take}" takes the amount from the key${fee === null ? "" : ` with a fee of ${fee[0]} percent of it (whole part), but at least ${fee[1]}`}, and answers the ${unit} after it. If the store has less than is to be taken: "not enough".`,
    `- "${move}" takes the amount from the key at once, without a fee, and queues a job that adds it to the other key; it answers "queued". If the two keys are one: "same". If the store has less than the amount: "not enough".`,
    `- Queue: each minute at most ${batch} job${batch === 1 ? " is" : "s are"} done, the oldest first; a job is not done before it is ${delay} minute${delay === 1 ? "" : "s"} old, and the jobs behind it wait for it. Its amount goes into the store; a copy in the cache stays as it is.`,
    `- Cache: a value is copied when it is shown and no copy is valid. A copy is valid for less than ${keep} minutes (in minute m + ${keep} it is not any more), and until "${add}", "${take}" or "${move}" changes its key. A key that was never used has 0.`,
  ].join("\n");
}
