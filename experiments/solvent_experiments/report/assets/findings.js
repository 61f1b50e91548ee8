// Panels of words: the last finding and the reasons for its verdict, the pages, all findings so far, and energy.

function wordsPanel(at) {
  const { state } = at,
    finding = state.finding;
  if (!finding)
    return panel(
      "Words and verdicts",
      "",
      element("p", { class: "note" }, "Nothing was said yet."),
      standing(at),
    );
  const { lab } = at,
    heard = finding.audience === "public" ? "all readers" : "one reader";
  const when = finding.step === at.step ? "just now" : `at step ${finding.step}`;
  const subject = `Of ${lab.compounds[finding.compound]}, to ${heard}, ${when}`;
  const what = `${subject}: ${finding.names}, with confidence ${finding.confidence}.`;
  const parts = [element("p", { class: "note" }, what)];
  if (finding.sentence) parts.push(element("blockquote", {}, finding.sentence));
  const right = "right" in finding ? `, and ${finding.right ? "right" : "wrong"}: ${finding.paid} bits` : "";
  parts.push(
    element(
      "p",
      { class: `verdict ${finding.verdict}` },
      VERDICTS[finding.verdict],
      finding.decided ? ` ${finding.decided}` : "",
      right,
    ),
  );
  if (finding.limits)
    parts.push(
      residual(finding),
      element("p", { class: "note" }, `Gate at ${finding.policy}: ${finding.why}.`),
    );
  if (finding.scored)
    parts.push(
      adequacyScale(finding),
      element(
        "p",
        { class: "note" },
        `Adequacy: ${finding.scored}${finding.alone ? ` (${finding.alone})` : ""}.`,
      ),
    );
  if (finding.evidence)
    parts.push(element("h5", {}, "Evidence on the page"), evidence(at, finding.evidence));
  return panel("Words and verdicts", "", parts, standing(at));
}

// How far the sentence lies outside of its evidence, on the thresholds of the policy that judged it.
function residual(finding) {
  const [accept, review] = finding.limits,
    top = Math.max(3 * review, 1.05 * finding.energy, 0.001),
    x = (value) => 4 + (352 * value) / top;
  return drawing(
    360,
    40,
    `hallucination energy ${finding.energy}, accepted up to ${accept}, reviewed up to ${review}`,
    box(x(0), 8, x(accept) - x(0), 12, "band accept"),
    box(x(accept), 8, x(review) - x(accept), 12, "band review"),
    box(x(review), 8, 356 - x(review), 12, "band reject"),
    dot(x(finding.energy), 14, 5, `mark ${finding.gate_verdict}`),
    label(fixed(accept, 3), x(accept), 34, accept > 0.12 * top ? "end" : "start", "muted"),
    x(review) - x(accept) > 14 ? label(fixed(review, 3), x(review) + 2, 34, "start", "muted") : null,
    label(`energy ${fixed(finding.energy, 3)}`, 356, 34, "end"),
  );
}

function adequacyScale(finding) {
  return drawing(
    360,
    22,
    `adequacy score ${finding.score} of 3`,
    [0, 1, 2, 3].map((score) => [
      box(4 + 88 * score, 2, 84, 16, `score${score === finding.score ? ` now s${score}` : ""}`),
      label(
        ["0 borne out", "1", "2", "3 beyond it"][score],
        46 + 88 * score,
        14,
        "middle",
        score === finding.score ? "inverse" : "muted",
      ),
    ]),
  );
}

function evidence(at, numbers) {
  if (!numbers.length) return element("p", { class: "note" }, "The page is empty: no experiment was run.");
  return element(
    "ol",
    { class: "evidence" },
    numbers.map((number) => element("li", {}, at.sentences[number])),
  );
}

// What governs the gate now, and what the agent is told.
function standing(at) {
  const { state } = at;
  if (!state.policy) return null;
  return [
    element("h5", {}, `The gate now: ${state.policy}`),
    element(
      "p",
      { class: "note" },
      [state.tally, state.governed, state.scores].filter(Boolean).join("; "),
      ".",
    ),
    state.waiting ? element("p", { class: "note" }, `Under review: ${state.waiting}.`) : null,
    state.correction
      ? element(
          "p",
          { class: "told" },
          `The agent is told, for ${state.correction[1]} h more: ${state.correction[0]}`,
        )
      : null,
  ];
}

function notebookPanel(at) {
  const page = at.state.page;
  if (!at.state.policy) return null;
  if (!page) return panel("Notebook", "", element("p", { class: "note" }, "Its pages are empty."));
  const { finding } = at.state,
    shown = finding && finding.step === at.step;
  return panel(
    "Notebook",
    `the page of ${at.lab.compounds[page.compound]}`,
    shown ? element("p", { class: "note" }, "As above.") : evidence(at, page.evidence),
  );
}

function findingsPanel(at) {
  const rows = at.states
    .slice(1, at.step + 1)
    .filter((state, i) => state.finding && state.finding.step === i + 1)
    .map((state) => state.finding);
  const name = (finding) => at.lab.compounds[finding.compound];
  const result = (finding) =>
    VERDICTS[finding.verdict] + ("right" in finding ? `, ${finding.right ? "right" : "wrong"}` : "");
  const body = rows.map((finding) =>
    element(
      "tr",
      {},
      element("td", {}, finding.step),
      element("th", { scope: "row", class: "text" }, name(finding)),
      element("td", { class: "text" }, `${finding.names} at ${finding.confidence}`),
      element("td", { class: `text verdict ${finding.verdict}` }, result(finding)),
      element("td", {}, finding.paid || ""),
    ),
  );
  if (!rows.length) return panel("Findings so far", "", element("p", { class: "note" }, "None."));
  return panel(
    "Findings so far",
    "",
    scrolled(["step", "compound", "says", "verdict", "bits"], ["compound", "says", "verdict"], body),
  );
}

function scrolled(heads, texts, body) {
  const cells = heads.map((head) =>
    element("th", { scope: "col", class: texts.includes(head) ? "text" : "" }, head),
  );
  const table = element(
    "table",
    {},
    element("thead", {}, element("tr", {}, cells)),
    element("tbody", {}, body),
  );
  return element("div", { class: "scroll" }, table);
}

function energyPanel(at) {
  const { state, lab } = at;
  if (!lab.cap) return null;
  const verbs = Object.keys(state).filter((key) => key.startsWith("cost_"));
  const fair = at.truth && at.episode.truth.fair;
  const body = verbs.map((key) => {
    const verb = key.slice(5),
      [now, about] = state[key];
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, words(verb)),
      element("td", {}, now),
      fair ? element("td", { class: "truth" }, fair[verb]) : null,
      element("td", { class: "text why" }, about),
    );
  });
  const heads = ["", "costs now", ...(fair ? ["fair"] : []), "because"];
  return panel(
    "Energy",
    `${fixed(state.energy, 1)} of ${lab.cap}; ${state.user}`,
    scrolled(heads, ["because"], body),
    element("p", { class: "note" }, `Energy spent on: ${state.intents}. Voice: ${state.voice}.`),
  );
}
