/** Optional features about money: payments, damages, vouchers, statements, reports, hand-overs. */
import type { Template } from "./template.ts";

export const MONEY_FEATURES: readonly Template[] = [
  {
    path: "handlers/payments.py",
    feature: "pay",
    text: String.raw`"""Commands about payments."""
from $pkg.services.ledger import balance
from $pkg.services.payments import take_payment


def pay(store, args):
    """A $person pays."""
    settled = take_payment(store, args["$person"], args["amount"])
    store.note("pay", args["$person"])
    return {"charges": settled, "owed": balance(store, args["$person"])}
`,
  },
  {
    path: "services/payments.py",
    feature: "pay",
    text: String.raw`"""Payments are set against charges."""
from $pkg.errors import refused
from $pkg.rules.allocation import shares_of
from $pkg.services.ledger import balance, charges_of, open_amount


def take_payment(store, $person_id, amount):
    """Numbers of the charges that are settled by this payment."""
    if amount < 1:
        raise refused("bad-value")
    if amount «>|>=» balance(store, $person_id):
        raise refused("overpaid")
    settled = []
    for row, share in shares_of(charges_of(store, $person_id), amount):
        row["paid"] «+=|=» share
        if open_amount(row) == 0:
            settled.append(row["id"])
    return settled
`,
  },
  {
    path: "rules/allocation.py",
    feature: "pay",
    text: String.raw`"""Which charges a payment goes to."""
from $pkg.services.ledger import open_amount


def urgency(row):
    """Damage first, then by day, then by number."""
    return [«0 if row["reason"] == "damage" else 1|0», «row["day"]|0», row["id"]]


def shares_of(charges, amount):
    """Pairs of a charge and what it gets."""
    pairs = []
    left = amount
    for row in sorted(charges, key=urgency):
        share = min(left, «open_amount(row)|row["amount"]»)
        if share > 0:
            pairs.append([row, share])
        left -= share
    return pairs
`,
  },
  {
    path: "handlers/damages.py",
    feature: "damage",
    text: String.raw`"""Commands about damages."""
from $pkg.services.damages import record_damage


def report_damage(store, args):
    """A $item is damaged."""
    row, cost = record_damage(store, args["$item"], args["$person"], args["grade"], args["day"])
    store.note("report-damage", row["id"])
    return {"damage": row["id"], "cost": cost}
`,
  },
  {
    path: "services/damages.py",
    feature: "damage",
    text: String.raw`"""Damages are charged and add up."""
from $pkg.errors import refused
from $pkg.rules.damage_scale import cost_of, is_worn_out
from $pkg.services.ledger import charge
from $pkg.settings import DAMAGE_PERCENTS


def record_damage(store, $item_id, $person_id, grade, day):
    """The damage, and what it costs."""
    if grade not in DAMAGE_PERCENTS:
        raise refused("bad-grade")
    $item = store.get("$items", $item_id)
    $person = store.get("$people", $person_id)
    before = store.where("damages", "$item", $item["id"])
    cost = cost_of($item, grade, before)
    row = store.add("damages", {"$item": $item["id"], "grade": grade, "cost": cost})
    if cost > 0:
        charge(store, $person["id"], cost, day, "damage")
    $item["withdrawn"] = is_worn_out($item, before + «[row]|[]»)
    return row, cost
`,
  },
  {
    path: "rules/damage_scale.py",
    feature: "damage",
    text: String.raw`"""What a damage costs, and when a $item is worn out."""
from $pkg.lib.money import percent_of
from $pkg.settings import DAMAGE_PERCENTS, WORN_PERCENT


def cost_so_far(damages):
    """The sum of the costs."""
    return sum([row["cost"] for row in damages])


def cost_of($item, grade, before):
    """All damages of a $item together cost at most its value."""
    cost = percent_of($item["value"], DAMAGE_PERCENTS[grade])
    return min(cost, $item["value"] «- cost_so_far(before)|»)


def is_worn_out($item, damages):
    """Whether the damages reach the share of the value that the settings name."""
    return «cost_so_far(damages)|damages[-1]["cost"]» «>=|>» percent_of($item["value"], WORN_PERCENT)
`,
  },
  {
    path: "handlers/vouchers.py",
    feature: "voucher",
    text: String.raw`"""Commands about vouchers."""
from $pkg.services.vouchers import give_voucher


def add_voucher(store, args):
    """A $person gets a voucher."""
    row = give_voucher(store, args["$person"], args["percent"], args["until"])
    store.note("add-voucher", row["id"])
    return {"voucher": row["id"]}
`,
  },
  {
    path: "services/vouchers.py",
    feature: "voucher",
    text: String.raw`"""Vouchers that $people have."""
from $pkg.errors import refused


def give_voucher(store, $person_id, percent, until):
    """A voucher for one late fee."""
    $person = store.get("$people", $person_id)
    if percent < 1 or percent «>|>=» 100:
        raise refused("bad-voucher")
    row = {"$person": $person["id"], "percent": percent, "until": until, "used": False}
    return store.add("vouchers", row)


def usable(store, $person_id, day):
    """Vouchers that are neither used nor expired."""
    mine = store.where("vouchers", "$person", $person_id)
    return [row for row in mine if not row["used"] and row["until"] «>=|>» day]
`,
  },
  {
    path: "rules/vouchers.py",
    feature: "voucher",
    text: String.raw`"""Which voucher lowers a late fee."""
from $pkg.lib.money import percent_of
from $pkg.services.vouchers import usable


def rank(row):
    """The largest percentage first; of equal ones that which expires first."""
    return [«-row["percent"]|row["percent"]», «row["until"]|-row["until"]», row["id"]]


def after_voucher(store, $person_id, fee, day):
    """What is left of a fee. A voucher is used up only where there is a fee."""
    mine = sorted(usable(store, $person_id, day), key=rank)
    if fee == 0 or len(mine) == 0:
        return fee
    mine[0]["used"] = «True|False»
    return fee - percent_of(fee, mine[0]["percent"])
`,
  },
  {
    path: "handlers/statements.py",
    feature: "statement",
    text: String.raw`"""Commands about statements."""
from $pkg.services.statements import statement_lines


def statement(store, args):
    """All charges of a $person."""
    return {"lines": statement_lines(store, args["$person"])}
`,
  },
  {
    path: "services/statements.py",
    feature: "statement",
    text: String.raw`"""Statements: a line for each charge, with the sum so far."""
from $pkg.lib.amounts import amount_text
from $pkg.services.ledger import charges_of, open_amount


def by_day(row):
    """Lines are in the order of days; of one day in that of numbers."""
    return [«row["day"]|0», row["id"]]


def statement_lines(store, $person_id):
    """Lines with day, reason, open amount and sum so far. What is settled has no line."""
    $person = store.get("$people", $person_id)
    lines = []
    total = 0
    for row in sorted(charges_of(store, $person["id"]), key=by_day):
        left = open_amount(row)
        if left == 0:
            continue
        total «+=|=» left
        lines.append(f"{row_day(row)} {amount_text(left)} {amount_text(total)}")
    return lines


def row_day(row):
    """The beginning of a line."""
    day = row["day"]
    reason = row["reason"]
    return f"day {day} {reason}"
`,
  },
  {
    path: "lib/amounts.py",
    feature: "statement",
    text: String.raw`"""Amounts as people read them."""


def two_digits(cents):
    """Cents with a zero in front where needed."""
    return «f"0{cents}"|str(cents)» if cents < 10 else str(cents)


def amount_text(amount):
    """1205 is 12.05."""
    return f"{amount // 100}.{two_digits(amount % «100|10»)}"
`,
  },
  {
    path: "handlers/reports.py",
    feature: "report",
    text: String.raw`"""Commands about reports."""
from $pkg.services.statistics import fees_in, popular_in


def report(store, args):
    """What happened in a span of days."""
    popular = popular_in(store, args["first"], args["last"])
    return {"names": popular, "fees": [fees_in(store, args["first"], args["last"])]}
`,
  },
  {
    path: "services/statistics.py",
    feature: "report",
    text: String.raw`"""Counts over loans and charges."""
from $pkg.errors import refused
from $pkg.rules.ranking import best
from $pkg.settings import REPORT_NAMES


def in_span(row, first, last):
    """Both ends count."""
    return first <= row["day"] and row["day"] «<=|<» last


def popular_in(store, first, last):
    """Names of the $items that were lent most often."""
    if last < first:
        raise refused("bad-span")
    counts = {}
    for loan in store.table("loans").values():
        if in_span(loan, first, last):
            name = store.get("$items", loan["$item"])["name"]
            counts[name] = «counts.get(name, 0) + 1|1»
    return best(counts, REPORT_NAMES)


def fees_in(store, first, last):
    """The sum of the late fees that were charged; other charges do not count."""
    rows = store.«where("charges", "reason", "late")|table("charges").values()»
    return sum([row["amount"] for row in rows if in_span(row, first, last)])
`,
  },
  {
    path: "rules/ranking.py",
    feature: "report",
    text: String.raw`"""Orders of names by counts."""


def order(pair):
    """The larger count first; names of equal counts by the alphabet."""
    name, count = pair
    return [«-count|count», «name|0»]


def best(counts, most):
    """At most so many names."""
    pairs = sorted(counts.items(), key=order)
    return [name for name, count in pairs[:most]]
`,
  },
  {
    path: "handlers/handovers.py",
    feature: "handover",
    text: String.raw`"""Commands about hand-overs."""
from $pkg.services.handovers import pass_on


def hand_over(store, args):
    """A $item goes from one $person to another without coming back."""
    loan, fee = pass_on(store, args["loan"], args["to"], args["day"])
    store.note("hand-over", loan["id"])
    return {"loan": loan["id"], "due": loan["due"], "fee": fee}
`,
  },
  {
    path: "services/handovers.py",
    feature: "handover",
    text: String.raw`"""A hand-over closes a loan and opens another."""
from $pkg.errors import refused
from $pkg.rules.eligibility import check_$person
from $pkg.services.lending import close_loan, open_loan, open_loan_row
from $pkg.services.waitlist import first_in_queue §reserve


def check_hand_over(store, loan, $item, to):
    """The receiver must be another $person who may borrow, and the first of those who wait."""
    if loan["$person"] == to:
        raise refused("same-$person")
    if $item["withdrawn"]: §damage
        raise refused("withdrawn") §damage
    first = first_in_queue(store, $item) §reserve
    if first is not None and first != to: §reserve
        raise refused("reserved") §reserve
    check_$person(store, store.get("$people", to))


def pass_on(store, loan_id, to, day):
    """The new loan, and the late fee of the old one."""
    old = open_loan_row(store, loan_id)
    $item = store.get("$items", old["$item"])
    check_hand_over(store, old, $item, to)
    closed, fee = close_loan(store, old["id"], day)
    loan = open_loan(store, $item["id"], «to|old["$person"]», day)
    loan["due"] = shorter_due(loan, old, day)
    return loan, fee


def shorter_due(loan, old, day):
    """Half the days of an ordinary loan, rounded up, but never before the old due day."""
    half = day + «(loan["due"] - day + 1) // 2|(loan["due"] - day) // 2»
    return max(half, «old["due"]|0»)
`,
  },
];
