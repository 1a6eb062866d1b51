/** When trainer and orchestrator go back to a checkpoint, the other processes keep their files. */
import { expect, test } from "vitest";

import { isOfOthers } from "../../../../ts/launcher/run/recovery.ts";

test.each([
  "inference-0.json",
  "env-worker-12.json",
  "failure-inference-0.json",
  // A server that starts just then is about to give this file its name, and ends when the file is gone.
  ".inference-0.json.29820.adf3b03b.tmp",
])("%s is of a process that stays", (name) => {
  expect(isOfOthers(name)).toBe(true);
});

test.each(["trainer-0.json", ".trainer-0.json.1.ab.tmp", "orchestrator-0.json", "failure-trainer-0.json"])(
  "%s is of a process that goes back",
  (name) => {
    expect(isOfOthers(name)).toBe(false);
  },
);
