// The conversation of a language model: what was said on the way to the current action.

const SPEAKERS = { said: "model", called: "model calls", answered: "lab answers", told: "lab" };

function talkPanel(at) {
  if (!at.episode.talk) return null;
  const entries = at.episode.talk[at.step] || [];
  return panel(
    "Conversation",
    at.step === 0 ? "before the first action" : `up to action ${at.step}`,
    element(
      "div",
      { class: "talk scroll", tabindex: 0, role: "region", "aria-label": "Conversation" },
      entries.map(([kind, text]) => [
        element("p", { class: "speaker" }, SPEAKERS[kind]),
        element("p", { class: `entry ${kind}` }, text),
      ]),
      entries.length
        ? null
        : element("p", { class: "note" }, "The model said nothing more; the lab rests to its end."),
      at.step === at.states.length - 1
        ? element("p", { class: "note" }, `The conversation ended: ${at.episode.stopped}.`)
        : null,
    ),
  );
}

function promptOf(text) {
  if (!text) return [];
  return [
    element(
      "details",
      { class: "prompt" },
      element("summary", {}, "What the model was told before the episode"),
      element("pre", { tabindex: 0 }, text),
    ),
  ];
}
