// A batch that goes on: what changed on its page is put in its place. Without this, the page is
// loaded anew every few seconds.
(() => {
  "use strict";

  // The button says up to how many credits it lets go.
  document.addEventListener("input", ({ target: { dataset, value } }) => {
    const button = document.getElementById(dataset.ceiling);
    const credits = Number(value.replaceAll(".", ""));
    if (button && value.trim() && credits >= 0) {
      button.textContent = `Começar (até ${credits.toLocaleString("pt-BR")} crédito${credits === 1 ? "" : "s"})`;
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
      // What is read out is said in the place that was there before.
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
