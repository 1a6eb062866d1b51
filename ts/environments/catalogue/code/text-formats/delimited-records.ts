/** delimited-records: fields of a text in a drawn dialect of separated values. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import { variantRow } from "../variant-row.ts";

export const delimitedRecords = variantRow({
  id: "delimited-records",
  asks: "the fields of a text in a dialect of separated values with quotes, escapes, comments and blanks",
  name: "records",
  parameters: ["text"],
  extras: ["escape", "doubled", "comments", "trim", "skip-empty", "runs", "fill"],
  constants: (rng) => ({
    separator: rng.pick(";|,:"),
    quote: rng.pick("'~^"),
    escape: rng.pick("%@"),
    hash: rng.pick("#!&"),
    width: between(rng, 3, 5),
    empty: rng.pick("?*+"),
  }),
  stories: [
    "An exporter of tables writes a dialect that no library reads.",
    "Measurements come in files with their fields separated in a special way.",
    "Files of an old spreadsheet have to be imported.",
    "A partner sends tables as text, and describes the format like this.",
  ],
  rules: `
The text is read character by character. Outside of quotes, a slash / ends a record, and {{separator}} ends a field. The end of the text ends the last field and the last record.
The character {{quote}} is no content: it switches quoting on or off, anywhere in a field. In quotes, / and {{separator}} are content. #!doubled
The character {{quote}} is no content: it switches quoting on or off, anywhere in a field. In quotes, / and {{separator}} are content, and {{quote}}{{quote}} stands for one {{quote}} as content. #?doubled
Quoting that is on at the end of the text ends there.
The character {{escape}} makes the character behind it content, whatever it is, in and outside of quotes. At the end of the text it is content itself. #?escape
A {{hash}} outside of quotes before anything else of its record begins a comment: all up to the next / or the end of the text is left out, the / too, and no record comes from it. #?comments
Blanks at the beginning and the end of each field's content are removed at last, however they were written. #?trim
A record of one field without content is left out. #?skip-empty
Of several {{separator}} directly one after the other outside of quotes only the first one counts. #?runs
A record of fewer than {{width}} fields gets fields {{empty}} at its end until it has {{width}}. #?fill
`,
  types: `
The argument is a text. The result is the list of the records, each of which is the list of its fields.
`,
  calls({ separator, quote, escape, hash }, rng) {
    const pieces = ["a", "b", "cd", " ", "x", separator, separator, "/", quote, quote, escape, hash];
    const text = (length: number): string =>
      range(length)
        .map(() => rng.pick(pieces))
        .join("");
    const field = (): string => {
      const bare = rng.pick(["ab", " c", "d ", "e", "", "fg"]);
      return rng.pick([bare, bare, `${quote}${bare}${separator}x${quote}`, `${quote}y${quote}${quote}${bare}${quote}`]);
    };
    const record = (): string =>
      (rng.integer(5) === 0 ? hash : "") +
      range(between(rng, 1, 4))
        .map(() => field())
        .join(separator);
    const table = (count: number): string =>
      range(count)
        .map(() => record())
        .join("/");
    return {
      short: range(6).map(() => [text(between(rng, 6, 12))]),
      tables: range(6).map(() => [table(3)]),
      long: range(6).map(() => [text(between(rng, 20, 40))]),
      large: range(5).map(() => [table(7)]),
    };
  },
  solve([text]: readonly [string], { separator, quote, escape, hash, width, empty }, on) {
    const out: string[][] = [];
    let [fields, field, isQuoted, isFresh]: [string[], string, boolean, boolean] = [[], "", false, true];
    const endField = (): void => {
      fields.push(on("trim") ? field.replaceAll(/^ +| +$/gu, "") : field);
      field = "";
    };
    const endRecord = (): void => {
      endField();
      if (!(on("skip-empty") && fields.length === 1 && fields[0] === "")) {
        while (on("fill") && fields.length < width) fields.push(empty);
        out.push(fields);
      }
      [fields, isFresh] = [[], true];
    };
    let isOver = false;
    for (let index = 0; index < text.length; index++) {
      const one = text.charAt(index);
      if (on("comments") && one === hash && isFresh && !isQuoted) {
        const end = text.indexOf("/", index);
        if (end < 0) {
          isOver = true;
          break;
        }
        index = end;
        continue;
      }
      const wasFresh = isFresh;
      isFresh = false;
      if (on("escape") && one === escape) {
        field += index + 1 < text.length ? text.charAt(index + 1) : one;
        index += 1;
      } else if (one === quote) {
        if (on("doubled") && isQuoted && text.charAt(index + 1) === quote) {
          field += quote;
          index += 1;
        } else isQuoted = !isQuoted;
      } else if (isQuoted) field += one;
      else if (one === "/") endRecord();
      else if (one === separator) {
        endField();
        while (on("runs") && text.charAt(index + 1) === separator) index += 1;
      } else field += one;
      if (wasFresh && one === "/") isFresh = true;
    }
    if (!isOver) endRecord();
    return out;
  },
  python: `
def records(text):
    out, fields, field, quoted, fresh, i = [], [], "", False, True, 0

    def close_field():
        nonlocal field
        field = field.strip(" ") #?trim
        fields.append(field)
        field = ""

    def close_record():
        nonlocal fields, fresh
        close_field()
        if fields != [""]: #?skip-empty
        if True: #!skip-empty
            fields += ["{{empty}}"] * ({{width}} - len(fields)) #?fill
            out.append(fields)
        fields, fresh = [], True

    while i < len(text):
        c = text[i]
        i += 1
        if c == "{{hash}}" and fresh and not quoted: #?comments
            end = text.find("/", i) #?comments
            if end < 0: #?comments
                return out #?comments
            i = end + 1 #?comments
            continue #?comments
        fresh = False
        if c == "{{escape}}": #?escape
            field += text[i:i + 1] or c #?escape
            i += 1 #?escape
            continue #?escape
        if c == "{{quote}}":
            if quoted and text[i:i + 1] == "{{quote}}": #?doubled
                field += c #?doubled
                i += 1 #?doubled
                continue #?doubled
            quoted = not quoted
        elif quoted:
            field += c
        elif c == "/":
            close_record()
        elif c == "{{separator}}":
            close_field()
            while text[i:i + 1] == "{{separator}}": #?runs
                i += 1 #?runs
        else:
            field += c
    close_record()
    return out
`,
});
