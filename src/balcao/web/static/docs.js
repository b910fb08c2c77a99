// Tabs of the documentation's pages. Without this script a tab is a link, or sends the form.
(() => {
  "use strict";

  const tabsOf = (list) => [...list.querySelectorAll("[role=tab]")];

  function choose(tab) {
    for (const each of tabsOf(tab.parentElement)) {
      const chosen = each === tab;
      each.ariaSelected = String(chosen);
      each.tabIndex = chosen ? 0 : -1;
      document.getElementById(each.getAttribute("aria-controls")).hidden = !chosen;
    }
    document.cookie = `balcao-linguagem=${tab.dataset.tab}; path=/docs; max-age=31536000; samesite=lax`;
  }

  document.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (!tab || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    choose(tab);
  });

  document.addEventListener("keydown", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (!tab) return;
    const tabs = tabsOf(tab.parentElement);
    const at = tabs.indexOf(tab);
    const to = {
      ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: -1, " ": at,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = tabs.at(to % tabs.length);
    next.focus();
    choose(next);
  });

  // One stop for the keyboard: the chosen tab.
  function prepare() {
    document.querySelectorAll("[role=tab]").forEach((tab) => {
      tab.tabIndex = tab.ariaSelected === "true" ? 0 : -1;
    });
  }

  prepare();
  document.addEventListener("htmx:after:swap", prepare);
})();
