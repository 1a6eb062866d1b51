/** Which prompts are scored where several wait for a slot. */
import { expect, test } from "vitest";

import { Slots } from "../../../../ts/async/slots.ts";
import type { ServerContext } from "../../../../ts/inference/context.ts";
import { scorePrompt } from "../../../../ts/inference/requests/prompt-scores.ts";

test("a prompt whose client has left while it waited is not scored", async () => {
  const scored: number[] = [];
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const model = {
    stats: () => ({ version: 3, digest: "d" }),
    async logprobs(ids: Uint32Array) {
      scored.push(ids.length);
      await gate;
      return new Float32Array(ids.length);
    },
  };
  const context = { model, scorings: new Slots(1) } as unknown as ServerContext;
  const left = new AbortController();
  const score = (length: number, signal = new AbortController().signal) =>
    scorePrompt(context, new Uint32Array(length), null, signal);
  const [first, second, third] = [score(1), score(2, left.signal), score(3)];
  left.abort(new Error("the client closed the connection"));
  await expect(second).rejects.toThrow("the client closed the connection");
  open();
  expect((await first).version).toBe(3);
  expect((await third).tokenIds).toHaveLength(3);
  expect(scored).toEqual([1, 3]);
});
