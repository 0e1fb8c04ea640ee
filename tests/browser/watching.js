// What is seen of the page Inspect in every frame from now on, in the light and in the shadow of components: the least
// opacity of each element, where its parts stand while a scored answer grows, and what is said of the prompt's tokens.
() => {
  const faint = {}, places = {}, counts = new Set();
  let stale = 0, tokens = 0, blank = 0;
  const parts = [".st-key-run button, .st-key-stop button", ".st-key-more", ".st-key-scoring"];
  const views = [".finding", ".tracks", ".legend"];
  const nameOf = (one) => `${one.localName}.${[...one.classList].join(".")} ${one.textContent.slice(0, 30)}`;
  const note = (name, one) => {
    const { x, y, width, height } = one.getBoundingClientRect();
    (places[name] ??= new Set()).add([x, y, width, name === ".finding" ? 0 : height].map(Math.round).join(" "));
  };
  const everything = function* (root) {
    for (const one of root.querySelectorAll("*")) {
      yield one;
      if (one.shadowRoot) yield* everything(one.shadowRoot);
    }
  };
  const look = () => {
    let live = null, shown = 0;
    for (const one of everything(document.querySelector("[data-testid=stMain]"))) {
      const opacity = Number(getComputedStyle(one).opacity);
      if (opacity < 1 && one.checkVisibility()) faint[nameOf(one)] = Math.min(opacity, faint[nameOf(one)] ?? 1);
      if (one.dataset.stale === "true") stale += 1;
      if (!one.matches(".views") || !one.checkVisibility()) continue;
      shown += 1;
      if (one.matches(".live.scored")) live = one;
    }
    if (live) {
      tokens = Math.max(tokens, live.querySelectorAll(".token").length);
      for (const name of views) note(name, live.querySelector(name));
      for (const name of parts) note(name, document.querySelector(name));
      counts.add(document.querySelector(".st-key-links [data-testid=stCaptionContainer]")?.textContent ?? "");
    }
    if (!shown) blank += 1;
    requestAnimationFrame(look);
  };
  look();
  window.seen = () => ({
    faint, stale, tokens, blank, counts: [...counts],
    places: Object.fromEntries(Object.entries(places).map(([name, all]) => [name, [...all]])),
  });
}
