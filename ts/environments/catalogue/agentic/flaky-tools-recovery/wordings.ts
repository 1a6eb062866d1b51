/** The prompts of flaky-tools-recovery: each says the services' protocols, what can go wrong, and what the end has to be. */
import type { Instance, Service } from "./instance.ts";

const FAULTS =
  'A request whose answer is "timeout" was carried out, is carried out later, was carried out for a part of its amount (without keys only), or is lost; the answer does not tell which. "busy" means that nothing was done. "accepted" from a service without keys means at least once: rarely it carries a request out a second time, if it can undo. "declined" is final for the whole job. An undo that times out may or may not have been done.';
const GOAL =
  "A job without a declined step is done when each of its steps has effects that add up to exactly its amount. A job with a declined step is undone when none of its effects is left, so every effect that it has must be undone. Effects that arrive after you have stopped count too.";
const AUDIT =
  "Each job needs one entry in the audit log, `done` or `undone`, which must be true in the end. An effect too many or a false entry costs as much as a right job earns; a job without an entry earns nothing.";

export const PROMPTS: readonly ((instance: Instance) => string)[] = [
  (one) =>
    `Bring every job to its end, exactly once, through services that fail.\n\n${GOAL} ${AUDIT}\n\nServices:\n${protocols(one)}\n\n${FAULTS}\n\n${before(one)}It is minute 0; after minute ${one.deadline} nothing can be asked, undone or entered.`,
  (one) =>
    `You take over a queue of jobs on a bad day of the network.\n\n${before(one)}${FAULTS}\n\nWhat the services promise:\n${protocols(one)}\n\n${GOAL}\n\n${AUDIT} Time runs in minutes from 0, and all has to be in place by minute ${one.deadline}.`,
  (one) =>
    `Deadline: minute ${one.deadline}; now is minute 0. Until then carry out the steps of all jobs, none of them twice, and take back what belongs to jobs that a service declines.\n\nProtocols\n${protocols(one)}\n\nFaults\n${FAULTS}\n\nEnd\n${GOAL} ${AUDIT}${one.earlier.length > 0 ? `\n\n${before(one)}` : ""}`,
  (one) =>
    `${AUDIT} ${GOAL}\n\nThe steps go through these services, in any order you like:\n${protocols(one)}\n\nThey are not reliable. ${FAULTS} ${before(one)}You have ${one.deadline} minutes, counted from now; later calls are refused.`,
];

function before({ earlier }: Instance): string {
  return earlier.length === 0
    ? ""
    : "A worker before you stopped in the middle; its requests are in the log and may have effects, or still get them. ";
}

function protocols({ services }: Instance): string {
  return services.map(protocol).join("\n");
}

function protocol({ name, keyed, lag, settling, undoable }: Service): string {
  const keys =
    keyed === null
      ? "takes no keys"
      : `takes keys: for ${keyed} minutes after a request with effects, the same request with the same key has no further effect and is answered like the first (afterwards the key is forgotten)`;
  const undo = undoable ? "can undo" : "cannot undo and never declines";
  return `- ${name}: ${keys}; a request has its effects within ${settling} minutes or never; shows effects, and that they are undone, ${lag} minutes late; ${undo}.`;
}
