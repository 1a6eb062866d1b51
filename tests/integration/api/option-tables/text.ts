/** Options of `prl-lm/tokenizer`. */
import { encodeBeginning, opensThinking } from "../../../../ts/renderers/internal.ts";
import { loadRenderer, loadTokenizer, type Renderer, type Tokenizer } from "../../../../ts/renderers/index.ts";
import type { OptionTable } from "./table.ts";

let dir: string;
export let tokenizer: Tokenizer;
export let renderer: Renderer;
export async function openText(model: string): Promise<void> {
  dir = model;
  tokenizer = await loadTokenizer(dir);
  renderer = await loadRenderer(dir);
}

const T = { code: "PRL_TOKENIZER" };
const CHAT = { code: "PRL_TEMPLATE" };
const ids = Uint32Array.of(1, 2);
const user = [{ role: "user", content: "a" }];

export const TEXT: OptionTable = {
  loadRenderer: {
    ...T,
    call: (more) => loadRenderer(dir, more),
    wrong: { earlierThinking: "drop", templateKwargs: [] },
  },
  encodeBeginning: {
    ...T,
    call: (more) => encodeBeginning({ tokenizer, renderer }, { thinks: false, ...more }),
    wrong: { begun: 1, call: 2, thinks: "yes" },
  },
  opensThinking: {
    ...CHAT,
    call: (more) => opensThinking({ tokenizer: { decode: () => "<think>" }, renderer }, ids, user, more),
    wrong: { tools: "search" },
  },
  "Tokenizer.encode": { ...T, call: (more) => tokenizer.encode("a", more), wrong: { addSpecialTokens: "no" } },
  "Tokenizer.encodeAsync": { ...T, call: (more) => tokenizer.encodeAsync("a", more), wrong: { addSpecialTokens: 1 } },
  "Tokenizer.decode": { ...T, call: (more) => tokenizer.decode(ids, more), wrong: { skipSpecialTokens: "no" } },
  "Tokenizer.decodeStream": {
    ...T,
    call: (more) => tokenizer.decodeStream(more),
    wrong: { skipSpecialTokens: 1, stop: 13 },
  },
  "Tokenizer.applyChatTemplate": {
    ...CHAT,
    call: (more) => tokenizer.applyChatTemplate(user, more),
    wrong: { tools: {}, addGenerationPrompt: "yes", templateKwargs: 1, chatTemplate: 1, assistantMask: "yes" },
  },
  "Tokenizer.chatText": { ...CHAT, call: (more) => tokenizer.chatText(user, more), wrong: { assistantMask: true } },
  "Renderer.render": {
    ...CHAT,
    call: (more) => renderer.render(user, more),
    wrong: { tools: "search", addGenerationPrompt: 1 },
  },
  "Renderer.renderAsync": { ...CHAT, call: (more) => renderer.renderAsync(user, more), wrong: { tools: 1 } },
  "Renderer.renderReply": {
    ...CHAT,
    call: (more) => renderer.renderReply(user, { role: "assistant", content: "b" }, more),
    wrong: { addGenerationPrompt: true },
  },
  "Renderer.renderReplyAsync": {
    ...CHAT,
    call: (more) => renderer.renderReplyAsync(user, { role: "assistant", content: "b" }, more),
    wrong: { addGenerationPrompt: true },
  },
  "Renderer.bridgeToNextTurn": {
    ...CHAT,
    call: (more) => renderer.bridgeToNextTurn(ids, ids, user, more),
    wrong: { tools: 1 },
  },
  "Renderer.bridgeToNextTurnAsync": {
    ...CHAT,
    call: (more) => renderer.bridgeToNextTurnAsync(ids, ids, user, more),
    wrong: { tools: 1 },
  },
  "Renderer.replyOpening": { ...CHAT, call: (more) => renderer.replyOpening(user, more), wrong: { tools: 1 } },
  "Renderer.grow": {
    ...T,
    call: (more) => renderer.grow({ thinks: false, tools: false, stop: [], ...more }),
    wrong: { thinks: 1, tools: [], stop: "b" },
  },
};
