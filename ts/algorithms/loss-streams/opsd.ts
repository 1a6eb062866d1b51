/**
 * On-policy self-distillation: the teacher of `opd.ts` is the policy itself, with its current weights, and with a hint (a worked
 * solution, say) in front of the task. The policy learns to answer without the hint as it would answer with it.
 *
 * Source: prime-rl's `opsd`: a template with the hint before the user's first message, the sampled tokens behind it unchanged.
 * That teacher moves with the policy, and nothing trains it to keep reading the hint: once the policy has learnt what the hint adds, both
 * drift away together, sooner or later at any learning rate (KL is near 0, then grows; the reward falls). Evaluate and stop there, or, our
 * addition, name a frozen `teacher`: the model that the run began with, served beside it.
 * The scored sequence is the hinted prompt and then, verbatim, every token of the branch after its own first prompt.
 */
import type { Message } from "../../message.ts";

/** Turns a prompt into tokens; a long one takes longer than the thread of the orchestrator may stand still. */
export interface HintRenderer {
  render: (messages: readonly Message[], tools: readonly unknown[] | undefined) => Promise<Uint32Array>;
  encode: (text: string) => Promise<Uint32Array>;
}

/** Where the hint goes. */
export interface Prompt {
  /** Messages before the first reply. */
  messages: readonly Message[];
  /** The prompt is raw text without a template. */
  isText: boolean;
  tools?: readonly unknown[];
}

/** The tokens of the prompt with the hint in front of its first user message, or of its first message when it has no user message. */
export async function hintedPrompt(
  { messages, isText, tools }: Prompt,
  hint: string,
  template: string,
  renderer: HintRenderer,
): Promise<Uint32Array> {
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
