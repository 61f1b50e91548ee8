for (const episode of document.querySelectorAll(".episode")) {
  const frames = episode.querySelectorAll("pre");
  let at = 0;
  const show = (to) => {
    at = Math.min(Math.max(to, 0), frames.length - 1);
    frames.forEach((frame, i) => { frame.hidden = i !== at; });
    episode.querySelector(".place").textContent = `${at} of ${frames.length - 1} actions`;
  };
  episode.querySelector(".steps").hidden = false;
  episode.querySelector(".back").addEventListener("click", () => show(at - 1));
  episode.querySelector(".on").addEventListener("click", () => show(at + 1));
  episode.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by) { show(at + by); event.preventDefault(); }
  });
  show(0);
}
