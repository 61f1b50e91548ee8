// What is believed of the compounds and of the instrument.

function compoundsPanel(at) {
  const potent = at.lab.classes.slice(1);
  const active = potent.length > 1 ? `from ${potent[0]} to ${potent.at(-1)}` : potent[0];
  return panel(
    "Belief",
    `potency of each compound: ${at.lab.classes[0]}, or EC50 ${active}`,
    element(
      "div",
      { class: "compounds" },
      at.lab.compounds.map((name, m) => compoundCard(at, name, m)),
    ),
    element(
      "p",
      { class: "note" },
      "Bars: probability of each class; grey: what was believed at the start. Strip: of all there is to know, " +
        "light what is known, dark what is licensed (claimed and learnt).",
    ),
  );
}

function compoundCard(at, name, m) {
  const { lab, state } = at,
    belief = state[`belief_${m}`],
    about = state[`compound_${m}`];
  const best = belief.indexOf(Math.max(...belief)),
    truth = at.episode.truth.classes[m];
  const pitch = 160 / (belief.length + 0.5),
    floor = 50,
    x = (g) => (g + (g ? 0.5 : 0)) * pitch;
  const tall = (p) => (42 * p) / 1000;
  const marked = about.class === -1 ? -1 : about.class;
  const drawn = belief.map((p, g) => [
    box(x(g), floor - tall(lab.prior[g]), 0.82 * pitch, tall(lab.prior[g]), "prior"),
    box(
      x(g),
      floor - tall(p),
      0.82 * pitch,
      tall(p),
      g === marked ? (about.review ? "review" : "out") : "belief",
    ),
    at.truth && g === truth
      ? shape("path", { d: `M${x(g) + 0.41 * pitch - 4} 0h8l-4 6z`, class: "truth" })
      : null,
  ]);
  const known = lab.ceiling ? Math.max(0, 1 - about.unknown / lab.ceiling) : 0;
  const licensed = lab.ceiling ? Math.min(1, about.licence / lab.ceiling) : 0;
  const tag = about.review
    ? `in review, ${about.review} h: ${lab.classes[about.class]}`
    : about.published
      ? `${about.published === 1 ? "told one reader" : "published"}: ${lab.classes[about.class]}`
      : about.plates
        ? counted(about.plates, "plate")
        : "";
  const likely = `${lab.classes[best]} (${Math.round(belief[best] / 10)} %)`;
  return element(
    "div",
    { class: `compound${at.event.compound === m ? " current" : ""}`, "data-compound": m },
    element("p", { class: "name" }, element("b", {}, name)),
    element(
      "p",
      { class: about.review ? "tag review" : about.published ? "tag out" : "tag" },
      tag || "\u00a0",
    ),
    drawing(
      160,
      60,
      `${name}: most probable ${likely}`,
      drawn,
      line(0, floor, 160, floor, "axis"),
      box(0, 54, 160, 5, "unknown"),
      box(0, 54, 160 * known, 5, "known"),
      box(0, 54, 160 * licensed, 5, "licensed"),
    ),
    [
      about.plates ? `likely ${likely}` : "not measured yet",
      `${fixed(about.unknown)} of ${lab.ceiling} bits unknown`,
      `licence ${fixed(about.licence)} bits`,
    ].map((text) => element("p", { class: "numbers" }, text)),
    at.truth ? element("p", { class: "numbers truth" }, `truth: ${lab.classes[truth]}`) : null,
  );
}

function instrumentPanel(at) {
  const { lab, state } = at,
    wide = lab.gains.length,
    high = lab.noises.length;
  const width = 300 / wide,
    height = Math.min(26, 90 / high),
    left = 50;
  const cells = state.instrument.map((p, i) => {
    const column = Math.floor(i / high),
      row = high - 1 - (i % high),
      x = left + column * width,
      y = 4 + row * height;
    const cell = box(x, y, width - 2, height - 2, "cell");
    cell.setAttribute("fill-opacity", Math.min(1, 0.04 + (1.5 * p) / 1000).toFixed(3));
    return [
      cell,
      p >= 100
        ? label(
            `${Math.round(p / 10)} %`,
            x + width / 2 - 1,
            y + height / 2 + 3,
            "middle",
            p > 450 ? "inverse" : "",
          )
        : null,
      at.truth && i === state.true_instrument
        ? shape("rect", { x: x, y: y, width: width - 2, height: height - 2, class: "truth-frame" })
        : null,
    ];
  });
  return panel(
    "Instrument",
    `${fixed(state.instrument_unknown)} bits unknown`,
    drawing(
      360,
      4 + high * height + 18,
      "belief about gain and plate noise",
      cells,
      lab.gains.map((gain, i) =>
        label(`×${gain}`, left + (i + 0.5) * width - 1, 16 + high * height, "middle", "muted"),
      ),
      lab.noises.map((noise, j) =>
        label(`±${noise}`, left - 6, 8 + (high - 1 - j + 0.5) * height, "end", "muted"),
      ),
    ),
    element(
      "p",
      { class: "note" },
      "Across: gain of the readout; upwards: noise of a plate. Every new reagent lot draws it anew.",
    ),
  );
}
