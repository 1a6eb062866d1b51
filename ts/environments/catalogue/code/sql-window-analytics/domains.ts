/** Domains of the table: the names of what it holds. */

export interface Domain {
  readonly table: string;
  /** One row, and several. */
  readonly one: string;
  readonly many: string;
  /** The column of whom a row belongs to, that of its number, and that of its state. */
  readonly owner: string;
  readonly value: string;
  readonly state: string;
  readonly states: readonly string[];
  readonly owners: readonly string[];
  /** Four introductions. */
  readonly stories: readonly string[];
}

export const DOMAINS: readonly Domain[] = [
  {
    table: "trip",
    one: "trip",
    many: "trips",
    owner: "driver",
    value: "km",
    state: "purpose",
    states: ["freight", "service", "private"],
    owners: ["Ada", "Bo", "Cem", "Dora"],
    stories: [
      "A haulier keeps the trips of its drivers; the distance of some was never entered.",
      "The log of a fleet has a row for each trip.",
      "Drivers report their trips with the day, the purpose and the distance.",
      "An auditor wants to see how the trips of each driver follow each other.",
    ],
  },
  {
    table: "reading",
    one: "reading",
    many: "readings",
    owner: "sensor",
    value: "level",
    state: "mode",
    states: ["auto", "manual", "test"],
    owners: ["inlet", "outlet", "basin", "weir"],
    stories: [
      "Sensors of a water works send readings, and sometimes several on a day.",
      "A water works stores what its sensors measure; a failed measurement has no level.",
      "The readings of a plant come in out of order, so ids say nothing about days.",
      "An engineer looks for streaks and jumps in the readings of a plant.",
    ],
  },
  {
    table: "sale",
    one: "sale",
    many: "sales",
    owner: "shop",
    value: "amount",
    state: "channel",
    states: ["counter", "phone", "web"],
    owners: ["Mill Lane", "Harbour", "Station", "Old Town"],
    stories: [
      "A chain of shops keeps all its sales in one table.",
      "Head office compares the sales of its shops over the year.",
      "Some sales are still without an amount, because the slip has not been read.",
      "The finance team of a chain asks for a report of sales.",
    ],
  },
  {
    table: "bid",
    one: "bid",
    many: "bids",
    owner: "lot",
    value: "price",
    state: "source",
    states: ["room", "online", "written"],
    owners: ["clock", "vase", "atlas", "globe"],
    stories: [
      "An auction house keeps every bid for its lots.",
      "Bids reach an auction from the room, over the net and in writing; a sealed one has no price yet.",
      "After an auction the course of the bids is looked at lot by lot.",
      "A table holds the bids of an auction that lasted for many days.",
    ],
  },
  {
    table: "score",
    one: "score",
    many: "scores",
    owner: "player",
    value: "points",
    state: "league",
    states: ["open", "junior", "masters"],
    owners: ["Ines", "Jo", "Kim", "Lars"],
    stories: [
      "A club notes the scores of its players; a game that was broken off has no points.",
      "The league table is made from the scores of the players.",
      "A coach studies how the scores of her players develop.",
      "Scores of several leagues stand in one table.",
    ],
  },
  {
    table: "visit",
    one: "visit",
    many: "visits",
    owner: "patient",
    value: "minutes",
    state: "ward",
    states: ["north", "south", "day"],
    owners: ["P-01", "P-02", "P-03", "P-04"],
    stories: [
      "A clinic keeps a row for each visit of a patient.",
      "The clinic wants to know how visits of its patients cluster.",
      "The length of a visit is missing where the end was not entered.",
      "A report about visits is due, and the table is all there is.",
    ],
  },
  {
    table: "delivery",
    one: "delivery",
    many: "deliveries",
    owner: "supplier",
    value: "crates",
    state: "gate",
    states: ["east", "west", "rail"],
    owners: ["Orchard", "Fields", "Creek", "Hill"],
    stories: [
      "A market keeps the deliveries of its suppliers by day and gate.",
      "Deliveries that were not counted have no number of crates.",
      "The buyer looks at how regularly the suppliers deliver.",
      "Deliveries are entered late, so that their ids are not in the order of days.",
    ],
  },
  {
    table: "ticket",
    one: "ticket",
    many: "tickets",
    owner: "agent",
    value: "effort",
    state: "queue",
    states: ["billing", "network", "access"],
    owners: ["Rosa", "Sven", "Tui", "Uma"],
    stories: [
      "A help desk assigns tickets to its agents; an effort is noted when one is done.",
      "The head of a help desk compares how the work of the agents goes on.",
      "Tickets that are open have no effort yet.",
      "One table holds the tickets of a help desk.",
    ],
  },
];
