// A client of the generate endpoint that reads a stream.
import { request as httpRequest } from "node:http";

/**
 * All tokens of a streamed answer; `onTokens` is called as soon as some arrive.
 *
 * @param {string} url
 * @param {object} body
 * @param {{ agent?: import("node:http").Agent, onTokens?: () => void }} options
 */
export function streamTokens(url, body, options = {}) {
  const { agent, onTokens = () => undefined } = options;
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" };
    const sent = httpRequest(`${url}/inference/v1/generate`, { method: "POST", agent, headers }, (response) => {
      const tokens = [];
      let rest = "";
      response.setEncoding("utf8");
      response.on("data", (text) => {
        const events = (rest + text).split("\n\n");
        rest = events.pop();
        for (const event of events) {
          if (!event.startsWith("data: {")) continue;
          const { choices, error } = JSON.parse(event.slice("data: ".length));
          if (error !== undefined) return reject(new Error(error.message));
          tokens.push(...choices[0].token_ids);
          onTokens();
        }
      });
      response.on("end", () => resolve(tokens));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(JSON.stringify({ ...body, stream: true }));
  });
}
