// Updates the page of a running batch in place. Without this script, the page reloads itself every
// few seconds.
(() => {
  "use strict";

  // The button shows the ceiling in credits.
  document.addEventListener("input", ({ target: { dataset, value } }) => {
    const button = document.getElementById(dataset.ceiling);
    const credits = Number(value.replaceAll(".", ""));
    if (button && value.trim() && credits >= 0) {
      button.textContent = `Iniciar (até ${credits.toLocaleString("pt-BR")} crédito${credits === 1 ? "" : "s"})`;
    }
  });

  const live = document.querySelector("[data-stream]");
  if (!live) return;
  const source = new EventSource(live.dataset.stream);
  let again;

  source.addEventListener("lote", ({ data }) => {
    const news = new DOMParser().parseFromString(data, "text/html");
    for (const one of news.querySelectorAll("[data-live]")) {
      const here = document.getElementById(one.id);
      if (!here || here.outerHTML === one.outerHTML || here.contains(document.activeElement)) continue;
      // Screen readers announce changes only in an element that existed before.
      if (one.role === "status") {
        if (here.textContent !== one.textContent) here.textContent = one.textContent;
      } else here.replaceWith(document.adoptNode(one));
    }
  });

  // Another state has other buttons.
  source.addEventListener("fim", () => {
    source.close();
    location.reload();
  });

  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) again ??= setTimeout(() => location.reload(), 10000);
  });
})();
