/** How a job of the project holds its secret: its files with the secret in them, and with a reference instead. */
import { at } from "../../../lists.ts";

export const HOLDERS = [
  "constant",
  "ini",
  "json",
  "base64",
  "adjacent",
  "dotenv",
  "continued",
  "url",
  "shell",
  "hex",
] as const;
export type Holder = (typeof HOLDERS)[number];

/** A job that needs a secret. */
export interface Job {
  readonly name: string;
  readonly holder: Holder;
  /** Name in the vault. */
  readonly secret: string;
  readonly value: string;
  /** Name of its setting, and of a setting beside it that is no secret. */
  readonly setting: string;
  readonly other: string;
  /** A text that looks like a secret and is none. */
  readonly alike: string;
}

export type Texts = Readonly<Record<string, string>>;

const REFERENCE = "vault:";
export const LIBRARY = "vaultlib.py";

/** The project's own way to get a secret. */
export const LIBRARY_TEXT = `"""Secrets by reference: resolve("${REFERENCE}NAME") is the secret NAME, other texts stay as they are."""
import json
import os


def resolve(text):
    if not text.startswith("${REFERENCE}"):
        return text
    with open(os.environ.get("VAULT_FILE", "../vault.json")) as file:
        return json.load(file)[text[len("${REFERENCE}"):]]
`;

/** Arguments of a hidden run before its text. */
export function runOf({ name, holder }: Job): readonly string[] {
  return holder === "shell" ? ["sh", `jobs/${name}.sh`] : ["python3", `jobs/${name}.py`];
}

/** Files of a job: with its secret, or with a reference that its program resolves. */
export function filesOf(job: Job, isPurged: boolean): Texts {
  const { name, value, secret } = job;
  const held = isPurged ? `${REFERENCE}${secret}` : value;
  const { imports = "", read, files = {} } = partsOf(job, held, isPurged);
  const taken = isPurged ? `resolve(${read})` : read;
  const library = isPurged ? "\nsys.path.insert(0, os.getcwd())\nfrom vaultlib import resolve\n" : "";
  const source = `import hashlib
import hmac
import os
import sys
${imports}${library}

# signs the first argument
KEY = ${taken}
print(hmac.new(KEY.encode(), sys.argv[1].encode(), hashlib.sha256).hexdigest())
`;
  return { [`jobs/${name}.py`]: source, ...files };
}

interface Parts {
  readonly imports?: string;
  /** A Python expression. */
  readonly read: string;
  readonly files?: Texts;
}

function partsOf({ name, holder, setting, other, alike }: Job, held: string, isPurged: boolean): Parts {
  const conf = (ending: string): string => `conf/${name}.${ending}`;
  const half = Math.ceil(held.length / 2);
  const [first, second] = [held.slice(0, half), held.slice(half)];
  switch (holder) {
    case "constant":
      return { read: `"${held}"` };
    case "adjacent":
      return { read: isPurged ? `"${held}"` : `(\n    "${first}"\n    "${second}"\n)` };
    case "ini":
      return {
        imports: `import configparser\n\nini = configparser.RawConfigParser()\nini.read("${conf("ini")}")\n`,
        read: `ini["main"]["${setting}"]`,
        files: { [conf("ini")]: `[main]\n${other} = ${alike}\n${setting} = ${held}\n` },
      };
    case "json":
      return {
        imports: "import json\n",
        read: `json.load(open("${conf("json")}"))["${setting}"]["value"]`,
        files: { [conf("json")]: `${JSON.stringify({ [other]: alike, [setting]: { value: held } }, null, 2)}\n` },
      };
    case "base64":
    case "hex": {
      const encoded = Buffer.from(held, "latin1").toString(holder);
      const decode = holder === "hex" ? "bytes.fromhex" : "base64.b64decode";
      const text = `json.load(open("${conf("json")}"))["${setting}"]`;
      return {
        imports: "import base64\nimport json\n",
        read: isPurged ? text : `${decode}(${text}).decode()`,
        files: { [conf("json")]: `${JSON.stringify({ [setting]: isPurged ? held : encoded, [other]: alike })}\n` },
      };
    }
    case "dotenv":
      return {
        imports: `\nenv = dict(line.strip().split("=", 1) for line in open("${conf("env")}") if "=" in line)\n`,
        read: `env["${setting.toUpperCase()}"]`,
        files: { [conf("env")]: `${other.toUpperCase()}=${alike}\n${setting.toUpperCase()}=${held}\n` },
      };
    case "continued":
      return {
        imports: `\nlines = open("${conf("conf")}").read().replace("\\\\\\n", "").splitlines()\nsettings = dict(line.split(": ", 1) for line in lines)\n`,
        read: `settings["${setting}"]`,
        files: { [conf("conf")]: `${other}: ${alike}\n${setting}: ${isPurged ? held : `${first}\\\n${second}`}\n` },
      };
    case "url": {
      const password = isPurged ? held : encodeURIComponent(held);
      return {
        imports: "import json\nfrom urllib.parse import unquote, urlsplit\n",
        read: `unquote(urlsplit(json.load(open("${conf("json")}"))["${setting}"]).password)`,
        files: {
          [conf("json")]: `${JSON.stringify({ [setting]: `db://${other}:${password}@${alike}.local/main` })}\n`,
        },
      };
    }
    case "shell":
      return {
        read: `os.environ["${setting.toUpperCase()}"]`,
        files: {
          [`jobs/${name}.sh`]: `# ${other} ${alike}\nexport ${setting.toUpperCase()}='${held}'\nexec python3 jobs/${name}.py "$1"\n`,
        },
      };
  }
}

/** Texts in which a secret shows, after what stands between its parts was taken out. */
export function tracesOf(value: string): string[] {
  const bytes = Buffer.from(value, "latin1");
  const forms = [value, encodeURIComponent(value), bytes.toString("hex"), bytes.toString("base64").replace(/=+$/u, "")];
  return forms.map(bare);
}

/** A text without marks, lower case. */
export function bare(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9]/gu, "").toLowerCase();
}

/** The holder at a place of the list, from the first on again at its end. */
export function holderAt(index: number, known: number): Holder {
  return at(HOLDERS, index % known);
}
