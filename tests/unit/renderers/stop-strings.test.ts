import { expect, test } from "vitest";

import { withoutStop } from "../../../ts/renderers/index.ts";

test.each([
  [{ content: "a STOP", reasoning: null }, "STOP", { content: "a", reasoning: null }],
  // What the last token says behind it goes too.
  [{ content: "a; b;c", reasoning: "a; b" }, ";", { content: "a; b", reasoning: "a; b" }],
  // Blanks at the end of a reply have been left out.
  [{ content: "a END", reasoning: null }, "END\n", { content: "a", reasoning: null }],
  [{ content: "a b", reasoning: null }, "\n", { content: "a b", reasoning: null }],
  // Thinking that was stopped has nothing behind it.
  [{ content: "", reasoning: "hm STOP" }, "STOP", { content: "", reasoning: "hm" }],
  [{ content: "a STOP", reasoning: null }, 7, { content: "a STOP", reasoning: null }],
  [{ content: "a STOP", reasoning: null }, null, { content: "a STOP", reasoning: null }],
])("%j that %j ended is %j", (reply, stop, rest) => {
  expect(withoutStop(reply, stop)).toEqual(rest);
});
