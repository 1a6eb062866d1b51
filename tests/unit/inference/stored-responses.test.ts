/** The memory that stored responses take has a bound, however long their conversations are. */
import { expect, it } from "vitest";

import { StoredResponses } from "../../../ts/inference/dialects/stored-responses.ts";

const LONG = "x".repeat(4 * 1024 * 1024);

it("a conversation counts with each response that continues it, and the oldest make place", () => {
  const kept = new StoredResponses();
  const long = { role: "user", content: LONG } as const;
  const short = { role: "user", content: "next" } as const;
  for (let id = 0; id < 20; id++) kept.keep(String(id), { answer: {}, conversation: [long, short] });
  expect(kept.size).toBe(15);
  expect(kept.get("19")).not.toBeNull();
  expect(kept.get("0")).toBeNull();
  expect(kept.remove("19")).toBe(true);
  expect(kept.size).toBe(14);
});
