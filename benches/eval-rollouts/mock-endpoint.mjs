// An endpoint for chats and texts that always gives the same answer, on a free port, which it prints. It ends with its standard input.
import { createServer } from "node:http";

const body = Buffer.from(
  JSON.stringify({
    id: "chatcmpl-0",
    object: "chat.completion",
    created: 1,
    model: "mock",
    choices: [
      { index: 0, finish_reason: "stop", text: "gnirts a", message: { role: "assistant", content: "gnirts a" } },
    ],
    usage: { prompt_tokens: 24, completion_tokens: 12, total_tokens: 36 },
  }),
);
const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
    response.end(body);
  });
});
server.keepAliveTimeout = 120_000;
server.listen({ port: 0, host: "127.0.0.1", backlog: 8192 }, () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  console.log(port);
});
process.stdin.resume().on("end", () => process.exit(0));
