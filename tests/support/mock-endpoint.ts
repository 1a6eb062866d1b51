/** A model endpoint that does what a test tells it, misbehaving included. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface MockRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

/** What is answered: an object as JSON with status 200, or whatever the function does with the response. */
export type MockAnswer = Record<string, unknown> | ((response: ServerResponse, socket: Socket) => void);

export interface MockEndpoint {
  url: string;
  requests: MockRequest[];
  close(): Promise<void>;
}

/** `answer` is asked for every request, with its number from 0 on. */
export async function mockEndpoint(
  answer: (request: MockRequest, index: number) => MockAnswer | Promise<MockAnswer>,
): Promise<MockEndpoint> {
  const requests: MockRequest[] = [];
  const server = createServer((message, response) => {
    let text = "";
    message.on("data", (chunk) => (text += String(chunk)));
    message.on("end", () => {
      const request = {
        path: message.url ?? "",
        headers: message.headers,
        body: JSON.parse(text) as Record<string, unknown>,
      };
      requests.push(request);
      void Promise.resolve(answer(request, requests.length - 1)).then((said) => {
        if (typeof said === "function") said(response, message.socket);
        else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(said));
      });
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

/** An answer with this status and body. */
export function status(code: number, body: unknown, headers: Record<string, string> = {}): MockAnswer {
  return (response) => {
    response.writeHead(code, headers).end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

/** A chat completion that says `content`. */
export function chatCompletion(content: string, message: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content, ...message }, finish_reason: "stop" }],
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
  };
}
