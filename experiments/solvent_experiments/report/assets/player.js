// The player: which episode, which step. Everything shown comes from the block of JSON in this page.

(function play() {
  const runs = JSON.parse(document.getElementById("runs").textContent);
  const root = document.getElementById("player");
  const PERIOD = 700; // milliseconds a step
  const COLUMNS = [
    [talkPanel, compoundsPanel, instrumentPanel, energyPanel],
    [platePanel, curvesPanel],
    [wordsPanel, notebookPanel, findingsPanel],
  ];
  const now = { run: 0, agent: 0, episode: 0, step: 0, truth: false, timer: null };
  if (!runs.some((run) => run.episodes.length)) {
    root.replaceChildren(element("p", { class: "note" }, "No episode was traced."));
    return;
  }
  for (const run of runs) {
    run.agents = [...new Set(run.episodes.map((episode) => episode.agent))];
  }

  // A state is written as what changed; whole states are made when an episode is first looked at.
  function statesOf(episode) {
    if (!episode.whole) {
      let state = {};
      episode.whole = episode.states.map((change) => (state = { ...state, ...change }));
    }
    return episode.whole;
  }

  // An episode opens where something happens: at its first refusal, or at its first finding, or where its debt is largest.
  function opening(episode) {
    const first = (...kinds) => Math.max(0, episode.events.findIndex((event) => kinds.includes(event.kind)));
    const debts = statesOf(episode).map((state) => state.debt);
    return (
      first("refused") ||
      first("published", "submitted", "rejected") ||
      debts.indexOf(debts.reduce((most, debt) => Math.max(most, debt)))
    );
  }

  const trained = (episode) => ("training" in episode ? `training seed ${episode.training}, ` : "");
  const chosen = () => {
    const run = runs[now.run],
      agent = run.agents[now.agent];
    return run.episodes.filter((episode) => episode.agent === agent)[now.episode];
  };

  function chooser(name, options) {
    const select = element("select", { id: `choose-${name}`, name: name });
    fill(select, options);
    return [select, element("label", { for: `choose-${name}` }, element("span", {}, name), select)];
  }

  function fill(select, options) {
    select.replaceChildren(...options.map((option, i) => element("option", { value: i }, option)));
  }

  function button(text, aria, action) {
    const made = element("button", { type: "button", "aria-label": aria, title: aria }, text);
    made.addEventListener("click", action);
    return made;
  }

  const [runSelect, runLabel] = chooser(
    "run",
    runs.map((run) => run.label),
  );
  const [agentSelect, agentLabel] = chooser("agent", []);
  const [episodeSelect, episodeLabel] = chooser("episode", []);
  const slider = element("input", { type: "range", min: 0, max: 1, step: 1, value: 0, "aria-label": "Step" });
  const place = element("output", { class: "place" });
  const playButton = button("Play", "Play (space)", () => toggle());
  const truth = element("input", { type: "checkbox", id: "truth" });
  const live = element("div", { class: "now", "aria-live": "polite" });
  const panels = element("div", { class: "panels" });
  const prompt = element("div", {});
  runLabel.hidden = runs.length < 2;

  root.replaceChildren(
    element(
      "div",
      { class: "choose" },
      runLabel,
      agentLabel,
      episodeLabel,
      element("label", { for: "truth", class: "switch" }, truth, "show the hidden truth"),
    ),
    element(
      "div",
      { class: "controls", role: "group", "aria-label": "Steps" },
      button("First", "First step (Home)", () => go(0)),
      button("Back", "One step back (←)", () => go(now.step - 1)),
      playButton,
      button("Next", "One step on (→)", () => go(now.step + 1)),
      button("Last", "Last step (End)", () => go(Infinity)),
      slider,
      place,
    ),
    live,
    panels,
    prompt,
    element("p", { class: "note keys" }, "Keys: ← and → one step, Home and End, space plays."),
  );

  runSelect.addEventListener("change", () => choose({ run: Number(runSelect.value), agent: 0, episode: 0 }));
  agentSelect.addEventListener("change", () => choose({ agent: Number(agentSelect.value), episode: 0 }));
  episodeSelect.addEventListener("change", () => choose({ episode: Number(episodeSelect.value) }));
  slider.addEventListener("input", () => go(Number(slider.value)));
  truth.addEventListener("change", () => {
    now.truth = truth.checked;
    show();
  });

  document.addEventListener("keydown", (event) => {
    const target = event.target;
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (target.closest("select, summary, a, pre, .scroll") || target === slider) return;
    const moves = { ArrowLeft: () => go(now.step - 1), ArrowRight: () => go(now.step + 1) };
    if (root.contains(target) || target === document.body) {
      if (root.contains(target)) Object.assign(moves, { Home: () => go(0), End: () => go(Infinity) });
      if (target.tagName !== "BUTTON" && target !== truth && root.contains(target))
        moves[" "] = () => toggle();
      if (moves[event.key]) {
        event.preventDefault();
        moves[event.key]();
      }
    }
  });

  function choose(what) {
    stop();
    Object.assign(now, what);
    const run = runs[now.run];
    fill(agentSelect, run.agents);
    agentSelect.value = now.agent;
    const mine = run.episodes.filter((episode) => episode.agent === run.agents[now.agent]);
    fill(
      episodeSelect,
      mine.map(
        (episode) =>
          `${episode.why}: ${signed(episode.score)} bits (${trained(episode)}episode seed ${episode.seed})`,
      ),
    );
    episodeSelect.value = now.episode;
    now.step = mine.length ? opening(chosen()) : 0;
    prompt.replaceChildren(...promptOf(run.prompts[run.agents[now.agent]]));
    show();
  }

  function go(step) {
    const last = chosen().events.length - 1;
    now.step = Math.min(last, Math.max(0, step));
    if (now.step === last) stop();
    show();
  }

  function toggle() {
    if (now.timer) return stop();
    if (now.step === chosen().events.length - 1) now.step = 0;
    now.timer = setInterval(() => go(now.step + 1), PERIOD);
    playButton.textContent = "Pause";
    live.setAttribute("aria-live", "off");
    return undefined;
  }

  function stop() {
    clearInterval(now.timer);
    now.timer = null;
    playButton.textContent = "Play";
    live.setAttribute("aria-live", "polite");
  }

  function show() {
    const run = runs[now.run],
      episode = chosen();
    if (!episode) {
      panels.replaceChildren();
      live.replaceChildren(element("p", { class: "note" }, "This run traced no episode."));
      return;
    }
    const states = statesOf(episode),
      last = states.length - 1;
    const at = {
      lab: run.lab,
      sentences: run.sentences,
      episode: episode,
      events: episode.events,
      states: states,
      step: now.step,
      event: episode.events[now.step],
      state: states[now.step],
      truth: now.truth,
    };
    slider.max = last;
    slider.value = now.step;
    slider.setAttribute("aria-valuetext", `step ${now.step} of ${last}`);
    place.textContent = `step ${now.step} of ${last}`;
    live.replaceChildren(actionPanel(at), booksPanel(at));
    panels.replaceChildren(
      ...COLUMNS.map((column) =>
        element(
          "div",
          { class: "column" },
          column.map((draw) => draw(at)),
        ),
      ),
    );
  }

  choose({
    run: Math.max(
      0,
      runs.findIndex((run) => run.episodes.length),
    ),
    agent: 0,
    episode: 0,
  });
  runSelect.value = now.run;
})();
