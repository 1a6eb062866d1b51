// An MCP server made with the official SDK, as a test's tools: on standard input and output, or with `http` as argument on a free port whose
// address it prints.
import { createServer } from "node:http";

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

function makeServer() {
  const server = new McpServer({ name: "test", version: "1.0.0" });
  let calls = 0;
  const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
  server.registerTool(
    "add",
    { description: "adds two numbers", inputSchema: { a: z.number(), b: z.number() } },
    ({ a, b }) => text(a + b),
  );
  server.registerTool("count", { description: "counts its calls" }, () => text((calls += 1)));
  server.registerTool("variable", { description: "a variable" }, () => text(process.env.SECRET_OF_THE_TEST ?? "unset"));
  server.registerTool("process", { description: "its number" }, () => text(process.pid));
  server.registerTool("fail", { description: "fails" }, () => {
    throw new Error("no luck");
  });
  server.registerTool("hang", { description: "never ends" }, () => new Promise(() => undefined));
  server.registerTool("die", { description: "ends the server" }, () => process.exit(3));
  server.registerTool("picture", { description: "a picture" }, () => ({
    content: [{ type: "image", data: "AAAA", mimeType: "image/png" }],
  }));
  return server;
}

if (process.argv[2] === "http") {
  const http = createServer((request, response) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    void makeServer()
      .connect(transport)
      .then(() => transport.handleRequest(request, response));
  });
  http.listen(0, "127.0.0.1", () => process.stdout.write(`http://127.0.0.1:${http.address().port}/mcp\n`));
} else {
  process.stderr.write("ready\n");
  await makeServer().connect(new StdioServerTransport());
}
