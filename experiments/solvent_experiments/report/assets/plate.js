// The plate: what its wells went to, and what the last one of them showed.

const PLATES = [
  [2, 3],
  [4, 6],
  [8, 12],
  [16, 24],
  [32, 48],
];

function platePanel(at) {
  const { lab } = at;
  const [rows, columns] = PLATES.find(([r, c]) => r * c >= lab.wells) || PLATES.at(-1);
  const each = Math.ceil(lab.wells / (rows * columns)),
    pitch = 360 / columns,
    count = Math.ceil(lab.wells / each);
  const kinds = new Array(count).fill("empty");
  const used = new Map();
  let filled = 0;
  at.events.slice(0, at.step + 1).forEach((event, i) => {
    if (!event.wells) return;
    const [verb, base, extra] = event.wells,
      fresh = i === at.step ? " fresh" : "";
    used.set(verb, (used.get(verb) || 0) + base);
    if (extra) used.set("surcharge", (used.get("surcharge") || 0) + extra);
    kinds.fill(`${verb}${fresh}`, Math.floor(filled / each), Math.floor((filled + base) / each));
    kinds.fill(
      `surcharge${fresh}`,
      Math.floor((filled + base) / each),
      Math.floor((filled + base + extra) / each),
    );
    filled += base + extra;
  });
  const wells = kinds.map((kind, i) =>
    dot(((i % columns) + 0.5) * pitch, (Math.floor(i / columns) + 0.5) * pitch, 0.4 * pitch, `well ${kind}`),
  );
  const legend = [...used].map(([verb, n]) =>
    element("li", {}, element("span", { class: `swatch ${verb}` }), `${words(verb)} ${n}`),
  );
  return panel(
    "Plate",
    each > 1 ? `a dot is ${each} wells` : "",
    drawing(360, Math.ceil(count / columns) * pitch, `${filled} of ${lab.wells} wells used`, wells),
    element("ul", { class: "legend" }, legend.length ? legend : element("li", {}, "nothing was run yet")),
    used.has("surcharge")
      ? element("p", { class: "note" }, "Surcharge: wells that debt added to the price.")
      : null,
    readouts(at),
  );
}

// What the last plate showed: a bar a readout, as high as its bin. The line is what the belief expects now that it
// is read.
function readouts(at) {
  const { lab, state } = at,
    plate = state.plate;
  if (!plate) return null;
  const [low, high, bins] = lab.bins,
    left = 34,
    right = 352,
    top = 8,
    floor = 112;
  const y = (value) => floor - (floor - top) * Math.min(1, Math.max(0, (value - low) / (high - low)));
  const x = (i) => left + ((right - left) * (i + 0.5)) / plate.bins.length;
  const doses = lab.doses[plate.verb],
    name = plate.compound >= 0 ? lab.compounds[plate.compound] : "vehicle wells";
  const size = (high - low) / bins;
  const marks = plate.bins.map((bin, i) => [
    line(x(i), y(low + bin * size), x(i), y(low + (bin + 1) * size), `readout ${plate.verb}`),
    dot(x(i), y(low + (bin + 0.5) * size), 4, plate.verb),
  ]);
  const expected = plate.expected
    .map((value, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`)
    .join("");
  const ticks = [0.5, 1]
    .filter((level) => level > low && level < high)
    .map((level) => [
      line(left, y(level), right, y(level), "grid"),
      label(level, left - 4, y(level) + 4, "end", "muted"),
    ]);
  const axis = doses
    ? doses.map((dose, i) =>
        doses.length <= 4 || i % 2 === 0 || (i === doses.length - 1 && doses.length % 2)
          ? label(dose, x(i), floor + 14, "middle", "muted")
          : null,
      )
    : label(`${plate.bins.length} readouts`, (left + right) / 2, floor + 14, "middle", "muted");
  const when = plate.step === at.step ? "just read" : `read at step ${plate.step}`;
  return [
    element(
      "h5",
      {},
      `Last plate: ${words(plate.verb)}, ${name} `,
      element("span", { class: "about" }, when),
    ),
    drawing(
      360,
      132,
      `readouts of ${name}: viability by dose`,
      ticks,
      line(left, floor, right, floor, "axis"),
      marks,
      plate.bins.length > 1
        ? shape("path", { d: expected, class: "expected" })
        : line(left, y(plate.expected[0]), right, y(plate.expected[0]), "expected"),
      axis,
    ),
    element(
      "p",
      { class: "note" },
      `Signal ${doses ? "by dose" : "of the instrument"} (1: untouched cells at a gain of 1). ` +
        "Dots: read, to the width of a bin. Line: what the belief then expected.",
    ),
  ];
}
