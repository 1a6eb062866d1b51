/** Conversations of a rollout as HTML. Their texts are foreign. */
import { html, type Html } from "../../../../html.ts";

export interface ShownConversation {
  readonly agent: string;
  /** `calls`: tool calls, `name arguments`. */
  readonly messages: readonly { readonly role: string; readonly content: string; readonly calls: readonly string[] }[];
}

export function conversationsHtml(conversations: readonly ShownConversation[]): Html[] {
  return conversations.map(
    ({ agent, messages }) =>
      html`${conversations.length > 1 ? `agent ${agent}` : ""}${messages.map(
        ({ role, content, calls }) =>
          html`<p class="small">${role}</p>
            <pre>${[content, ...calls.map((call) => `calls ${call}`)].filter((line) => line !== "").join("\n")}</pre>`,
      )}`,
  );
}
