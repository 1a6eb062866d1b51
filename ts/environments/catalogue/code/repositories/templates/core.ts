/** The part that every project has: a desk that lends items to people and takes them back, with fees and limits. */
import type { Template } from "./template.ts";

export const CORE: readonly Template[] = [
  {
    path: "errors.py",
    text: String.raw`"""Refusals. Every code that the service refuses with is registered here with its status."""

CODES = {
    "unknown": 404,
    "unknown-command": 404,
    "duplicate": 409,
    "bad-value": 400,
    "limit": 409,
    "debt": 402,
    "out": 409,
    "closed": 409,
    "no-renewal": 409, §renew
    "overpaid": 400, §pay
    "not-out": 409, §reserve
    "reserved": 409, §reserve
    "blocked": 403, §nightly
    "withdrawn": 410, §damage
    "bad-grade": 400, §damage
    "bad-voucher": 400, §voucher
    "bad-span": 400, §report
    "same-$person": 409, §handover
    "bad-page": 400, §search
}


class ServiceError(Exception):
    """What the caller sees instead of a result."""

    def __init__(self, code, status):
        self.code = code
        self.status = status


def refused(code):
    """The error of a registered code, for raise."""
    return ServiceError(code, CODES[code])
`,
  },
  {
    path: "store.py",
    text: String.raw`"""Tables in memory, and the journal of what was changed."""
from $pkg.errors import refused


class Store:
    """Rows have numbers from 1 on, for each table."""

    def __init__(self):
        self.tables = {}
        self.journal = []

    def table(self, name):
        return self.tables.setdefault(name, {})

    def add(self, name, row):
        rows = self.table(name)
        row["id"] = len(rows) + 1
        rows[row["id"]] = row
        return row

    def get(self, name, key):
        rows = self.table(name)
        if key not in rows:
            raise refused("unknown")
        return rows[key]

    def where(self, name, field, value):
        return [row for row in self.table(name).values() if row[field] == value]

    def note(self, event, key):
        """Handlers that change something write one line to the journal."""
        self.journal.append(f"{event} {key}")
`,
  },
  {
    path: "routes.py",
    text: String.raw`"""Which handler carries out which command."""
from $pkg.errors import refused
from $pkg.handlers.desk import add_$item, add_$person, give_back, lend, show_balance, show_journal
from $pkg.handlers.renewals import renew §renew
from $pkg.handlers.payments import pay §pay
from $pkg.handlers.reservations import reserve §reserve
from $pkg.handlers.jobs import nightly §nightly
from $pkg.handlers.damages import report_damage §damage
from $pkg.handlers.vouchers import add_voucher §voucher
from $pkg.handlers.reports import report §report
from $pkg.handlers.handovers import hand_over §handover
from $pkg.handlers.searches import search §search
from $pkg.handlers.imports import import_$items §import
from $pkg.handlers.statements import statement §statement
from $pkg.handlers.forecasts import forecast §forecast

ROUTES = {
    "add-$item": add_$item,
    "add-$person": add_$person,
    "lend": lend,
    "give-back": give_back,
    "balance": show_balance,
    "journal": show_journal,
    "renew": renew, §renew
    "pay": pay, §pay
    "reserve": reserve, §reserve
    "nightly": nightly, §nightly
    "report-damage": report_damage, §damage
    "add-voucher": add_voucher, §voucher
    "report": report, §report
    "hand-over": hand_over, §handover
    "search": search, §search
    "import-$items": import_$items, §import
    "statement": statement, §statement
    "forecast": forecast, §forecast
}


def dispatch(store, name, args):
    """The result of a command."""
    if name not in ROUTES:
        raise refused("unknown-command")
    return ROUTES[name](store, args)
`,
  },
  {
    path: "handlers/desk.py",
    text: String.raw`"""Commands of the desk."""
from $pkg.services.ledger import balance
from $pkg.services.lending import close_loan, open_loan
from $pkg.services.registry import register_$item, register_$person
from $pkg.settings import JOURNAL_LINES


def add_$item(store, args):
    """A new $item."""
    $item = register_$item(store, args["name"], args["value"])
    store.note("add-$item", $item["id"])
    return {"$item": $item["id"], "name": $item["name"]}


def add_$person(store, args):
    """A new $person."""
    $person = register_$person(store, args["name"], args["tier"])
    store.note("add-$person", $person["id"])
    return {"$person": $person["id"], "name": $person["name"]}


def lend(store, args):
    """A $item goes out."""
    loan = open_loan(store, args["$item"], args["$person"], args["day"])
    store.note("lend", loan["id"])
    return {"loan": loan["id"], "due": loan["due"]}


def give_back(store, args):
    """A $item comes back."""
    loan, fee = close_loan(store, args["loan"], args["day"])
    store.note("give-back", loan["id"])
    return {"loan": loan["id"], "fee": fee}


def show_balance(store, args):
    """What a $person owes."""
    return {"owed": balance(store, args["$person"])}


def show_journal(store, args):
    """The last lines of the journal."""
    return {"lines": store.journal[-JOURNAL_LINES:]}
`,
  },
  {
    path: "services/registry.py",
    text: String.raw`"""Which $items and $people there are."""
from $pkg.errors import refused
from $pkg.lib.names import same_name, tidy
from $pkg.settings import LEAST_VALUE, LIMITS


def check_name(store, table, name):
    """Refuses a name that is taken."""
    for row in store.table(table).values():
        if same_name(row["name"], name):
            raise refused("duplicate")


def register_$item(store, name, value):
    """A row of $items."""
    if value «<|<=» LEAST_VALUE:
        raise refused("bad-value")
    check_name(store, "$items", name)
    row = {
        "name": tidy(name),
        "value": value,
        "out": False,
        "withdrawn": False, §damage
    }
    return store.add("$items", row)


def register_$person(store, name, tier):
    """A row of $people."""
    if tier not in LIMITS:
        raise refused("bad-value")
    check_name(store, "$people", name)
    row = {
        "name": tidy(name),
        "tier": tier,
        "blocked": False, §nightly
    }
    return store.add("$people", row)
`,
  },
  {
    path: "lib/names.py",
    text: String.raw`"""Names as people type them."""


def words_of(text):
    """Words in lower case."""
    return «text.lower().split()|text.split()»


def tidy(text):
    """One space between words, each with a capital."""
    return " ".join([word.title() for word in words_of(text)])


def same_name(one, other):
    """Whether two names differ only in spaces and capitals."""
    return words_of(one) == words_of(other)
`,
  },
  {
    path: "services/lending.py",
    text: String.raw`"""Loans from the day they are opened to the day they are closed."""
from $pkg.errors import refused
from $pkg.rules.eligibility import check_can_borrow
from $pkg.rules.fees import late_fee
from $pkg.rules.terms import due_day
from $pkg.rules.vouchers import after_voucher §voucher
from $pkg.services.ledger import charge
from $pkg.services.waitlist import leave_queue §reserve


def open_loan(store, $item_id, $person_id, day):
    """A new loan, where the rules allow it."""
    $item = store.get("$items", $item_id)
    $person = store.get("$people", $person_id)
    check_can_borrow(store, $item, $person)
    $item["out"] = «True|False»
    leave_queue(store, $item, $person) §reserve
    row = {
        "$item": $item["id"],
        "$person": $person["id"],
        "day": day,
        "due": due_day(store, $item, $person, day),
        "back": None,
        "renewals": 0, §renew
    }
    return store.add("loans", row)


def open_loan_row(store, loan_id):
    """A loan that is not closed."""
    loan = store.get("loans", loan_id)
    if loan["back"] is not None:
        raise refused("closed")
    return loan


def close_loan(store, loan_id, day):
    """The closed loan, and the fee that was charged."""
    loan = open_loan_row(store, loan_id)
    $item = store.get("$items", loan["$item"])
    fee = late_fee(loan, $item, day)
    fee = after_voucher(store, loan["$person"], fee, day) §voucher
    loan["back"] = «day|loan["due"]»
    $item["out"] = «False|fee > 0»
    if fee > 0:
        charge(store, loan["$person"], fee, day, "late")
    return loan, fee
`,
  },
  {
    path: "services/ledger.py",
    text: String.raw`"""What $people owe."""


def charge(store, $person_id, amount, day, reason):
    """A new charge."""
    row = {
        "$person": $person_id,
        "amount": amount,
        "day": day,
        "reason": reason,
        "paid": 0, §pay
    }
    return store.add("charges", row)


def open_amount(row):
    """What is left of a charge."""
    left = row["amount"]
    left -= row["paid"] §pay
    return left


def charges_of(store, $person_id):
    """All charges of a $person."""
    return store.where("charges", "$person", $person_id)


def balance(store, $person_id):
    """The sum of what is left of the charges."""
    $person = store.get("$people", $person_id)
    return sum([open_amount(row) for row in charges_of(store, $person["id"])])
`,
  },
  {
    path: "rules/eligibility.py",
    text: String.raw`"""Who may borrow what."""
from $pkg.errors import refused
from $pkg.rules.debts import check_debt
from $pkg.rules.tiers import limit_for, open_loans
from $pkg.services.waitlist import first_in_queue §reserve


def check_$item(store, $item, $person):
    """Refuses a $item that cannot go out."""
    if $item["withdrawn"]: §damage
        raise refused("withdrawn") §damage
    if $item["out"]:
        raise refused("out")
    first = first_in_queue(store, $item) §reserve
    if first is not None and first != $person["id"]: §reserve
        raise refused("reserved") §reserve


def check_$person(store, $person):
    """Refuses a $person who may not borrow more."""
    if $person["blocked"]: §nightly
        raise refused("blocked") §nightly
    if len(open_loans(store, $person)) «>=|>» limit_for(store, $person):
        raise refused("limit")
    check_debt(store, $person)


def check_can_borrow(store, $item, $person):
    """Refuses a loan: first for the $item, then for the $person."""
    check_$item(store, $item, $person)
    check_$person(store, $person)
`,
  },
  {
    path: "rules/debts.py",
    text: String.raw`"""How much a $person may owe."""
from $pkg.errors import refused
from $pkg.rules.tiers import is_loyal
from $pkg.services.ledger import balance
from $pkg.settings import LOYAL_DEBT, MOST_DEBT


def debt_limit(store, $person):
    """Loyal $people may owe more."""
    if is_loyal(store, $person):
        return «LOYAL_DEBT|MOST_DEBT»
    return MOST_DEBT


def check_debt(store, $person):
    """Refuses a $person who owes more than the limit."""
    if balance(store, $person["id"]) «>|>=» debt_limit(store, $person):
        raise refused("debt")
`,
  },
  {
    path: "rules/tiers.py",
    text: String.raw`"""What the tiers give."""
from $pkg.settings import EXTRA_DAYS, LIMITS, LOYAL_AFTER


def loans_of(store, $person):
    """All loans of a $person."""
    return store.where("loans", "$person", $person["id"])


def open_loans(store, $person):
    """Loans that are not closed."""
    return [loan for loan in loans_of(store, $person) if loan["back"] is None]


def is_back_by(loan, day):
    """Whether a loan came back on a day or before it."""
    return loan["back"] is not None and loan["back"] «<=|<» day


def is_punctual(loan):
    """Whether a loan came back in time."""
    return is_back_by(loan, loan["«due|day»"])


def punctual_loans(store, $person):
    """Loans that came back in time."""
    return [loan for loan in loans_of(store, $person) if is_punctual(loan)]


def is_loyal(store, $person):
    """Whether a $person has returned often enough in time."""
    return len(punctual_loans(store, $person)) «>=|>» LOYAL_AFTER


def limit_for(store, $person):
    """How many $items a $person may have at once."""
    limit = LIMITS[$person["tier"]]
    if is_loyal(store, $person):
        limit += «1|0»
    return limit


def extra_days(store, $person):
    """Days that a loan of a loyal $person is longer."""
    return «EXTRA_DAYS if is_loyal(store, $person) else 0|EXTRA_DAYS»
`,
  },
  {
    path: "rules/terms.py",
    text: String.raw`"""How long a loan lasts."""
from $pkg.lib.calendar import next_open_day
from $pkg.rules.tiers import extra_days
from $pkg.settings import CHEAP_DAYS, CHEAP_VALUE, LOAN_DAYS


def loan_days(store, $item, $person):
    """Days of a loan before it is moved to an open day."""
    days = LOAN_DAYS
    if $item["value"] «<|<=» CHEAP_VALUE:
        days = CHEAP_DAYS
    return days + extra_days(store, $person)


def due_day(store, $item, $person, day):
    """The last day of a loan."""
    return next_open_day(day + loan_days(store, $item, $person))
`,
  },
  {
    path: "rules/fees.py",
    text: String.raw`"""What late $items cost."""
from $pkg.lib.calendar import open_days
from $pkg.lib.money import percent_of
from $pkg.settings import GRACE_DAYS, LEAST_RATE, MOST_PERCENT, RATE_PERCENT


def days_late(loan, day):
    """Open days after the due day."""
    return open_days(loan["due"], day)


def daily_rate(value):
    """The fee of one day."""
    return «max|min»(LEAST_RATE, percent_of(value, RATE_PERCENT))


def most_fee(value):
    """No fee is above this."""
    return percent_of(value, MOST_PERCENT)


def late_fee(loan, $item, day):
    """Nothing within the days of grace; after them every late day counts."""
    late = days_late(loan, day)
    if late «<=|<» GRACE_DAYS:
        return 0
    value = $item["value"]
    return min(«late|(late - GRACE_DAYS)» * daily_rate(value), most_fee(value))
`,
  },
];
