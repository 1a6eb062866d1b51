/** The text of a pass of `prl env dev`: the checks that did not pass, and sample rollouts. */
import type { CheckRow } from "../../environments/internal.ts";
import type { Said, SampleRollout } from "./sample-rollouts.ts";

/** Most failures of one check that are shown. */
const SHOWN = 3;
const LONGEST_TEXT = 1_500;
const LONGEST_FAILURE = 400;

/** No line for a check that passed. */
export function passText({ check, status, what, failures }: CheckRow): string[] {
  if (status === "not checked") return [`  ${check}: not checked, ${what}`];
  if (status !== "failed") return [];
  const lines = failures.slice(0, SHOWN).map(({ split, task, message }) => {
    const where = [split, task === null ? null : `task ${task}`].filter((part) => part !== null).join(" ");
    return `  ${check} failed${where === "" ? "" : ` (${where})`}: ${cut(message, LONGEST_FAILURE)}`;
  });
  const more = failures.length - SHOWN;
  return more > 0 ? [...lines, `  ... and ${more} more`] : lines;
}

export function sampleText({ task, by, conversations, reward, scores, stop, error }: SampleRollout): string[] {
  const who = { model: "as the model plays it", gold: "with its gold reply", nothing: "without a reply" }[by];
  const values = Object.entries(scores).map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`);
  const end = [
    ...(reward === null ? [] : [`reward ${Number(reward.toPrecision(4))}`]),
    ...values,
    ...(stop === null ? [] : [stop]),
    ...(error === null ? [] : [`error: ${error}`]),
  ];
  return [
    `  -- task ${task}, ${who}`,
    ...conversations.flatMap(({ agent, messages }) => [
      ...(conversations.length > 1 ? [`     agent ${agent}`] : []),
      ...messages.map(messageText),
    ]),
    `     => ${end.length === 0 ? "no reply to score: its validate() scores none" : end.join(", ")}`,
  ];
}

function messageText({ role, content, calls }: Said): string {
  const text = [...(content === "" ? [] : [cut(content, LONGEST_TEXT)]), ...calls.map((call) => `calls ${call}`)].join(
    "\n",
  );
  return `     ${role}: ${text.replaceAll("\n", "\n       ")}`;
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}... (${text.length - most} more characters)` : text;
}
