// Panels: each draws one part of the lab as it stands at a step. `at` has the run's `lab` and `sentences`, the
// `episode` with its `events` and `states`, the number of the `step`, its `event`, the `state` of the lab after it, and
// `truth`: whether to show what is hidden.

const VERDICTS = { accept: "accepted", review: "under review", reject: "rejected" };

function panel(name, about, ...children) {
  return element(
    "section",
    { class: `panel ${words(name).split(" ")[0].toLowerCase()}` },
    element("h4", {}, name, about ? element("span", { class: "about" }, about) : null),
    ...children,
  );
}

function facts(pairs) {
  return element(
    "dl",
    { class: "facts" },
    pairs
      .filter(Boolean)
      .map(([name, value, id]) =>
        element("div", {}, element("dt", {}, name), element("dd", id ? { "data-fact": id } : {}, value)),
      ),
  );
}

// -- what was done

function actionPanel(at) {
  const { event, state, lab } = at;
  const said = element("p", { class: "said" }, event.said);
  const outcome = element("p", { class: "outcome" }, event.outcome);
  const parts = [said, outcome];
  if (event.reason) parts.push(element("p", { class: "note" }, `Reason on record: ${event.reason}.`));
  if (event.kind === "explored") parts.push(claimBars(event));
  if (["published", "submitted", "rejected"].includes(event.kind)) parts.push(licenceBars(state.finding));
  const kind = ["refused", "rejected", "deferred", "not_executed"].includes(event.kind)
    ? "bad"
    : event.kind === "published"
      ? state.finding.right
        ? "good"
        : "bad"
      : "plain";
  return element(
    "div",
    { class: `action ${kind}` },
    element("p", { class: "when" }, at.step === 0 ? "The start" : `Action ${at.step}: ${words(event.kind)}`),
    parts,
  );
}

function bars(rows, aria) {
  const most = Math.max(1, ...rows.map(([, value]) => value));
  return drawing(
    360,
    20 * rows.length + 2,
    aria,
    rows.map(([name, value, kind], row) => [
      label(name, 0, 20 * row + 14),
      box(110, 20 * row + 4, (190 * Math.max(0, value)) / most, 12, kind),
      label(`${fixed(value)} bits`, 116 + (190 * Math.max(0, value)) / most, 20 * row + 14, "start", "muted"),
    ]),
  );
}

function claimBars(event) {
  return bars(
    [
      ["claimed", event.claim, "claimed"],
      ["really learnt", event.gain, "gained"],
    ],
    `claimed ${fixed(event.claim)} bits, learnt ${fixed(event.gain)} bits`,
  );
}

function licenceBars(finding) {
  return bars(
    [
      ["asserted", finding.asserted, "claimed"],
      ["licensed", finding.licence, "gained"],
    ],
    `asserted ${fixed(finding.asserted)} bits, licensed ${fixed(finding.licence)} bits`,
  );
}

// -- the books

function booksPanel(at) {
  const { lab, state } = at;
  const slot = lab.slots ? `, slot ${Math.min(lab.slots, state.slot + 1)} of ${lab.slots}` : "";
  return facts([
    ["Return so far", `${signed(state.score)} bits`, "score"],
    ["Debt", `${fixed(state.debt)} bits`, "debt"],
    ["Price of wells", `×${fixed(state.price)}`, "price"],
    ["Wells left", `${state.wells} of ${lab.wells}`, "wells"],
    lab.cap ? ["Energy", `${fixed(state.energy, 1)} of ${lab.cap}`, "energy"] : null,
    ["Hour", `${state.clock}`, "clock"],
    ["Heartbeat", `${state.heartbeat} of ${lab.heartbeats}${slot}`, "heartbeat"],
    ["New reagent lot in", `${state.lot} h`, "lot"],
    ["Findings out", `${state.accepted}${state.wrong ? `, ${state.wrong} wrong` : ""}`, "accepted"],
    ["Refusals", `${state.refusals}`, "refusals"],
  ]);
}

// A value over the whole episode, faint where it is still to come.
function curve(at, name, top, limit, unit) {
  const width = 360,
    height = 76,
    left = 34,
    right = 352,
    floor = 62,
    values = at.states.map((state) => state[name]);
  const most = Math.max(top, ...values),
    x = (i) => left + ((right - left) * i) / Math.max(1, values.length - 1);
  const y = (value) => floor - (52 * Math.max(0, value)) / most;
  const path = (upto) =>
    values
      .slice(0, upto + 1)
      .map((value, i) => `${i ? `H${x(i).toFixed(1)}V` : `M${left} `}${y(value).toFixed(1)}`)
      .join("");
  const now = values[at.step];
  return drawing(
    width,
    height,
    `${name}: ${fixed(now)} ${unit} at step ${at.step}`,
    limit === null
      ? null
      : [
          line(left, y(limit), right, y(limit), "limit"),
          label(limit, left - 4, y(limit) + 4, "end", "muted"),
        ],
    label("0", left - 4, floor + 3, "end", "muted"),
    line(left, floor, right, floor, "axis"),
    shape("path", { d: path(values.length - 1), class: "line later" }),
    shape("path", { d: path(at.step), class: `line ${name}` }),
    dot(x(at.step), y(now), 3.5, name),
    label(`step 0`, left, 74, "start", "muted"),
    label(values.length - 1, right, 74, "end", "muted"),
  );
}

function curvesPanel(at) {
  const { lab } = at;
  const threshold = lab.enforced
    ? `dashed: above ${lab.threshold} bits only calibrations run`
    : "dashed: the threshold, not enforced";
  return panel("Books over time", "", [
    element("h5", {}, "Debt ", element("span", { class: "about" }, threshold)),
    curve(at, "debt", 1.3 * lab.threshold, lab.threshold, "bits"),
    element("h5", {}, "Wells left"),
    curve(at, "wells", lab.wells, lab.wells, "wells"),
    lab.cap
      ? [
          element("h5", {}, "Energy ", element("span", { class: "about" }, "dashed: the cap")),
          curve(at, "energy", 1.1 * lab.cap, lab.cap, "units"),
        ]
      : null,
  ]);
}
