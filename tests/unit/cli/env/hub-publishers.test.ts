import { expect, test } from "vitest";

import { readPublishers } from "../../../../ts/cli/commands/hub/publishers.ts";

test("accounts are read by scope, and a star is all other packages", () => {
  expect([...readPublishers("@ada=ada+bob, @lab=carol.x,*=root")]).toEqual([
    ["@ada", ["ada", "bob"]],
    ["@lab", ["carol.x"]],
    ["*", ["root"]],
  ]);
});

test.each([
  "",
  "@ada",
  "@ada=",
  "@ada=a+",
  "ada=a",
  "@ada=$all",
  "@ada=a b",
  "@Ada=a",
  "@ada=a=b",
  "@ada/x=a",
  "@ada=a,",
  "*=a,*=b",
])("%j is refused, so that no package is open by mistake", (text) => {
  expect(() => readPublishers(text)).toThrow(expect.objectContaining({ code: "PRL_CLI_USAGE" }) as Error);
});
