import { Readable } from "node:stream";
import { afterEach, expect, test } from "vitest";

import { runCommandLine } from "../../../ts/cli/dispatch.ts";
import { chatCompletion, mockEndpoint, type MockEndpoint } from "../../support/mock-endpoint.ts";

let mock: MockEndpoint | undefined;
afterEach(() => mock?.close());

test("prl chat sends the whole conversation with each line", async () => {
  mock = await mockEndpoint((_, index) => chatCompletion(`reply ${index}`));
  const said = { stdout: "", stderr: "" };
  const code = await runCommandLine(
    ["chat", "m", "--base-url", mock.url, "--system", "be brief", "--temperature", "0", "--seed", "3"],
    {
      stdin: Readable.from(["one\n", "\n", "two"]),
      stdout: { write: (text) => (said.stdout += text) },
      stderr: { write: (text) => (said.stderr += text) },
      env: {},
      cwd: ".",
    },
  );
  expect([code, said]).toEqual([0, { stdout: "reply 0\nreply 1\n", stderr: "" }]);
  expect(mock.requests.map(({ body }) => [body["temperature"], body["seed"]])).toEqual([
    [0, 3],
    [0, 4],
  ]);
  expect(mock.requests[1]?.body["messages"]).toEqual([
    { role: "system", content: "be brief" },
    { role: "user", content: "one" },
    { role: "assistant", content: "reply 0" },
    { role: "user", content: "two" },
  ]);
});
