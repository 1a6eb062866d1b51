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

test("prl chat sends the key that a variable has, and names the variable that has none", async () => {
  mock = await mockEndpoint(() => chatCompletion("reply"));
  const { url } = mock;
  const chat = async (env: Record<string, string>, ...more: string[]) => {
    let said = "";
    const write = (text: string) => (said += text);
    const io = { stdin: Readable.from(["one"]), stdout: { write }, stderr: { write }, env, cwd: "." };
    return [await runCommandLine(["chat", "m", "--api-key-env", "THE_KEY", ...more], io), said];
  };
  expect(await chat({ THE_KEY: "k-1" }, "--base-url", url)).toEqual([0, "reply\n"]);
  expect(mock.requests.map(({ headers }) => headers["authorization"])).toEqual(["Bearer k-1"]);
  expect(await chat({}, "--base-url", url)).toEqual([
    1,
    "prl: [PRL_INFERENCE_AUTH] the endpoint's key is to be in THE_KEY, which is not set\n",
  ]);
  expect(await chat({ THE_KEY: "k-1" })).toEqual([2, expect.stringContaining("--base-url: give both")]);
  expect(mock.requests).toHaveLength(1);
});
