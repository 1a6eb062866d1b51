/** Optional features about the desk: renewals, reservations, the nightly job, search, imports, forecasts. */
import type { Template } from "./template.ts";

export const DESK_FEATURES: readonly Template[] = [
  {
    path: "handlers/renewals.py",
    feature: "renew",
    text: String.raw`"""Commands about renewals."""
from $pkg.services.renewals import renew_loan


def renew(store, args):
    """A loan gets longer."""
    loan = renew_loan(store, args["loan"], args["day"])
    store.note("renew", loan["id"])
    return {"loan": loan["id"], "due": loan["due"]}
`,
  },
  {
    path: "services/renewals.py",
    feature: "renew",
    text: String.raw`"""Renewals of loans."""
from $pkg.rules.renewal_limits import check_can_renew
from $pkg.rules.terms import due_day
from $pkg.services.lending import open_loan_row


def renew_loan(store, loan_id, day):
    """The loan with its new due day."""
    loan = open_loan_row(store, loan_id)
    $item = store.get("$items", loan["$item"])
    $person = store.get("$people", loan["$person"])
    check_can_renew(store, loan, $person, day)
    loan["due"] = due_day(store, $item, $person, «max(day, loan["due"])|day|loan["due"]»)
    loan["renewals"] += «1|0»
    return loan
`,
  },
  {
    path: "rules/renewal_limits.py",
    feature: "renew",
    text: String.raw`"""When a loan may be renewed."""
from $pkg.errors import refused
from $pkg.rules.fees import days_late
from $pkg.rules.tiers import is_loyal
from $pkg.services.waitlist import first_in_queue §reserve
from $pkg.settings import GRACE_DAYS, RENEWALS


def most_renewals(store, $person):
    """Loyal $people have one more."""
    return RENEWALS + («1 if is_loyal(store, $person) else 0|1|0»)


def check_can_renew(store, loan, $person, day):
    """Refuses a loan that was renewed often enough, and one that is late by more than the days of grace."""
    if loan["renewals"] «>=|>» most_renewals(store, $person):
        raise refused("no-renewal")
    if days_late(loan, day) «>|>=» GRACE_DAYS:
        raise refused("no-renewal")
    if first_in_queue(store, store.get("$items", loan["$item"])) is not None: §reserve
        raise refused("no-renewal") §reserve
`,
  },
  {
    path: "handlers/reservations.py",
    feature: "reserve",
    text: String.raw`"""Commands about reservations."""
from $pkg.services.waitlist import join_queue, place_of


def reserve(store, args):
    """A $person waits for a $item."""
    row = join_queue(store, args["$item"], args["$person"], args["day"])
    store.note("reserve", row["id"])
    return {"reservation": row["id"], "place": place_of(store, row)}
`,
  },
  {
    path: "services/waitlist.py",
    feature: "reserve",
    text: String.raw`"""Who waits for which $item."""
from $pkg.errors import refused
from $pkg.rules.priority import in_order


def queue_of(store, $item):
    """Reservations that wait, the first one first."""
    waiting = [row for row in store.where("reservations", "$item", $item["id"]) if row["waits"]]
    return in_order(store, waiting)


def join_queue(store, $item_id, $person_id, day):
    """A new reservation of a $item that is out. A $person waits for it once at most."""
    $item = store.get("$items", $item_id)
    $person = store.get("$people", $person_id)
    if not $item["out"]:
        raise refused("not-out")
    for row in queue_of(store, $item):
        if row["$person"] == $person["id"]:
            raise refused("duplicate")
    row = {"$item": $item["id"], "$person": $person["id"], "day": day, "waits": True}
    return store.add("reservations", row)


def first_in_queue(store, $item):
    """The number of the $person who is next, or None."""
    queue = queue_of(store, $item)
    return queue[«0|-1»]["$person"] if len(queue) > 0 else None


def leave_queue(store, $item, $person):
    """The reservation of a $person who gets the $item is done."""
    for row in queue_of(store, $item):
        if row["$person"] == $person["id"]:
            row["waits"] = «False|True»


def place_of(store, reservation):
    """1 for the first one."""
    queue = queue_of(store, store.get("$items", reservation["$item"]))
    place = 0
    for row in queue:
        place += 1
        if row["id"] == reservation["id"]:
            break
    return place
`,
  },
  {
    path: "rules/priority.py",
    feature: "reserve",
    text: String.raw`"""Who comes first in a queue."""
from $pkg.settings import LIMITS


def rank(store, row):
    """The $person whose tier may have more $items comes first; of equal ones who came earlier."""
    $person = store.get("$people", row["$person"])
    return [«-LIMITS[$person["tier"]]|LIMITS[$person["tier"]]», «row["day"]|0», row["id"]]


def in_order(store, rows):
    """Reservations, the first one first."""
    return sorted(rows, key=lambda row: rank(store, row))
`,
  },
  {
    path: "handlers/jobs.py",
    feature: "nightly",
    text: String.raw`"""Jobs that a clock starts."""
from $pkg.jobs.nightly import block_debtors, remind_late


def nightly(store, args):
    """The job of a night."""
    reminded = remind_late(store, args["day"])
    blocked = block_debtors(store)
    store.note("nightly", args["day"])
    return {"loans": reminded, "$people": blocked}
`,
  },
  {
    path: "jobs/nightly.py",
    feature: "nightly",
    text: String.raw`"""Reminders and blocks."""
from $pkg.rules.blocking import is_blocked
from $pkg.rules.fees import days_late
from $pkg.settings import REMIND_AFTER, REMIND_EVERY


def is_due_for_reminder(loan, day):
    """Reminders begin on a late day, and come again after a number of late days."""
    late = days_late(loan, day)
    return late «>=|>» REMIND_AFTER and «(late - REMIND_AFTER)|late» % REMIND_EVERY == 0


def remind_late(store, day):
    """Numbers of the loans for which a reminder goes out."""
    rows = store.where("loans", "back", None)
    return [loan["id"] for loan in rows if is_due_for_reminder(loan, day)]


def block_debtors(store):
    """Numbers of the $people who are blocked now and were not before. Who has paid is blocked no more."""
    changed = []
    for $person in store.table("$people").values():
        blocked = is_blocked(store, $person)
        if blocked «and not $person["blocked"]|»:
            changed.append($person["id"])
        $person["blocked"] = «blocked|blocked or $person["blocked"]»
    return changed
`,
  },
  {
    path: "rules/blocking.py",
    feature: "nightly",
    text: String.raw`"""Who is blocked."""
from $pkg.rules.debts import debt_limit
from $pkg.services.ledger import balance
from $pkg.settings import BLOCK_TIMES


def is_blocked(store, $person):
    """Whether the debt is more than some times its limit."""
    return balance(store, $person["id"]) «>|>=» BLOCK_TIMES * debt_limit(store, $person)
`,
  },
  {
    path: "handlers/searches.py",
    feature: "search",
    text: String.raw`"""Commands about the catalogue."""
from $pkg.services.catalogue import find_names
from $pkg.lib.paging import page_of, pages


def search(store, args):
    """$Items by words of their names."""
    names = find_names(store, args["text"])
    return {"names": page_of(names, args["page"]), "pages": [pages(names)]}
`,
  },
  {
    path: "services/catalogue.py",
    feature: "search",
    text: String.raw`"""Search in the names of $items."""
from $pkg.lib.names import words_of


def hits(name, text):
    """How many of the searched words begin a word of the name."""
    return len([word for word in words_of(text) if any([one.«startswith|endswith»(word) for one in words_of(name)])])


def order(pair):
    """More hits first; of equal ones by the alphabet."""
    name, count = pair
    return [«-count|0», «name|-count»]


def find_names(store, text):
    """Names with at least one hit; $items that are out come, too."""
    pairs = []
    for $item in store.table("$items").values():
        count = hits($item["name"], text)
        if count > 0:
            pairs.append([$item["name"], count])
    return [name for name, count in sorted(pairs, key=order)]
`,
  },
  {
    path: "lib/paging.py",
    feature: "search",
    text: String.raw`"""Long lists in pages."""
from $pkg.errors import refused
from $pkg.settings import PAGE


def pages(rows):
    """How many pages there are, at least one."""
    return max(1, «(len(rows) + PAGE - 1)|len(rows)» // PAGE)


def page_of(rows, number):
    """Pages are counted from 1 on."""
    if number < 1 or number > pages(rows):
        raise refused("bad-page")
    first = «(number - 1)|number» * PAGE
    return rows[first:first + PAGE]
`,
  },
  {
    path: "handlers/imports.py",
    feature: "import",
    text: String.raw`"""Commands about imports."""
from $pkg.services.imports import import_lines


def import_$items(store, args):
    """Many $items at once."""
    added, bad = import_lines(store, args["lines"])
    store.note("import-$items", len(added))
    return {"$items": added, "bad_lines": bad}
`,
  },
  {
    path: "services/imports.py",
    feature: "import",
    text: String.raw`"""Lines of a file become $items."""
from $pkg.errors import ServiceError
from $pkg.lib.lines import split_line
from $pkg.services.registry import register_$item


def import_lines(store, lines):
    """Numbers of the new $items, and of the lines that were refused; lines are counted from 1 on."""
    added = []
    bad = []
    for number, line in enumerate(lines, «1|0»):
        if line.startswith("#"):
            continue
        try:
            name, value = split_line(line)
            added.append(register_$item(store, name, value)["id"])
        except ServiceError as error:
            bad.append(number)
            «continue|break»
    return added, bad
`,
  },
  {
    path: "lib/lines.py",
    feature: "import",
    text: String.raw`"""Lines with a name and a value."""
from $pkg.errors import refused


def cents_of(text):
    """Whole cents of a number with one point or none: 12, 12.5 and 12.50."""
    whole, point, rest = parts_of(text)
    if not whole.isdigit() or len(rest) > 2 or (point and not rest.isdigit()):
        raise refused("bad-value")
    return 100 * int(whole) + int((rest + "00")«[:2]|[:1]»)


def parts_of(text):
    """What stands before the point, whether there is one, and what stands after it."""
    parts = text.split(".", 1)
    return parts[0], len(parts) > 1, parts[1] if len(parts) > 1 else ""


def split_line(line):
    """The name, and the value in cents. The last semicolon counts."""
    parts = line.split(";")
    if len(parts) < 2:
        raise refused("bad-value")
    return «";".join(parts[:-1])|parts[0]», cents_of(parts[-1].strip())
`,
  },
  {
    path: "handlers/forecasts.py",
    feature: "forecast",
    text: String.raw`"""Commands about the days to come."""
from $pkg.services.forecasts import expected_back, share_in


def forecast(store, args):
    """What will be in on a day."""
    names = expected_back(store, args["day"])
    return {"names": names, "percent": share_in(store, args["day"])}
`,
  },
  {
    path: "services/forecasts.py",
    feature: "forecast",
    text: String.raw`"""Which $items will be in."""
from $pkg.lib.money import divide


def is_expected(loan, day):
    """An open loan whose due day is not after the day."""
    return loan["due"] «<=|<» day


def expected_back(store, day):
    """Names of the $items that are out and expected, the earliest due day first, then by the alphabet."""
    rows = []
    for loan in store.where("loans", "back", None):
        if is_expected(loan, day):
            name = store.get("$items", loan["$item"])["name"]
            rows.append([«loan["due"]|0», name])
    return [name for due, name in sorted(rows)]


def share_in(store, day):
    """The percentage of all $items that are in or expected, with halves rounded up; 0 where there are none."""
    count = len(store.table("$items"))
    if count == 0:
        return 0
    out = len(store.where("$items", "out", True)) «- len(expected_back(store, day))|»
    return divide(100 * (count - out), count)
`,
  },
];
