/** address-normal-form: a web address brought into one form by described rules. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import { variantRow } from "../variant-row.ts";

export const addressNormalForm = variantRow({
  id: "address-normal-form",
  asks: "the normal form of an address with dots in its path, ports, parameters and escapes",
  name: "normal",
  parameters: ["address"],
  extras: ["port", "dots", "sort", "last-value", "index", "host", "drop-empty", "escapes"],
  counts: [1, 2, 4, 5, 7],
  constants: (rng) => ({
    port: between(rng, 81, 99),
    track: rng.pick(["ref", "src", "tag", "via"]),
    index: rng.pick(["home", "index", "start", "main"]),
    depth: between(rng, 2, 5),
  }),
  stories: [
    "A crawler must not visit the same page twice under two addresses.",
    "Links of a wiki are compared after they were brought into one form.",
    "A cache uses addresses as keys and normalises them first.",
    "Bookmarks of several people are merged.",
  ],
  rules: `
An address is scheme://host, then perhaps a colon and a port, then a path of parts that each begin with /, then perhaps ? and parameters with & between them, then perhaps # and a fragment.
The fragment with its # is removed. The scheme becomes lower case.
The host becomes lower case, and "www." at its beginning is removed, once. #?host
The port {{port}} is removed with its colon. #?port
The parameter {{track}}, with any value or none, is removed.
In the path, a part . is removed, and a part .. is removed with the part before it, if there is one (parts are treated from the left). #?dots
Parts without any character are removed, all but one at the end of the path, which keeps it ending in /. This comes after the rule on . and .. parts, if there is one. #?drop-empty
If the last part of the path is then {{index}}, it becomes empty. #?index
Of the path only the first {{depth}} parts are kept, at last.
An escape % with two hexadecimal digits of an ASCII letter or digit becomes that character; the digits of all others become upper case. This is done first of all, in the whole address, and once. #?escapes
Parameters are sorted by their names, alphabetically by code points; those with equal names stay in their order. The name is what stands before the first =. #?sort
Of parameters with equal names only the last one is kept, at the place of the last. #?last-value
If no parameters are left, the ? is removed. An empty path becomes /.
`,
  types: `
The argument and the result are texts.
`,
  calls({ port, track, index }, rng, on) {
    const part = (): string =>
      rng.pick(["a", "b", "docs", ".", "..", "", index, on("escapes") ? "%41x" : "img", on("escapes") ? "%2f" : "c"]);
    const parameter = (): string =>
      rng.pick(["b", "a", "c", track, "B"]) + rng.pick(["=1", "=2", "=", "", on("escapes") ? "=%7e%62" : "=z"]);
    const address = (parts: number, parameters: number): string =>
      [
        rng.pick(["http://", "HTTP://", "Https://"]),
        rng.pick(["example.org", "www.Example.org", "WWW.site.net", "www.www.x.de"]),
        rng.pick(["", `:${port}`, ":8080"]),
        ...range(parts).map(() => `/${part()}`),
        parameters === 0
          ? ""
          : `?${range(parameters)
              .map(() => parameter())
              .join("&")}`,
        rng.pick(["", "#top", "#a/b"]),
      ].join("");
    return {
      paths: range(7).map(() => [address(between(rng, 2, 5), 0)]),
      parameters: range(7).map(() => [address(1, between(rng, 1, 5))]),
      both: range(7).map(() => [address(between(rng, 2, 7), between(rng, 1, 4))]),
      bare: range(5).map(() => [address(rng.integer(2), rng.integer(2))]),
    };
  },
  solve([address]: readonly [string], { port, track, index, depth }, on) {
    const text = on("escapes")
      ? address.replaceAll(/%([\da-fA-F]{2})/gu, (whole, digits: string) => {
          const character = String.fromCharCode(Number.parseInt(digits, 16));
          return /[A-Za-z0-9]/u.test(character) ? character : whole.toUpperCase();
        })
      : address;
    const found = /^([^:]*):\/\/([^/:?#]*)(:\d+)?([^?#]*)(?:\?([^#]*))?/u.exec(text);
    const [, scheme = "", host = "", colon = "", path = "", query = ""] = found ?? [];
    const name = on("host") ? host.toLowerCase().replace(/^www\./u, "") : host;
    let parts = path.split("/").slice(1);
    if (on("dots")) {
      const kept: string[] = [];
      for (const part of parts) {
        if (part === "..") kept.pop();
        else if (part !== ".") kept.push(part);
      }
      parts = kept;
    }
    if (on("drop-empty")) parts = parts.filter((part, place) => part !== "" || place === parts.length - 1);
    if (on("index") && parts.at(-1) === index) parts = [...parts.slice(0, -1), ""];
    const nameOf = (parameter: string): string => parameter.split("=")[0] ?? "";
    let parameters = query === "" ? [] : query.split("&").filter((one) => nameOf(one) !== track);
    if (on("last-value"))
      parameters = parameters.filter(
        (one, place) => !parameters.slice(place + 1).some((other) => nameOf(other) === nameOf(one)),
      );
    if (on("sort"))
      parameters = parameters.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0));
    return [
      `${scheme.toLowerCase()}://${name}`,
      on("port") && colon === `:${port}` ? "" : colon,
      parts.length === 0
        ? "/"
        : parts
            .slice(0, depth)
            .map((part) => `/${part}`)
            .join(""),
      parameters.length === 0 ? "" : `?${parameters.join("&")}`,
    ].join("");
  },
  python: `
import re

def normal(address):
    def character(match): #?escapes
        c = chr(int(match[1], 16)) #?escapes
        return c if c.isascii() and c.isalnum() else match[0].upper() #?escapes

    address = re.sub("%([0-9a-fA-F]{2})", character, address) #?escapes
    address = address.partition("#")[0]
    address, _, query = address.partition("?")
    scheme, _, rest = address.partition("://")
    place, slash, path = rest.partition("/")
    host, _, port = place.partition(":")
    host = host.lower().removeprefix("www.") #?host
    if port == "{{port}}": #?port
        port = "" #?port
    parts = path.split("/") if slash else []
    kept = [] #?dots
    for part in parts: #?dots
        if part == "..": #?dots
            kept = kept[:-1] #?dots
        elif part != ".": #?dots
            kept.append(part) #?dots
    parts = kept #?dots
    parts = [p for p in parts[:-1] if p] + parts[-1:] #?drop-empty
    if parts and parts[-1] == "{{index}}": #?index
        parts[-1] = "" #?index
    pairs = [one.partition("=") for one in query.split("&")] if query else []
    pairs = [one for one in pairs if one[0] != "{{track}}"]
    pairs = [p for i, p in enumerate(pairs) if all(q[0] != p[0] for q in pairs[i + 1:])] #?last-value
    pairs.sort(key=lambda one: one[0]) #?sort
    out = scheme.lower() + "://" + host + (":" + port if port else "")
    out += "".join("/" + part for part in parts[:{{depth}}]) or "/"
    if pairs:
        out += "?" + "&".join("".join(one) for one in pairs)
    return out
`,
});
