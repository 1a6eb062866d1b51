/** `strftime_now(format)`: the local time, in English, as Python's `strftime` writes it. */
import { TemplateUnsupported } from "../failures.ts";

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

const two = (value: number): string => String(value).padStart(2, "0");
const hour12 = (time: Date): number => time.getHours() % 12 || 12;
const day = (time: Date): string => DAYS[time.getDay()] ?? "";
const month = (time: Date): string => MONTHS[time.getMonth()] ?? "";

function dayOfYear(time: Date): number {
  const start = Date.UTC(time.getFullYear(), 0, 0);
  return (Date.UTC(time.getFullYear(), time.getMonth(), time.getDate()) - start) / 86_400_000;
}

const DIRECTIVES: Readonly<Record<string, (time: Date) => string>> = {
  a: (time) => day(time).slice(0, 3),
  A: day,
  b: (time) => month(time).slice(0, 3),
  B: month,
  d: (time) => two(time.getDate()),
  e: (time) => String(time.getDate()).padStart(2, " "),
  f: (time) => `${String(time.getMilliseconds()).padStart(3, "0")}000`,
  F: (time) => strftime(time, "%Y-%m-%d"),
  h: (time) => month(time).slice(0, 3),
  H: (time) => two(time.getHours()),
  I: (time) => two(hour12(time)),
  j: (time) => String(dayOfYear(time)).padStart(3, "0"),
  m: (time) => two(time.getMonth() + 1),
  M: (time) => two(time.getMinutes()),
  n: () => "\n",
  p: (time) => (time.getHours() < 12 ? "AM" : "PM"),
  R: (time) => strftime(time, "%H:%M"),
  S: (time) => two(time.getSeconds()),
  t: () => "\t",
  T: (time) => strftime(time, "%H:%M:%S"),
  u: (time) => String(time.getDay() || 7),
  w: (time) => String(time.getDay()),
  y: (time) => two(time.getFullYear() % 100),
  Y: (time) => String(time.getFullYear()),
  "-d": (time) => String(time.getDate()),
  "-H": (time) => String(time.getHours()),
  "-I": (time) => String(hour12(time)),
  "-m": (time) => String(time.getMonth() + 1),
  "-M": (time) => String(time.getMinutes()),
  "-S": (time) => String(time.getSeconds()),
  "%": () => "%",
};

export function strftime(time: Date, format: string): string {
  return format.replace(/%(-?[\s\S]?)/g, (whole, directive: string) => {
    const write = DIRECTIVES[directive];
    if (write === undefined) throw new TemplateUnsupported(`strftime_now: the directive ${whole} is not implemented`);
    return write(time);
  });
}
