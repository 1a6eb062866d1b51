/** What is known about each part of a project besides its files: its line in the list of commands, its rules, complaints of users. */
export interface FeatureText {
  readonly id: string;
  /** Its line in `docs/commands.md`. */
  readonly command: string;
  /** Which number its handler writes to the journal; null where it only reads. */
  readonly journal: string | null;
  /** Sections of `docs/rules.md`. */
  readonly rules: readonly string[];
}

export const DESK: FeatureText = {
  id: "desk",
  journal: null,
  command: `- \`add-$item\` name value: gives $item, name
- \`add-$person\` name tier: gives $person, name
- \`lend\` $item $person day: gives loan, due
- \`give-back\` loan day: gives loan, fee
- \`balance\` $person: gives owed
- \`journal\`: gives lines`,
  rules: [
    "Names differ if they differ in more than spaces and capitals; a name that is taken is refused (`duplicate`). They are kept with one space between words and a capital at the beginning of each word.",
    "A $item of less than `LEAST_VALUE` cents, and an unknown tier, are refused (`bad-value`).",
    "A $item that is out is refused (`out`), then a $person who has as many $items as the tier's limit in `LIMITS` or more (`limit`), then one who owes more than `MOST_DEBT` (`debt`).",
    "A $person is loyal once `LOYAL_AFTER` loans or more have come back in time; the due day itself is in time. A loyal $person may have one $item more, may owe up to `LOYAL_DEBT`, and has `EXTRA_DAYS` more for each loan.",
    "A loan lasts `LOAN_DAYS` days, for a $item of less than `CHEAP_VALUE` `CHEAP_DAYS` days; if the last day is one on which the desk is closed, it is the next open day.",
    "Day 0 has the weekday `WEEKDAY_OF_ZERO`, counted from 0 to 6; the desk is closed on all `CLOSED_WEEKDAYS`.",
    "Late days are the open days after the due day, up to and including the day on which the $item comes back. Up to and including `GRACE_DAYS` late days are free; with more of them, all late days are charged.",
    "A late day costs `RATE_PERCENT` percent of the value, but at least `LEAST_RATE`; a late fee is at most `MOST_PERCENT` percent of the value. Percentages are rounded to whole cents, halves up.",
    "After `give-back` a $item can be lent again. A loan that is closed is refused (`closed`), and so is a number that does not exist (`unknown`).",
    "`balance` is what is left of all charges of a $person.",
  ],
};

