import { expect, it } from "vitest";

import { Changes } from "../../../ts/async/changes.ts";

it("waits for no change under a signal that is aborted already", { timeout: 5_000 }, async () => {
  const changes = new Changes();
  await changes.next(600_000, AbortSignal.abort());
  expect(changes.waiting).toBe(0);
});
