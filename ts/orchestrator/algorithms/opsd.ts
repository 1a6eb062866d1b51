/**
 * On-policy self-distillation: the teacher of `opd.ts` is the policy itself, with its current weights, that was given a hint (a worked
 * solution, say) in front of the task. What it would have said had it known is what it learns to say without.
 *
 * Source: prime-rl's `opsd`: a template with the hint before the user's first message, the sampled tokens behind it unchanged.
 * That teacher moves with the policy, and nothing teaches it to go on reading the hint: once the policy has learnt what there is to learn, both
 * drift off together, sooner or later at any learning rate (KL near 0, then growing, the reward falling). Stop there, by evaluations, or, our
 * addition, name a `teacher` that stands still: the model that the run began with, served beside it.
 * The scored sequence is the hinted prompt and then, verbatim, every token of the branch after its own first prompt.
 */
import type { Message } from "../../environments/index.ts";

/** What turns a prompt into tokens. */
export interface HintRenderer {
  render: (messages: readonly Message[], tools: readonly unknown[] | undefined) => Uint32Array;
  encode: (text: string) => Uint32Array;
}

/** Where the hint goes. */
export interface Prompt {
  /** Messages before the first reply. */
  messages: readonly Message[];
  /** A raw text, which no template touched. */
  isText: boolean;
  tools?: readonly unknown[];
}

/** The tokens of the prompt with the hint in front of its first message of the user, or of the first when there is none. */
export function hintedPrompt(
  { messages, isText, tools }: Prompt,
  hint: string,
  template: string,
  renderer: HintRenderer,
): Uint32Array {
  const text = template.replaceAll("{hint}", () => hint);
  const asked = Math.max(
    0,
    messages.findIndex(({ role }) => role === "user"),
  );
  const hinted = messages.map((message, i) =>
    i === asked ? { ...message, content: text + message.content } : message,
  );
  return isText ? renderer.encode(hinted.map(({ content }) => content).join("")) : renderer.render(hinted, tools);
}