export const FEATURES: readonly FeatureText[] = [
  {
    id: "pay",
    journal: "the $person",
    command: "- `pay` $person amount: gives charges, owed",
    rules: [
      "`pay` sets a payment against the charges of a $person: those for damage first, then by day, then by number; each gets at most what is left of it. `charges` has the numbers of those that this payment settled, in this order, and `owed` the balance after it. An amount below 1 is refused (`bad-value`, 400), one above the balance too (`overpaid`, 400); the whole balance may be paid.",
    ],
  },
  {
    id: "renew",
    journal: "the loan",
    command: "- `renew` loan day: gives loan, due",
    rules: [
      "`renew` sets the due day anew, as for a loan that begins on the day of the renewal or on the old due day, whichever is later. A loan may be renewed `RENEWALS` times, by a loyal $person once more. One that was renewed so often, one that is late by more than `GRACE_DAYS` late days, or (with reservations) one for whose $item somebody waits is refused (`no-renewal`, 409).",
    ],
  },
  {
    id: "reserve",
    journal: "the reservation",
    command: "- `reserve` $item $person day: gives reservation, place",
    rules: [
      "`reserve` lets a $person wait for a $item that is out; one that is in is refused (`not-out`, 409), and a $person who waits for it already too (`duplicate`). First comes the $person whose tier has the higher limit in `LIMITS`, then the earlier day, then the lower number; `place` counts from 1. While somebody waits, the $item is lent to the first one only; everybody else is refused (`reserved`, 409) right after the check whether it is out. Who gets the $item waits no more.",
    ],
  },
  {
    id: "nightly",
    journal: "the day",
    command: "- `nightly` day: gives loans, $people",
    rules: [
      "`nightly` gives the numbers of the open loans for which a reminder goes out: when `REMIND_AFTER` late days are reached, and every `REMIND_EVERY` late days after that. Then each $person who owes more than `BLOCK_TIMES` times the debt limit that holds for that $person is blocked, and everybody else is not; `$people` has the numbers of those who were not blocked before. Who is blocked is refused (`blocked`, 403) before the limit is checked.",
    ],
  },
  {
    id: "damage",
    journal: "the damage",
    command: "- `report-damage` $item $person grade day: gives damage, cost",
    rules: [
      "`report-damage` charges a $person the percentage of the value that `DAMAGE_PERCENTS` has for the grade, with the reason `damage`; all damages of a $item together cost at most its value, and a cost of 0 is not charged. An unknown grade is refused first of all (`bad-grade`, 400). As soon as the costs of all its damages reach `WORN_PERCENT` percent of the value, the $item is withdrawn: it is refused (`withdrawn`, 410) before the check whether it is out.",
    ],
  },
  {
    id: "voucher",
    journal: "the voucher",
    command: "- `add-voucher` $person percent until: gives voucher",
    rules: [
      "`add-voucher` gives a $person a voucher of 1 to 100 percent, else it is refused (`bad-voucher`, 400). It lowers one late fee by this percentage of it (rounded before it is taken off), up to and including the day `until`. If there are several, the largest percentage counts, of equal ones the one that expires first, then the lower number. A voucher is used up only by a loan with a fee.",
    ],
  },
  {
    id: "statement",
    journal: null,
    command: "- `statement` $person: gives lines",
    rules: [
      "`statement` gives a line `day D reason X.XX Y.YY` for each charge with something left: X is what is left, Y the sum up to this line. Lines are in the order of days, then of numbers. Amounts have two digits after the point.",
    ],
  },
  {
    id: "report",
    journal: null,
    command: "- `report` first last: gives names, fees",
    rules: [
      "`report` is about a span of days with both ends; a span that ends before it begins is refused (`bad-span`, 400). `names` are the at most `REPORT_NAMES` $items that were lent most often in it, equal counts by the alphabet. `fees` is a list with one number: the sum of all late fees that were charged in it, also of those that are paid; damage does not count.",
    ],
  },
  {
    id: "handover",
    journal: "the new loan",
    command: "- `hand-over` loan to day: gives loan, due, fee",
    rules: [
      "`hand-over` passes a $item on to another $person: the old loan is closed with its late fee, and a new one is opened. Its due day is the day plus half of the days from it to the due day that an ordinary loan would get, rounded up, but not before the old due day; it is not moved to an open day again. The same $person is refused (`same-$person`, 409); a withdrawn $item is refused (`withdrawn`), then (with reservations) a receiver who is not the first one who waits (`reserved`), then one who may not borrow. A refused hand-over changes nothing.",
    ],
  },
  {
    id: "search",
    journal: null,
    command: "- `search` text page: gives names, pages",
    rules: [
      "`search` finds $items with a word in the name that begins with a searched word; capitals do not matter. The more of the searched words are found, the earlier a name comes, equal ones by the alphabet. A page has `PAGE` names; `pages` is a list with one number, how many pages there are, at least 1. A page below 1 or above that is refused (`bad-page`, 400).",
    ],
  },
  {
    id: "import",
    journal: "how many $items were added",
    command: "- `import-$items` lines: gives $items, bad_lines",
    rules: [
      "`import-$items` adds a $item for each line `name;value`; only the last semicolon separates. The value is a number such as 12, 12.5 or 12.50, and means 100 cents for each whole. Lines that begin with # are left out. Lines that cannot be read or whose $item is refused are left out too, and their numbers, counted from 1 over all lines, are `bad_lines`; the others still count. The journal gets the number of $items that were added.",
    ],
  },
  {
    id: "forecast",
    journal: null,
    command: "- `forecast` day: gives names, percent",
    rules: [
      "`forecast` gives the names of the $items that are out and due on that day or before it, by due day, then by the alphabet, and the percentage of all $items that are in or expected back by then, rounded with halves up; 0 if there are no $items.",
    ],
  },
];

export const CONVENTIONS = `# Conventions

- Refusals: \`raise refused(code)\`. Each code stands in \`CODES\` with its status.
- Journal: a handler that changes something writes one line with \`store.note(command, number)\`, where the number is that of the row it made or changed, if nothing else is said. One that only reads writes none, and neither does one that refuses.
- Constants of rules stand in \`settings.py\`, never in code.
- Commands: each has a handler, a line in \`routes.py\` and a line in \`docs/commands.md\`: \`- \`, its name in backticks, its arguments, \`: gives \` and the names of its result.
- Layers: handlers call services, services call rules and \`lib\`. Amounts are whole cents.
`;
