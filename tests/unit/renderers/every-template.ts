/** Every chat template of this repository by a name. Run as a program, it prints them as JSON, for the script that makes the fixtures. */
import { readFileSync } from "node:fs";

import { FAMILIES } from "../../../ts/renderers/families.ts";
import * as templates from "./templates.ts";

const configured = ["reverse-text", "small-chat"].map((name): [string, string] => {
  const path = new URL(`../../../configs/${name}/model/tokenizer_config.json`, import.meta.url);
  const { chat_template: template } = JSON.parse(readFileSync(path, "utf8")) as { chat_template: string };
  return [`configs/${name}`, template];
});
const families = Object.values(FAMILIES).flatMap(({ name, template }): [string, string][] => {
  return template === null ? [] : [[`families/${name}`, template]];
});

export const EVERY_TEMPLATE: Readonly<Record<string, string>> = Object.fromEntries([
  ...Object.entries(templates),
  ...families,
  ...configured,
]);

if (process.argv[1]?.endsWith("every-template.ts") === true) process.stdout.write(JSON.stringify(EVERY_TEMPLATE));
