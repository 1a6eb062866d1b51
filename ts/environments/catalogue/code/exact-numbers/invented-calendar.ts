/** invented-calendar: dates of a calendar with its own months, leap rules and week, before and after a span of days. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const inventedCalendar = variantRow({
  id: "invented-calendar",
  asks: "dates and weekdays of an invented calendar after a number of days",
  name: "after",
  parameters: ["date", "days"],
  extras: ["except", "again", "extra-month", "no-weekday", "working", "short"],
  constants: (rng) => ({
    months: between(rng, 5, 9),
    days: between(rng, 11, 17),
    leap: between(rng, 3, 5),
    except: between(rng, 3, 6),
    week: between(rng, 5, 8),
  }),
  stories: [
    "The people of a fantasy novel have a calendar, and its author wants no mistakes.",
    "A game world has unusual years.",
    "A colony on another planet computes its dates.",
    "The calendar of a lost culture is reconstructed.",
  ],
  rules: `
A year has {{months}} months, with {{days}} days each. #!short
A year has {{months}} months; the first, third, fifth and so on have {{days}} days, the others one less. #?short
Years whose number is divisible by {{leap}} are leap years. #!except
Years whose number is divisible by {{leap}} are leap years, but not those that are divisible by {{leap}} * {{except}}. #?except #!again
Years whose number is divisible by {{leap}} are leap years, but not those that are divisible by {{leap}} * {{except}}, except that those divisible by {{leap}} * {{except}} * 2 are leap years after all. #?except #?again
Years with a number that leaves the remainder 1 when divided by 7 are leap years, too. #!except #?again
In leap years, the last month has two more days. #!extra-month
In leap years, there is one more month at the end, which has {{week}} days. #?extra-month
The day 1 of month 1 of year 1 is weekday 0; a week has {{week}} weekdays, 0 to {{week}} minus 1, which follow one another without a break. #!no-weekday
The day 1 of month 1 of year 1 is weekday 0; a week has {{week}} weekdays, 0 to {{week}} minus 1, which follow one another, but the last day of each leap year belongs to no week: its weekday is -1, and the next day goes on where the week was. #?no-weekday
The result is the date that is this number of days later. #!working
The result is the date that is this number of working days later: days with weekday 0 or -1 are not counted, all others are. With 0 days it is the date itself. #?working
`,
  types: `
The first argument is the date [year, month, day], with year 1 or later, the second the number of days, which is not negative. The result is [year, month, day, weekday].
`,
  calls({ months, days }, rng) {
    const date = (): Json => [between(rng, 1, 40), between(rng, 1, months), between(rng, 1, days - 1)];
    const some = (most: number): Json[][] => range(8).map(() => [date(), rng.integer(most)]);
    return {
      near: some(12),
      year: some(200),
      far: some(500),
      one: range(6).map(() => [[between(rng, 1, 60), months, days - 1], rng.integer(4)]),
    };
  },
  solve([date, count]: readonly [readonly [number, number, number], number], { months, days, leap, except, week }, on) {
    const isLeap = (year: number): boolean => {
      if (year % leap === 0)
        return !on("except") || year % (leap * except) !== 0 || (on("again") && year % (leap * except * 2) === 0);
      return !on("except") && on("again") && year % 7 === 1;
    };
    const lengths = (year: number): number[] => {
      const list = range(months).map((index) => days - (on("short") && index % 2 === 1 ? 1 : 0));
      if (!isLeap(year)) return list;
      return on("extra-month") ? [...list, week] : [...list.slice(0, -1), (list.at(-1) ?? 0) + 2];
    };
    let [year, month, day] = date;
    let position = 0;
    for (let before = 1; before < year; before++)
      position +=
        lengths(before).reduce((sum, length) => sum + length, 0) - (on("no-weekday") && isLeap(before) ? 1 : 0);
    position +=
      lengths(year)
        .slice(0, month - 1)
        .reduce((sum, length) => sum + length, 0) +
      day -
      1;
    let list = lengths(year);
    let isSpecial = on("no-weekday") && isLeap(year);
    const now = (): number => (isSpecial && month === list.length && day === list.at(-1) ? -1 : position % week);
    for (let left = count; left > 0;) {
      if (now() >= 0) position += 1;
      day += 1;
      if (day > (list[month - 1] ?? 0)) {
        [month, day] = [month + 1, 1];
        if (month > list.length) {
          [year, month] = [year + 1, 1];
          list = lengths(year);
          isSpecial = on("no-weekday") && isLeap(year);
        }
      }
      if (!on("working") || now() > 0) left -= 1;
    }
    return [year, month, day, now()];
  },
  python: `
def leap(year):
    if year % {{leap}} == 0:
        return True #!except
        return year % ({{leap}} * {{except}}) != 0 #?except #!again
        return year % ({{leap}} * {{except}}) != 0 or year % ({{leap}} * {{except}} * 2) == 0 #?except #?again
    return year % 7 == 1 #!except #?again
    return False

def lengths(year):
    months = [{{days}}] * {{months}}
    months[1::2] = [{{days}} - 1] * len(months[1::2]) #?short
    if leap(year):
        months[-1] += 2 #!extra-month
        months.append({{week}}) #?extra-month
    return months

def calendar():
    year, place = 1, 0
    while True:
        months = lengths(year)
        special = leap(year) #?no-weekday
        for month, size in enumerate(months, 1):
            for day in range(1, size + 1):
                if special and month == len(months) and day == size: #?no-weekday
                    yield [year, month, day, -1] #?no-weekday
                    continue #?no-weekday
                yield [year, month, day, place % {{week}}]
                place += 1
        year += 1

def after(date, days):
    found = False
    for one in calendar():
        if found:
            days -= one[3] > 0 #?working
            days -= 1 #!working
        if one[:3] == list(date):
            found = True
        if not found and one[0] > date[0]:
            return None
        if found and days == 0:
            return one
`,
});
